/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers of the C library's socket functions that record operations. Each behaves exactly like the original, calls it
 * by the same name, and preserves its errno; descriptors other than sockets pass straight through.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

/* Not recording: only the original. */
#define OFF (!live || sealed)

/* Operation on a socket: `call` is the original, `shown` the recorded form of result_. */
#define AROUND_AS(type, name, number, descriptor, offered, call, shown)                                                \
	do {                                                                                                           \
		uint32_t socket_ = 0;                                                                                  \
		uint64_t start_;                                                                                       \
		type result_;                                                                                          \
		if (!READY(name)) {                                                                                    \
			errno = ENOSYS;                                                                                \
			return -1;                                                                                     \
		}                                                                                                      \
		if (OFF || !(socket_ = socket_of(descriptor)))                                                         \
			return call;                                                                                   \
		start_ = op_begin();                                                                                   \
		result_ = call;                                                                                        \
		op_end(&(struct op){FLOW_OP_##number, (descriptor), socket_, (shown), start_, (uint64_t)(offered)});   \
		return result_;                                                                                        \
	} while (0)
#define AROUND(type, name, number, descriptor, offered, call)                                                          \
	AROUND_AS(type, name, number, descriptor, offered, call, result_)

/* Bytes that stay in the queue were not received: the call only waits for them. */
#define IS_PEEK(flags)                     ((flags) & (MSG_PEEK | MSG_ERRQUEUE))
#define PEEK(type, name, descriptor, call) AROUND_AS(type, name, WAIT, descriptor, -1, call, result_ < 0 ? result_ : 1)

static uint64_t bytes_of(const struct iovec *parts, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count && i < 1024; i++)
		sum += parts[i].iov_len;
	return sum;
}

/* --- reading and writing --- */

EXPORT ssize_t read(int fd, void *to, size_t n)
{
	AROUND(ssize_t, read, READ, fd, n, real.read(fd, to, n));
}

EXPORT ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __read_chk(int fd, void *to, size_t n, size_t room)
{
	if (n > room)
		__builtin_trap();
	return read(fd, to, n);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	AROUND(ssize_t, readv, READ, fd, bytes_of(parts, (size_t)(count > 0 ? count : 0)),
	       real.readv(fd, parts, count));
}

EXPORT ssize_t recv(int fd, void *to, size_t n, int flags)
{
	if (IS_PEEK(flags))
		PEEK(ssize_t, recv, fd, real.recv(fd, to, n, flags));
	AROUND(ssize_t, recv, READ, fd, n, real.recv(fd, to, n, flags));
}

EXPORT ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags)
{
	if (n > room)
		__builtin_trap();
	return recv(fd, to, n, flags);
}

EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t n, int flags, struct sockaddr *restrict address,
			socklen_t *restrict length)
{
	if (IS_PEEK(flags))
		PEEK(ssize_t, recvfrom, fd, real.recvfrom(fd, to, n, flags, address, length));
	AROUND(ssize_t, recvfrom, READ, fd, n, real.recvfrom(fd, to, n, flags, address, length));
}

EXPORT ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *address,
			      socklen_t *length);
ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *address, socklen_t *length)
{
	if (n > room)
		__builtin_trap();
	return recvfrom(fd, to, n, flags, address, length);
}

EXPORT ssize_t write(int fd, const void *from, size_t n)
{
	AROUND(ssize_t, write, WRITE, fd, n, real.write(fd, from, n));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	AROUND(ssize_t, writev, WRITE, fd, bytes_of(parts, (size_t)(count > 0 ? count : 0)),
	       real.writev(fd, parts, count));
}

EXPORT ssize_t send(int fd, const void *from, size_t n, int flags)
{
	AROUND(ssize_t, send, WRITE, fd, n, real.send(fd, from, n, flags));
}

