/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/function_probe_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/parse.h"

#define FDS_MAX ((size_t)1 << 20)

struct probe_fd {
	struct flow_socket known; /* number 0 until an operation on it is written */
	unsigned looks;           /* times it was found unchanged */
	bool is_described;
};

struct probe_call {
	bool is_open;
	bool has_ends;
	uint64_t start;
	uint64_t args[PROBE_ARGS_MAX];
	struct endpoint local, remote;
};

/* aux, flags: index of the argument with the requested amount, and with MSG_ flags, from 1; 0: none. */
static const struct syscall_op {
	const char *name;
	enum flow_op op;
	unsigned aux, flags;
} syscall_ops[] = {
	{"accept", FLOW_OP_ACCEPT, 0},   {"accept4", FLOW_OP_ACCEPT, 0},    {"connect", FLOW_OP_CONNECT, 0},
	{"read", FLOW_OP_READ, 3},       {"readv", FLOW_OP_READ, 0},        {"recvfrom", FLOW_OP_READ, 3, 4},
	{"recvmsg", FLOW_OP_READ, 0, 3}, {"write", FLOW_OP_WRITE, 3},       {"writev", FLOW_OP_WRITE, 0},
	{"sendto", FLOW_OP_WRITE, 3},    {"sendmsg", FLOW_OP_WRITE, 0},     {"sendfile64", FLOW_OP_SENDFILE, 4},
	{"close", FLOW_OP_CLOSE, 0},     {"shutdown", FLOW_OP_SHUTDOWN, 2}, {"socket", FLOW_OP_SOCKET, 0},
	{"listen", FLOW_OP_LISTEN, 2},   {"epoll_wait", FLOW_OP_WAIT, 4},   {"epoll_pwait", FLOW_OP_WAIT, 4},
	{"poll", FLOW_OP_WAIT, 3},       {"ppoll", FLOW_OP_WAIT, 0},        {"select", FLOW_OP_WAIT, 0},
	{"pselect6", FLOW_OP_WAIT, 0},
};

#define BOTH(name) "syscalls/sys_enter_" name, "syscalls/sys_exit_" name
const char *const probe_socket_events[] = {
	BOTH("accept"),
	BOTH("accept4"),
	BOTH("connect"),
	BOTH("read"),
	BOTH("readv"),
	BOTH("recvfrom"),
	BOTH("recvmsg"),
	BOTH("write"),
	BOTH("writev"),
	BOTH("sendto"),
	BOTH("sendmsg"),
	BOTH("sendfile64"),
	BOTH("close"),
	BOTH("shutdown"),
	BOTH("socket"),
	BOTH("listen"),
	BOTH("epoll_wait"),
	BOTH("epoll_pwait"),
	BOTH("poll"),
	BOTH("ppoll"),
	BOTH("select"),
	BOTH("pselect6"),
	"sock/inet_sock_set_state",
	NULL,
};

void probe_sockets_init(struct probe_sockets *p, uint32_t pid)
{
	*p = (struct probe_sockets){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.fds = MAP_INIT(sizeof(int32_t), sizeof(struct probe_fd), FDS_MAX),
		.pending = MAP_INIT(sizeof(uint32_t), sizeof(struct probe_call), FDS_MAX),
	};
}

/* --- current socket of a descriptor --- */

static void take_address(const struct sockaddr_storage *from, struct endpoint *ret_end)
{
	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)from;

		*ret_end = (struct endpoint){addr_from_v4(&in->sin_addr), ntohs(in->sin_port)};
	} else if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)from;

		*ret_end = (struct endpoint){addr_from_v6(&in->sin6_addr), ntohs(in->sin6_port)};
	}
}

/* Queries a copy of the descriptor; false when it is not a socket, or not accessible. */
static bool query_socket(const struct probe_sockets *p, int32_t fd, struct flow_socket *ret_socket)
{
	_cleanup_close_ int copy = p->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0);
	struct sockaddr_storage address = {};
	socklen_t length = sizeof(address), n = sizeof(int);
	int type = 0;

	*ret_socket = (struct flow_socket){.fd = fd};
	if (copy < 0 || getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &n) < 0)
		return false;
	ret_socket->type = (uint16_t)type;
	n = sizeof(ret_socket->cookie);
	(void)getsockopt(copy, SOL_SOCKET, SO_COOKIE, &ret_socket->cookie, &n);
	if (getsockname(copy, (struct sockaddr *)&address, &length) == 0) {
		ret_socket->family = address.ss_family;
		take_address(&address, &ret_socket->local);
	}
	length = sizeof(address);
	if (getpeername(copy, (struct sockaddr *)&address, &length) == 0)
		take_address(&address, &ret_socket->remote);
	return true;
}

void probe_sockets_look(struct probe_sockets *p)
{
	_cleanup_free_ char *path = xasprintf("/proc/%u/fd", p->pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct flow_socket now;
		struct probe_fd *known;
		uint64_t number;
		int32_t fd;

		if (parse_u64(entry->d_name, 0, INT32_MAX, &number) < 0)
			continue;
		fd = (int32_t)number;
		if (!query_socket(p, fd, &now) || !(known = map_put(&p->fds, &fd, NULL)))
			continue;
		if (known->known.cookie != now.cookie)
			*known = (struct probe_fd){.known = now, .is_described = true};
		known->looks++;
	}
	if (dir)
		closedir(dir);
}

/* --- operations --- */

static struct probe_fd *new_socket(struct probe_sockets *p, int32_t fd)
{
	struct probe_fd *f = map_put(&p->fds, &fd, NULL);

