/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/out.h"

int files_write(const char *dir, const char *name, const struct buf *content, struct why *why)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	struct out out;
	int r = out_open(&out, path);

	if (r == 0) {
		buf_add(&out.pending, content->data, content->len);
		r = out_done(&out);
	}
	return r < 0 ? why_set(why, r, "cannot write %s: %s", path, new_file_error(r)) : 0;
}

int files_make_dirs(const char *path, struct why *why)
{
	_cleanup_free_ char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char saved = *p;

		if (saved != '/' && saved != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return why_set(why, -errno, "cannot create %s: %s", copy, strerror(errno));
		*p = saved;
		if (saved == '\0')
			return 0;
	}
}