EXPORT ssize_t sendto(int fd, const void *from, size_t n, int flags, const struct sockaddr *address, socklen_t length)
{
	AROUND(ssize_t, sendto, WRITE, fd, n, real.sendto(fd, from, n, flags, address, length));
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t n)
{
	AROUND(ssize_t, sendfile, SENDFILE, out, n, real.sendfile(out, in, offset, n));
}

EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t n) __attribute__((alias("sendfile")));

EXPORT ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
	if (!OFF && READY(splice) && socket_of(in))
		AROUND(ssize_t, splice, READ, in, n, real.splice(in, in_at, out, out_at, n, flags));
	AROUND(ssize_t, splice, SENDFILE, out, n, real.splice(in, in_at, out, out_at, n, flags));
}

/* --- messages, which may carry descriptors --- */

/* Descriptors passed in a message. */
static void each_passed(const struct msghdr *message, enum flow_op op, uint32_t through, uint64_t start)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR((struct msghdr *)message); c;
	     c = CMSG_NXTHDR((struct msghdr *)message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0))
			continue;
		for (size_t i = 0; i < count && i < 253; i++) {
			uint32_t socket;
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			socket = op == FLOW_OP_TAKE ? socket_seen(fd, start) : socket_of(fd);
			if (socket)
				op_end(&(struct op){op, fd, socket, fd, start, through});
		}
	}
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	uint32_t socket;
	uint64_t start, offered;
	ssize_t result;

	if (!READY(recvmsg) || OFF || !(socket = socket_of(fd)))
		return real.recvmsg ? real.recvmsg(fd, message, flags) : -1;
	if (IS_PEEK(flags))
		PEEK(ssize_t, recvmsg, fd, real.recvmsg(fd, message, flags));
	start = op_begin();
	offered = bytes_of(message->msg_iov, message->msg_iovlen);
	result = real.recvmsg(fd, message, flags);
	op_end(&(struct op){FLOW_OP_READ, fd, socket, result, start, offered});
	if (result >= 0 && message->msg_controllen)
		each_passed(message, FLOW_OP_TAKE, socket, start);
	return result;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	uint32_t socket;
	uint64_t start;
	ssize_t result;

	if (!READY(sendmsg) || OFF || !(socket = socket_of(fd)))
		return real.sendmsg ? real.sendmsg(fd, message, flags) : -1;
	start = op_begin();
	result = real.sendmsg(fd, message, flags);
	op_end(&(struct op){FLOW_OP_WRITE, fd, socket, result, start, bytes_of(message->msg_iov, message->msg_iovlen)});
	if (result >= 0 && message->msg_controllen)
		each_passed(message, FLOW_OP_PASS, socket, start);
	return result;
}

/* Sum of the bytes of several messages. */
static int64_t sum_of(const struct mmsghdr *messages, int count)
{
	int64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += messages[i].msg_len;
	return count < 0 ? -1 : sum;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
	AROUND_AS(int, recvmmsg, READ, fd, 0, real.recvmmsg(fd, messages, count, flags, timeout),
		  sum_of(messages, result_));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	AROUND_AS(int, sendmmsg, WRITE, fd, 0, real.sendmmsg(fd, messages, count, flags), sum_of(messages, result_));
}

/* --- the life of a socket --- */

static void created(int fd, uint64_t start)
{
	uint32_t number = socket_seen(fd, start);

	if (number)
		op_end(&(struct op){FLOW_OP_SOCKET, fd, number, fd, start, 0});
}

EXPORT int socket(int family, int type, int protocol)
{
	uint64_t start;
	int fd;

	if (!READY(socket) || OFF)
		return real.socket ? real.socket(family, type, protocol) : -1;
	start = op_begin();
	fd = real.socket(family, type, protocol);
	if (fd >= 0)
		created(fd, start);
	return fd;
}

