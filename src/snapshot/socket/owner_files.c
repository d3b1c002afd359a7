/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of sockets read from the descriptor tables, for very many descriptors: the task_file iterator takes a
 * reference to each file, which is most of its cost. This program walks the task list and reads only the type and inode
 * number of each file. It misses threads with a private descriptor table; if a socket has no owner, the caller runs the
 * iterator.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/insn.h"
#include "kernel/layout.h"
#include "kernel/program.h"
#include "snapshot/socket/owner.h"

#define BLOCK    512 /* descriptors copied at a time */
#define RECORDS  8192
#define STEP_MAX (1 << 20)
/* Step limit: ends a walk that does not terminate. */
#define RUNS_MAX 100000

struct area {
	uint64_t own_fd;                /* in: a socket */
	uint64_t sockets;               /* f_op of sockets */
	uint64_t resume_pid, resume_fd; /* in: where to resume; 0: start */
	uint64_t start, task;           /* first and current task */
	uint64_t pid, fds, max, at;     /* current pid and its descriptor table */
	uint64_t last;                  /* the current task is the last */
	uint64_t ended;
	uint64_t count;
	uint64_t block[BLOCK];
	struct owner_record records[RECORDS];
};

enum {
	TASK_LEADER,
	TASK_NEXT,
	TASK_PROCESS,
	TASK_FILES,
	FILES_TABLE,
	TABLE_MAX,
	TABLE_FILES,
	FILE_KIND,
	FILE_INODE,
	INODE_NUMBER,
	CAST,
	ARRAY,
	QUESTIONS,
};

struct owner_files {
	struct program program;
	int socket;
};

#define AREA(member)       ((int)offsetof(struct area, member))
#define GET(to, member)    LOAD(BPF_DW, to, R6, AREA(member))
#define KEEP(member, from) STORE(BPF_DW, R6, AREA(member), from)

/* R7 = *R7. */
static void put_load(struct insns *code, const struct layout_question *kernel, unsigned size, uint32_t offset)
{
	PUT(code, COPY(R1, R7), SET(R2, kernel[ARRAY].answer), CALL_KERNEL(kernel[CAST].answer),
	    LOAD(size, R7, R0, offset));
}

/* Learns the f_op of sockets from its own socket. */
static void put_main(struct insns *code, const struct layout_question *kernel, int map)
{
	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map), CALL(BPF_FUNC_get_current_task), COPY(R7, R0));
	put_load(code, kernel, BPF_DW, kernel[TASK_LEADER].answer);
	PUT(code, KEEP(start, R7), KEEP(task, R7));
	put_load(code, kernel, BPF_DW, kernel[TASK_FILES].answer);
	put_load(code, kernel, BPF_DW, kernel[FILES_TABLE].answer);
	put_load(code, kernel, BPF_DW, kernel[TABLE_FILES].answer);
	PUT(code, GET(R1, own_fd), CALCULATE_BY(BPF_LSH, R1, 3), CALCULATE(BPF_ADD, R7, R1));
	put_load(code, kernel, BPF_DW, 0);
	put_load(code, kernel, BPF_DW, kernel[FILE_KIND].answer);
	PUT(code, KEEP(sockets, R7));
	insns_repeat(code, STEP_MAX);
}