	if (f)
		*f = (struct probe_fd){.known = {.fd = fd, .type = SOCK_STREAM}, .looks = 2};
	return f;
}

static struct probe_fd *known_socket(struct probe_sockets *p, int32_t fd)
{
	struct probe_fd *f = map_get(&p->fds, &fd);

	return f && f->looks >= 2 ? f : NULL;
}

/* Socket number in the trace. */
static uint32_t number_of(struct probe_sockets *p, uint32_t thread, struct probe_fd *f, uint64_t ticks)
{
	if (!f->known.socket)
		f->known.socket = trace_writer_socket(p->writer, thread, ticks, &f->known);
	return f->known.socket;
}

static void describe(struct probe_sockets *p, uint32_t thread, struct probe_fd *f, const struct probe_call *call)
{
	if (!call->has_ends || f->is_described)
		return;
	f->known.family = call->local.addr.family == ADDR_V4 ? AF_INET : AF_INET6;
	f->known.local = call->local;
	f->known.remote = call->remote;
	f->is_described = true;
	(void)trace_writer_socket(p->writer, thread, call->start, &f->known);
}

static const struct syscall_op *op_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(syscall_ops); i++)
		if (strcmp(syscall_ops[i].name, name) == 0)
			return &syscall_ops[i];
	return NULL;
}

/* Socket of the call; *ret_aux may become the listener's number. NULL: unknown. */
static struct probe_fd *subject(struct probe_sockets *p, uint32_t thread, const struct probe_call *call,
				struct flow_operation *op)
{
	struct probe_fd *f = known_socket(p, op->fd);

	if (op->op == FLOW_OP_ACCEPT) {
		op->aux = f ? number_of(p, thread, f, call->start) : 0;
		if (op->result < 0)
			return f;
		op->fd = (int32_t)op->result;
		return new_socket(p, op->fd);
	}
	if (op->op == FLOW_OP_SOCKET) {
		op->fd = (int32_t)op->result;
		return op->result < 0 ? NULL : new_socket(p, op->fd);
	}
	return f || op->op != FLOW_OP_CONNECT ? f : new_socket(p, op->fd);
}

static void end_call(struct probe_sockets *p, uint32_t thread, const struct probe_call *call,
		     const struct probe_line *line)
{
	const struct syscall_op *what = op_of(line->syscall);
	struct flow_operation op = {
		.start_ticks = call->start,
		.end_ticks = max_of(line->ticks, call->start),
		.fd = (int32_t)call->args[0],
		.result = line->result,
	};
	struct probe_fd *f;

	if (!what)
		return;
	op.op = what->op;
	op.aux = what->aux ? call->args[what->aux - 1] : 0;
	/* Bytes that stay in the queue were not received: the call only waits for them. */
	if (what->flags && call->args[what->flags - 1] & (MSG_PEEK | MSG_ERRQUEUE)) {
		op.op = FLOW_OP_WAIT;
		op.aux = UINT64_MAX;
		op.result = op.result < 0 ? op.result : 1;
	}
	if (what->op == FLOW_OP_WAIT) {
		trace_writer_operation(p->writer, thread, &op);
		return;
	}
	f = subject(p, thread, call, &op);
	if (!f)
		return;
	op.socket = number_of(p, thread, f, call->start);
	describe(p, thread, f, call);
	trace_writer_operation(p->writer, thread, &op);
	if (op.op == FLOW_OP_CLOSE)
		(void)map_remove(&p->fds, &op.fd);
}

void probe_sockets_take(struct probe_sockets *p, uint32_t thread, const struct probe_line *line)
{
	struct probe_call *call = map_put(&p->pending, &line->tid, NULL);

	if (!call)
		return;
	p->last_thread = thread;
	p->last_ticks = max_of(p->last_ticks, line->ticks);
	if (line->what == PROBE_SYSCALL) {
		*call = (struct probe_call){.is_open = true, .start = line->ticks};
		memcpy(call->args, line->args, sizeof(call->args));
	} else if (line->what == PROBE_SYSCALL_END) {
		/* An accept() that was already blocked shows only its exit. */
		if (!call->is_open && strncmp(line->syscall, "accept", 6) == 0)
			*call = (struct probe_call){.is_open = true, .start = line->ticks, .args = {UINT32_MAX}};
		if (call->is_open)
			end_call(p, thread, call, line);
		call->is_open = false;
	} else if (line->what == PROBE_STATE && call->is_open && !line->in_interrupt && line->local.port &&
		   line->remote.port) {
		call->has_ends = true;
		call->local = line->local;
		call->remote = line->remote;
	}
}

void probe_sockets_lost(struct probe_sockets *p)
{
	map_done(&p->fds);
	map_done(&p->pending);
	p->fds = MAP_INIT(sizeof(int32_t), sizeof(struct probe_fd), FDS_MAX);
	p->pending = MAP_INIT(sizeof(uint32_t), sizeof(struct probe_call), FDS_MAX);
}

void probe_sockets_end(struct probe_sockets *p)
{
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&p->fds, &at, &key, &value)) {
		struct probe_fd *f = value;
		struct flow_socket now;

		if (!f->known.socket || f->is_described || !query_socket(p, f->known.fd, &now))
			continue;
		now.socket = f->known.socket;
		(void)trace_writer_socket(p->writer, p->last_thread, p->last_ticks, &now);
	}
}

void probe_sockets_done(struct probe_sockets *p)
{
	map_done(&p->fds);
	map_done(&p->pending);
	if (p->pidfd >= 0)
		(void)close(p->pidfd);
}
