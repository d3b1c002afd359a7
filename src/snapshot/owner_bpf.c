/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owners of sockets through the kernel's iterator over files. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/object.h"
#include "snapshot/owner.h"
#include "snapshot/owner_bpf.h"

#define PROGRAM "list_owners"

/* As many records as fit into what the kernel gives at once. */
#define CHUNK_RECORDS 4096

struct owner_bpf {
	struct kernel_object *object;
	int link_fd;
	struct owner_found chunk[CHUNK_RECORDS];
};

int owner_bpf_open(struct owner_bpf **ret_bpf, struct why *why)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	struct bpf_link *link;
	int r, fd;

	r = kernel_object_open("owner.bpf.o", &object, why);
	if (r == 0)
		r = kernel_object_choose(object, PROGRAM, why);
	if (r == 0)
		r = kernel_object_load(object, why);
	if (r < 0)
		return r;
	link = bpf_program__attach_iter(kernel_object_program(object, PROGRAM), NULL);
	fd = link ? bpf_link__fd(link) : -1;
	r = kernel_object_keep_link(object, PROGRAM, link, why);
	if (r < 0)
		return r;
	*ret_bpf = xzalloc(sizeof(**ret_bpf));
	(*ret_bpf)->object = take_ptr(object);
	(*ret_bpf)->link_fd = fd;
	return 0;
}

void owner_bpf_close(struct owner_bpf *bpf)
{
	if (!bpf)
		return;
	kernel_object_close(bpf->object);
	free(bpf);
}

int owner_scan_bpf(struct owner_bpf *bpf, owner_found_fn *found, void *context, struct why *why)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf->link_fd);
	size_t held = 0; /* bytes of a record cut in two by the end of a read */

	if (fd < 0)
		return why_set(why, fd, "cannot walk the descriptors of all processes: %s", strerror(-fd));
	for (;;) {
		ssize_t n = read(fd, (char *)bpf->chunk + held, sizeof(bpf->chunk) - held);
		size_t whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return why_set(why, -errno, "walking the descriptors of all processes: %s", strerror(errno));
		if (n == 0)
			return 0;
		held += (size_t)n;
		whole = held / sizeof(bpf->chunk[0]);
		for (size_t i = 0; i < whole; i++)
			found(context,
			      &(struct owner_record){bpf->chunk[i].inode, bpf->chunk[i].pid, bpf->chunk[i].fd});
		held -= whole * sizeof(bpf->chunk[0]);
		memmove(bpf->chunk, &bpf->chunk[whole], held);
	}
}