EXPORT int socketpair(int family, int type, int protocol, int fds[2])
{
	uint64_t start;
	int result;

	if (!READY(socketpair) || OFF)
		return real.socketpair ? real.socketpair(family, type, protocol, fds) : -1;
	start = op_begin();
	result = real.socketpair(family, type, protocol, fds);
	for (int i = 0; result == 0 && i < 2; i++)
		created(fds[i], start);
	return result;
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	AROUND(int, bind, BIND, fd, 0, real.bind(fd, address, length));
}

EXPORT int listen(int fd, int backlog)
{
	if (READY(listen) && !OFF)
		socket_describe(fd);
	AROUND(int, listen, LISTEN, fd, backlog, real.listen(fd, backlog));
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	uint32_t socket;
	uint64_t start;
	int result;

	if (!READY(connect) || OFF || !(socket = socket_of(fd)))
		return real.connect ? real.connect(fd, address, length) : -1;
	start = op_begin();
	result = real.connect(fd, address, length);
	op_end(&(struct op){FLOW_OP_CONNECT, fd, socket, result, start, 0});
	socket_describe(fd);
	return result;
}

static int accepted(int listener, uint32_t listening, int fd, uint64_t start)
{
	int saved = errno;

	op_end(&(struct op){FLOW_OP_ACCEPT, fd >= 0 ? fd : listener, fd >= 0 ? socket_seen(fd, start) : listening, fd,
			    start, listening});
	errno = saved;
	return fd;
}

EXPORT int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	uint32_t socket;
	uint64_t start;

	if (!READY(accept) || OFF || !(socket = socket_of(fd)))
		return real.accept ? real.accept(fd, address, length) : -1;
	start = op_begin();
	return accepted(fd, socket, real.accept(fd, address, length), start);
}

EXPORT int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	uint32_t socket;
	uint64_t start;

	if (!READY(accept4) || OFF || !(socket = socket_of(fd)))
		return real.accept4 ? real.accept4(fd, address, length, flags) : -1;
	start = op_begin();
	return accepted(fd, socket, real.accept4(fd, address, length, flags), start);
}

EXPORT int shutdown(int fd, int how)
{
	AROUND(int, shutdown, SHUTDOWN, fd, how, real.shutdown(fd, how));
}

EXPORT int close(int fd)
{
	uint32_t socket;
	uint64_t start;
	int result;

	if (!READY(close) || OFF)
		return real.close ? real.close(fd) : -1;
	if (own_files_have(fd)) {
		errno = EBADF; /* nonexistent as far as the program knows */
		return -1;
	}
	socket = socket_of(fd);
	/* Before the kernel can reuse the number in another thread. */
	socket_gone(fd);
	if (!socket)
		return real.close(fd);
	start = op_begin();
	result = real.close(fd);
	op_end(&(struct op){FLOW_OP_CLOSE, fd, socket, result, start, 0});
	return result;
}

/* --- copies of descriptors --- */

static int copied(int from, int to, uint64_t start)
{
	uint32_t socket = socket_of(from);

	if (to < 0 || !socket) {
		if (to >= 0)
			socket_gone(to);
		return to;
	}
	socket_copy(from, to);
	op_end(&(struct op){FLOW_OP_DUP, to, socket, to, start, (uint64_t)from});
	return to;
}

EXPORT int dup(int fd)
{
	if (!READY(dup) || OFF)
		return real.dup ? real.dup(fd) : -1;
	return copied(fd, real.dup(fd), op_begin());
}

EXPORT int dup2(int fd, int to)
{
	if (!READY(dup2) || OFF)
		return real.dup2 ? real.dup2(fd, to) : -1;
	own_files_yield(to);
	return copied(fd, real.dup2(fd, to), op_begin());
}

EXPORT int dup3(int fd, int to, int flags)
{
	if (!READY(dup3) || OFF)
		return real.dup3 ? real.dup3(fd, to, flags) : -1;
	own_files_yield(to);
	return copied(fd, real.dup3(fd, to, flags), op_begin());
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list args;
	void *argument;

	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	if (!READY(fcntl) || OFF || (command != F_DUPFD && command != F_DUPFD_CLOEXEC))
		return real.fcntl ? real.fcntl(fd, command, argument) : -1;
	return copied(fd, real.fcntl(fd, command, argument), op_begin());
}

