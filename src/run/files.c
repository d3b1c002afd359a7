/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/out.h"
#include "run/files.h"

int files_write(const char *dir, const char *name, const struct buf *content)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	struct out out;
	int r = out_open(&out, path);

	if (r == 0) {
		buf_add(&out.pending, content->data, content->len);
		r = out_done(&out);
	}
	if (r < 0)
		log_error("cannot write %s: %s", path, strerror(-r));
	return r;
}

int files_make_dirs(const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char saved = *p;

		if (saved != '/' && saved != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST) {
			int r = -errno;

			log_error("cannot make %s: %s", copy, strerror(errno));
			return r;
		}
		*p = saved;
		if (saved == '\0')
			return 0;
	}
}