/* Next task in the circular task list; skips those before resume_pid. */
static void put_next_process(struct insns *code, const struct layout_question *kernel)
{
	size_t other, files;

	PUT(code, GET(R1, last), SKIP_IF_NULL(R1, 3), KEEP(ended, R1), SET(R0, 1), RETURN);
	PUT(code, GET(R7, task));
	put_load(code, kernel, BPF_DW, kernel[TASK_NEXT].answer);
	PUT(code, ADD(R7, -(int)kernel[TASK_NEXT].answer), KEEP(task, R7), COPY(R8, R7));
	PUT(code, GET(R1, start), SKIP_IF(BPF_JNE, R1, R8, 2), SET(R1, 1), KEEP(last, R1));
	put_load(code, kernel, BPF_W, kernel[TASK_PROCESS].answer);
	PUT(code, KEEP(pid, R7), SET(R1, 0), KEEP(max, R1), KEEP(at, R1));
	PUT(code, GET(R1, resume_pid), SKIP_IF_NULL(R1, 5), SKIP_IF(BPF_JNE, R1, R7, 0));
	other = insns_jump(code);
	PUT(code, GET(R1, resume_fd), KEEP(at, R1), SET(R1, 0), KEEP(resume_pid, R1));
	PUT(code, COPY(R7, R8));
	put_load(code, kernel, BPF_DW, kernel[TASK_FILES].answer);
	PUT(code, SKIP_IF_NULL(R7, 0));
	files = insns_jump(code);
	put_load(code, kernel, BPF_DW, kernel[FILES_TABLE].answer);
	PUT(code, COPY(R8, R7));
	put_load(code, kernel, BPF_DW, kernel[TABLE_FILES].answer);
	PUT(code, KEEP(fds, R7), COPY(R7, R8));
	put_load(code, kernel, BPF_W, kernel[TABLE_MAX].answer);
	PUT(code, KEEP(max, R7));
	insns_land(code, other);
	insns_land(code, files);
	PUT(code, SET(R0, 0), RETURN);
}

/* R1 is a multiple of BLOCK: copies the next block. Ends the run when the output may not fit. */
static void put_next_block(struct insns *code)
{
	PUT(code, GET(R2, count), SKIP_IF_BY(BPF_JLE, R2, RECORDS - BLOCK, 2), SET(R0, 1), RETURN);
	PUT(code, GET(R2, max), CALCULATE(BPF_SUB, R2, R1), SKIP_IF_BY(BPF_JLE, R2, BLOCK, 1), SET(R2, BLOCK),
	    CALCULATE_BY(BPF_LSH, R2, 3), CALCULATE_BY(BPF_LSH, R1, 3), GET(R3, fds), CALCULATE(BPF_ADD, R3, R1),
	    COPY(R1, R6), ADD(R1, AREA(block)), CALL(BPF_FUNC_probe_read_kernel), GET(R1, at));
}

/* One step: a descriptor, or the next process. R8 is the file, R9 its record. */
static void put_step(struct insns *code, const struct layout_question *kernel, int map)
{
	size_t within, more, empty, no_socket, no_room;

	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map), GET(R1, at), GET(R2, max), SKIP_IF(BPF_JLT, R1, R2, 0));
	more = insns_jump(code);
	put_next_process(code, kernel);
	insns_land(code, more);
	PUT(code, COPY(R2, R1), CALCULATE_BY(BPF_AND, R2, BLOCK - 1), SKIP_IF_BY(BPF_JNE, R2, 0, 0));
	within = insns_jump(code);
	put_next_block(code);
	insns_land(code, within);
	PUT(code, COPY(R2, R1), ADD(R2, 1), KEEP(at, R2), CALCULATE_BY(BPF_AND, R1, BLOCK - 1),
	    CALCULATE_BY(BPF_LSH, R1, 3), CALCULATE(BPF_ADD, R1, R6), LOAD(BPF_DW, R7, R1, AREA(block)), COPY(R8, R7),
	    SKIP_IF_NULL(R7, 0));
	empty = insns_jump(code);
	put_load(code, kernel, BPF_DW, kernel[FILE_KIND].answer);
	PUT(code, GET(R1, sockets), SKIP_IF(BPF_JNE, R1, R7, 0));
	no_socket = insns_jump(code);
	PUT(code, COPY(R7, R8));
	put_load(code, kernel, BPF_DW, kernel[FILE_INODE].answer);
	put_load(code, kernel, BPF_DW, kernel[INODE_NUMBER].answer);
	PUT(code, GET(R9, count), SKIP_IF_BY(BPF_JGE, R9, RECORDS, 0));
	no_room = insns_jump(code);
	PUT(code, COPY(R1, R9), ADD(R1, 1), KEEP(count, R1), CALCULATE_BY(BPF_MUL, R9, sizeof(struct owner_record)),
	    CALCULATE(BPF_ADD, R9, R6), ADD(R9, AREA(records)));
	PUT(code, STORE(BPF_W, R9, offsetof(struct owner_record, inode), R7), GET(R1, pid),
	    STORE(BPF_W, R9, offsetof(struct owner_record, pid), R1), GET(R1, at), ADD(R1, -1),
	    STORE(BPF_W, R9, offsetof(struct owner_record, fd), R1));
	insns_land(code, empty);
	insns_land(code, no_socket);
	insns_land(code, no_room);
	PUT(code, SET(R0, 0), RETURN);
}