EXPORT int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

/* All except the recorder's: programs that close everything do not know them. */
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	unsigned top = last < (1u << 20) ? last : (1u << 20) - 1;

	if (!READY(close_range) || OFF || flags)
		return real.close_range ? real.close_range(first, last, flags) : -1;
	for (unsigned fd = first; fd <= top; fd++) {
		if (own_files_have((int)fd)) {
			if (fd > first && real.close_range(first, fd - 1, 0) < 0)
				return -1;
			first = fd + 1;
		} else {
			socket_gone((int)fd);
		}
	}
	return first <= last ? real.close_range(first, last, 0) : 0;
}

EXPORT void closefrom(int first)
{
	(void)close_range((unsigned)(first < 0 ? 0 : first), ~0u, 0);
}

/* --- waiting --- */

EXPORT int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
	uint32_t socket;
	uint64_t start, data = 0;
	int result;

	if (!READY(epoll_ctl) || OFF || !(socket = socket_of(fd)))
		return real.epoll_ctl ? real.epoll_ctl(epoll, what, fd, event) : -1;
	if (event)
		data = event->data.u64;
	start = op_begin();
	result = real.epoll_ctl(epoll, what, fd, event);
	op_end(&(struct op){FLOW_OP_WATCH, fd, socket, result < 0 ? result : what, start, data});
	return result;
}

static int waited(int epoll, int result, const struct epoll_event *events, int timeout, uint64_t start)
{
	struct wait_answer answers[WAIT_ANSWERS_MAX];
	uint32_t n = result > 0 ? min_of((uint32_t)result, (uint32_t)WAIT_ANSWERS_MAX) : 0;

	for (uint32_t i = 0; i < n; i++)
		answers[i] = (struct wait_answer){events[i].data.u64, events[i].events};
	op_end_wait(&(struct op){FLOW_OP_WAIT, epoll, 0, result, start, (uint64_t)(int64_t)timeout}, answers, n);
	return result;
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int room, int timeout)
{
	uint64_t start;

	if (!READY(epoll_wait) || OFF || live->sockets_off)
		return real.epoll_wait ? real.epoll_wait(epoll, events, room, timeout) : -1;
	start = op_begin();
	return waited(epoll, real.epoll_wait(epoll, events, room, timeout), events, timeout, start);
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int room, int timeout, const sigset_t *mask)
{
	uint64_t start;

	if (!READY(epoll_pwait) || OFF || live->sockets_off)
		return real.epoll_pwait ? real.epoll_pwait(epoll, events, room, timeout, mask) : -1;
	start = op_begin();
	return waited(epoll, real.epoll_pwait(epoll, events, room, timeout, mask), events, timeout, start);
}

static int polled(const struct pollfd *fds, nfds_t count, int result, int64_t timeout, uint64_t start)
{
	struct wait_answer answers[WAIT_ANSWERS_MAX];
	uint32_t n = 0;

	for (nfds_t i = 0; result > 0 && i < count && n < WAIT_ANSWERS_MAX; i++)
		if (fds[i].revents)
			answers[n++] = (struct wait_answer){(uint64_t)fds[i].fd, (uint32_t)fds[i].revents & 0xffff};
	op_end_wait(&(struct op){FLOW_OP_WAIT, count == 1 ? fds[0].fd : -1,
				 count == 1 ? socket_at(fds[0].fd, start) : 0, result, start, (uint64_t)timeout},
		    answers, n);
	return result;
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t start;

	if (!READY(poll) || OFF || live->sockets_off)
		return real.poll ? real.poll(fds, count, timeout) : -1;
	start = op_begin();
	return polled(fds, count, real.poll(fds, count, timeout), timeout, start);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	if (room / sizeof(*fds) < count)
		__builtin_trap();
	return poll(fds, count, timeout);
}

