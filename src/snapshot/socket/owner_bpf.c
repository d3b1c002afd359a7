/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of sockets by the task_file BPF iterator.
 *
 * The program is assembled here: libbpf needs 13 ms to load an object file, mostly to find three offsets in BTF, which
 * is half the time of a walk through 100,000 descriptors. layout.h finds the offsets instead.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "kernel/insn.h"
#include "kernel/layout.h"
#include "snapshot/socket/owner.h"

/* At least as many records as one read returns. */
#define CHUNK_RECORDS 4096

struct owner_bpf {
	int link_fd; /* keeps the program loaded */
};

/* Offsets in the program's context, struct bpf_iter__task_file. */
#define CONTEXT_META 0
#define CONTEXT_TASK 8
#define CONTEXT_FD   16
#define CONTEXT_FILE 24
#define META_SEQ     0

#define RECORD       ((int)sizeof(struct owner_record))
#define OUT(member)  ((int)offsetof(struct owner_record, member) - RECORD)

/* Offsets to look up in this kernel's BTF. */
enum { FILE_INODE, INODE_NUMBER, TASK_PROCESS, ITERATOR, QUESTIONS };

/*
 * Outputs every descriptor that is a socket. Cache misses dominate the cost, so the program does not touch the socket
 * itself, not even for its family: the reader filters by inode.
 */
static int load(const struct layout_question kernel[QUESTIONS], struct why *why)
{
	const struct bpf_insn program[] = {
		COPY(R6, R1),
		LOAD(BPF_DW, R7, R6, CONTEXT_TASK),
		SKIP_IF_NULL(R7, 18),
		LOAD(BPF_DW, R8, R6, CONTEXT_FILE),
		SKIP_IF_NULL(R8, 16),
		COPY(R1, R8),
		CALL(BPF_FUNC_sock_from_file),
		SKIP_IF_NULL(R0, 13),
		LOAD(BPF_DW, R1, R8, kernel[FILE_INODE].answer),
		LOAD(BPF_DW, R1, R1, kernel[INODE_NUMBER].answer),
		STORE(BPF_W, STACK, OUT(inode), R1),
		LOAD(BPF_W, R1, R7, kernel[TASK_PROCESS].answer),
		STORE(BPF_W, STACK, OUT(pid), R1),
		LOAD(BPF_W, R1, R6, CONTEXT_FD),
		STORE(BPF_W, STACK, OUT(fd), R1),
		LOAD(BPF_DW, R1, R6, CONTEXT_META),
		LOAD(BPF_DW, R1, R1, META_SEQ),
		COPY(R2, STACK),
		ADD(R2, -RECORD),
		SET(R3, RECORD),
		CALL(BPF_FUNC_seq_write),
		SET(R0, 0),
		RETURN,
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_ITER,
		    .attach_btf_id = kernel[ITERATOR].answer);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nest_owners", "GPL", program, ARRAY_SIZE(program), &options);

	if (fd < 0)
		return why_set(why, fd, "cannot load the BPF program for socket owners: %s", strerror(-fd));
	return fd;
}

int owner_bpf_open(struct owner_bpf **ret_bpf, struct why *why)
{
	struct layout_question kernel[QUESTIONS] = {
		[FILE_INODE] = {"file", "f_inode"},
		[INODE_NUMBER] = {"inode", "i_ino"},
		[TASK_PROCESS] = {"task_struct", "tgid"},
		[ITERATOR] = {"bpf_iter_task_file", NULL},
	};
	_cleanup_close_ int program = -1;
	int r, link;

	r = layout_find(kernel, QUESTIONS, why);
	if (r < 0)
		return r;
	/* Limit of an instruction's 16-bit offset. */
	for (unsigned i = 0; i < ITERATOR; i++)
		if (kernel[i].answer > INT16_MAX)
			return why_set(why, -ERANGE, "offset of %s.%s is too large", kernel[i].type, kernel[i].member);
	program = r = load(kernel, why);
	if (r < 0)
		return r;
	link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	if (link < 0)
		return why_set(why, link, "cannot attach the BPF program for socket owners: %s", strerror(-link));
	*ret_bpf = xzalloc(sizeof(**ret_bpf));
	(*ret_bpf)->link_fd = link;
	return 0;
}

void owner_bpf_close(struct owner_bpf *bpf)
{
	if (!bpf)
		return;
	(void)close(bpf->link_fd);
	free(bpf);
}

int owner_scan_bpf(struct owner_bpf *bpf, struct owner_list *list, struct why *why)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf->link_fd);
	size_t len = 0; /* in bytes: a read may end within a record */

	if (fd < 0)
		return why_set(why, fd, "cannot open the BPF iterator over descriptors: %s", strerror(-fd));
	do {
		ssize_t n;

		vec_reserve(list, list->count + CHUNK_RECORDS);
		n = read(fd, (char *)list->items + len, list->room * sizeof(*list->items) - len);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return why_set(why, -errno, "cannot read the BPF iterator over descriptors: %s",
				       strerror(errno));
		if (n == 0)
			return 0;
		len += (size_t)n;
		list->count = len / sizeof(*list->items);
	} while (len < OWNER_LIST_MAX * sizeof(*list->items));
	return 0;
}
