/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/btf_names.h"

#define BTF_PATH      "/sys/kernel/btf/vmlinux"
#define BTF_NAMES_MAX ((size_t)64 << 20)

int btf_names_load(struct btf_names *names)
{
	_cleanup_close_ int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct btf_header header;
	size_t have = 0;

	if (fd < 0)
		return -errno;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.magic != BTF_MAGIC ||
	    header.str_len > BTF_NAMES_MAX)
		return -EBADMSG;
	names->text = xmalloc((size_t)header.str_len + 1);
	while (have < header.str_len) {
		ssize_t n = pread(fd, names->text + have, header.str_len - have,
				  (off_t)header.hdr_len + header.str_off + (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	if (have < header.str_len) {
		btf_names_done(names);
		return -EIO;
	}
	names->size = have;
	return 0;
}

bool btf_names_has(const struct btf_names *names, const char *name)
{
	size_t n = strlen(name);
	const char *at = names->text, *end = names->text + names->size;

	while (at && (at = memmem(at, (size_t)(end - at), name, n + 1))) {
		if (at > names->text && at[-1] == '\0')
			return true;
		at++;
	}
	return false;
}

void btf_names_done(struct btf_names *names)
{
	free(names->text);
	*names = (struct btf_names){};
}