static int64_t timeout_ms(const struct timespec *timeout)
{
	return timeout ? timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000 : -1;
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t start;

	if (!READY(ppoll) || OFF || live->sockets_off)
		return real.ppoll ? real.ppoll(fds, count, timeout, mask) : -1;
	start = op_begin();
	return polled(fds, count, real.ppoll(fds, count, timeout, mask), timeout_ms(timeout), start);
}

static int selected(int count, fd_set *const sets[3], int result, int64_t timeout, uint64_t start)
{
	static const uint32_t bits[3] = {POLLIN, POLLOUT, POLLPRI};
	struct wait_answer answers[WAIT_ANSWERS_MAX];
	uint32_t n = 0;

	for (int fd = 0; result > 0 && fd < count && fd < FD_SETSIZE && n < WAIT_ANSWERS_MAX; fd++) {
		uint32_t events = 0;

		for (int i = 0; i < 3; i++)
			if (sets[i] && FD_ISSET(fd, sets[i]))
				events |= bits[i];
		if (events)
			answers[n++] = (struct wait_answer){(uint64_t)fd, events};
	}
	op_end_wait(&(struct op){FLOW_OP_WAIT, -1, 0, result, start, (uint64_t)timeout}, answers, n);
	return result;
}

EXPORT int select(int count, fd_set *readable, fd_set *writable, fd_set *urgent, struct timeval *timeout)
{
	fd_set *const sets[3] = {readable, writable, urgent};
	int64_t ms = timeout ? timeout->tv_sec * 1000 + timeout->tv_usec / 1000 : -1;
	uint64_t start;

	if (!READY(select) || OFF || live->sockets_off)
		return real.select ? real.select(count, readable, writable, urgent, timeout) : -1;
	start = op_begin();
	return selected(count, sets, real.select(count, readable, writable, urgent, timeout), ms, start);
}

EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *urgent, const struct timespec *timeout,
		   const sigset_t *mask)
{
	fd_set *const sets[3] = {readable, writable, urgent};
	uint64_t start;

	if (!READY(pselect) || OFF || live->sockets_off)
		return real.pselect ? real.pselect(count, readable, writable, urgent, timeout, mask) : -1;
	start = op_begin();
	return selected(count, sets, real.pselect(count, readable, writable, urgent, timeout, mask),
			timeout_ms(timeout), start);
}

/* --- threads --- */

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int result;

	if (!READY(pthread_setname_np))
		return ENOSYS;
	result = real.pthread_setname_np(thread, name);
	if (result != 0 || OFF)
		return result;
	if (pthread_equal(thread, pthread_self()))
		slot_note_name();
	else
		slot_name_other(thread, name);
	return result;
}

EXPORT int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list args;
	int result;

	va_start(args, option);
	a = va_arg(args, unsigned long);
	b = va_arg(args, unsigned long);
	c = va_arg(args, unsigned long);
	d = va_arg(args, unsigned long);
	va_end(args);
	if (!READY(prctl)) {
		errno = ENOSYS;
		return -1;
	}
	result = real.prctl(option, a, b, c, d);
	if (result == 0 && option == PR_SET_TSC && live)
		slot_seal(a != PR_TSC_ENABLE);
	if (result < 0 || OFF)
		return result;
	if (option == PR_SET_NAME)
		slot_note_name();
	else if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT)
		slot_seal(true);
	return result;
}

/* --- end without destructors: forked processes often leave so --- */

EXPORT void _exit(int status)
{
	if (!OFF)
		slots_end();
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status) __attribute__((alias("_exit")));

/* --- libraries --- */

EXPORT int dlclose(void *handle)
{
	int result;

	if (!READY(dlclose) || OFF)
		return real.dlclose ? real.dlclose(handle) : -1;
	result = real.dlclose(handle);
	modules_update();
	return result;
}