static int load(struct owner_files *files, struct why *why)
{
	struct layout_question kernel[QUESTIONS] = {
		[TASK_LEADER] = {"task_struct", "group_leader"},
		[TASK_NEXT] = {"task_struct", "tasks.next"},
		[TASK_PROCESS] = {"task_struct", "tgid"},
		[TASK_FILES] = {"task_struct", "files"},
		[FILES_TABLE] = {"files_struct", "fdt"},
		[TABLE_MAX] = {"fdtable", "max_fds"},
		[TABLE_FILES] = {"fdtable", "fd"},
		[FILE_KIND] = {"file", "f_op"},
		[FILE_INODE] = {"file", "f_inode"},
		[INODE_NUMBER] = {"inode", "i_ino"},
		[CAST] = {"bpf_rdonly_cast", NULL},
		[ARRAY] = {"perf_callchain_entry", ""},
	};
	_cleanup_close_ int map = -1;
	struct insns code = {};
	int r = layout_find(kernel, QUESTIONS, why);

	if (r < 0)
		return r;
	/* Limit of an instruction's 16-bit offset. */
	for (unsigned i = 0; i < CAST; i++)
		if (kernel[i].answer > INT16_MAX)
			return why_set(why, -ERANGE, "offset of %s.%s is too large", kernel[i].type, kernel[i].member);
	map = r = program_share(&files->program, "nest_files", sizeof(struct area), why);
	if (r < 0)
		return r;
	put_main(&code, kernel, map);
	put_step(&code, kernel, map);
	return program_load(&files->program, "nest_files", &code, why);
}

int owner_files_open(struct owner_files **ret_files, struct why *why)
{
	struct owner_files *files = xzalloc(sizeof(*files));
	int r;

	files->program.fd = -1;
	files->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = files->socket < 0 ? why_set(why, -errno, "cannot open a socket: %s", strerror(errno)) : load(files, why);
	if (r < 0)
		owner_files_close(files);
	else
		*ret_files = files;
	return r;
}

void owner_files_close(struct owner_files *files)
{
	if (!files)
		return;
	closep(&files->socket);
	program_done(&files->program);
	free(files);
}

/* Honours the permissions of /proc. A process that is gone is not hidden. */
static bool is_readable(uint32_t pid)
{
	char path[40], text[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	return readlink(path, text, sizeof(text)) >= 0 || (errno != EACCES && errno != EPERM);
}

/* The list is grouped by process. */
static void drop_hidden(struct owner_list *list)
{
	uint32_t pid = 0;
	bool may = false;
	size_t kept = 0;

	vec_each(list, owner) {
		if (owner->pid != pid)
			may = is_readable(owner->pid);
		pid = owner->pid;
		if (may)
			list->items[kept++] = *owner;
	}
	list->count = kept;
}

int owner_scan_files(struct owner_files *files, struct owner_list *list, struct why *why)
{
	struct area *area = files->program.area;
	uint64_t pid = 0, fd = 0;

	for (unsigned run = 0; run < RUNS_MAX && list->count < OWNER_LIST_MAX; run++) {
		int r;

		memset(area, 0, offsetof(struct area, block));
		area->own_fd = (uint64_t)files->socket;
		area->resume_pid = pid;
		area->resume_fd = fd;
		r = program_run(&files->program);
		if (r < 0)
			return why_set(why, r, "cannot walk the descriptor tables: %s", strerror(-r));
		vec_reserve(list, list->count + area->count);
		memcpy(list->items + list->count, area->records, area->count * sizeof(*list->items));
		list->count += area->count;
		/* The process to resume at is gone: the position is lost. */
		if (area->resume_pid)
			return why_set(why, -EAGAIN, "a process ended while its descriptors were read");
		if (area->ended) {
			drop_hidden(list);
			return 0;
		}
		pid = area->pid;
		fd = area->at;
	}
	return why_set(why, -EAGAIN, "too many descriptors");
}
