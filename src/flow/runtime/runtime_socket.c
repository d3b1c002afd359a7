/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps descriptors to sockets and records operations. A socket has a number in the trace that persists across dup and
 * fork; other descriptors are remembered as such and cost one lookup.
 */
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

#define FDS_MAX   (1u << 20)
#define NO_SOCKET UINT32_MAX

/* Socket number per descriptor; 0: not checked yet. */
static uint32_t *numbers;

void sockets_begin(void)
{
	void *p = mmap(NULL, FDS_MAX * sizeof(*numbers), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	numbers = p == MAP_FAILED || live->sockets_off ? NULL : p;
}

static bool is_known(int fd)
{
	return numbers && fd >= 0 && (uint32_t)fd < FDS_MAX;
}

static void put_address(const struct sockaddr_storage *from, uint8_t *address, uint16_t *port)
{
	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)from;

		address[10] = address[11] = 0xff;
		memcpy(address + 12, &in->sin_addr, 4);
		*port = ntohs(in->sin_port);
	} else if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)from;

		memcpy(address, &in6->sin6_addr, 16);
		*port = ntohs(in6->sin6_port);
	}
}

static void query_socket(int fd, struct flow_socket_words *words)
{
	struct sockaddr_storage address = {};
	socklen_t n = sizeof(address);
	uint64_t cookie = 0;
	int type = 0;

	if (getsockname(fd, (struct sockaddr *)&address, &n) == 0) {
		words->family = address.ss_family;
		put_address(&address, words->laddr, &words->lport);
	}
	n = sizeof(address);
	if (getpeername(fd, (struct sockaddr *)&address, &n) == 0)
		put_address(&address, words->raddr, &words->rport);
	n = sizeof(cookie);
	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) == 0)
		flow_put_u64(words->cookie, cookie);
	n = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0)
		words->type = (uint16_t)type;
}

static void describe(int fd, uint32_t number, uint64_t at)
{
	struct flow_socket_words words = {.socket = number, .fd = fd};
	struct flow_slot *t = slot_get();

	if (!t)
		return;
	query_socket(fd, &words);
	if (!slot_enter(t))
		return;
	(void)slot_add_other(t, at, flow_word_other(FLOW_O_SOCKET, FLOW_WORDS(words), 0), &words);
	slot_leave(t);
}

/* Samples sessions by socket: while a thread works for another socket, it records nothing. */
static void mute(uint32_t number)
{
	struct flow_slot *t = slot_get();

	if (live->sample > 1 && t)
		/* Hash the number: sampling must not follow patterns in the numbering. */
		t->muted = (number * 0x9E3779B1u >> 8) % live->sample != 0;
}

uint32_t socket_seen(int fd, uint64_t start)
{
	int saved = errno, type;
	socklen_t n = sizeof(type);
	uint32_t number;

	if (!is_known(fd))
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0) {
		numbers[fd] = NO_SOCKET;
		errno = saved;
		return 0;
	}
	number = __atomic_add_fetch(&live->last_socket, 1, __ATOMIC_RELAXED);
	numbers[fd] = number;
	mute(number);
	describe(fd, number, start);
	errno = saved;
	return number;
}

uint32_t socket_of(int fd)
{
	return socket_at(fd, 0);
}

uint32_t socket_at(int fd, uint64_t start)
{
	uint32_t number;

	if (!is_known(fd))
		return 0;
	number = numbers[fd];
	if (likely(number == NO_SOCKET))
		return 0;
	return number ? number : socket_seen(fd, start ? start : now_ticks());
}

void socket_copy(int from, int to)
{
	if (is_known(from) && is_known(to))
		numbers[to] = numbers[from];
}

void socket_gone(int fd)
{
	if (is_known(fd))
		numbers[fd] = 0;
}

void socket_describe(int fd)
{
	uint32_t number = socket_of(fd);
	int saved = errno;

	if (number)
		describe(fd, number, now_ticks());
	errno = saved;
}

void op_end(const struct op *op)
{
	op_end_wait(op, NULL, 0);
}

void op_end_wait(const struct op *op, const struct wait_answer *answers, uint32_t count)
{
	uint64_t now = now_ticks();
	int saved = errno;
	struct flow_slot *t = slot_get();
	struct {
		struct flow_op_words words;
		uint32_t more[WAIT_ANSWERS_MAX * 3];
	} record;

	if (!t)
		return;
	if (op->socket)
		mute(op->socket);
	if (!slot_enter(t)) {
		errno = saved;
		return;
	}
	t->asked_socket = (op->result == -1 && saved == EAGAIN) ||
					  (op->op == FLOW_OP_WATCH && op->result > 0 && op->result != EPOLL_CTL_DEL)
				  ? op->socket
				  : 0;
	t->asked_fd = op->fd;
	count = min_of(count, (uint32_t)WAIT_ANSWERS_MAX);
	record.words = (struct flow_op_words){
		.socket = op->socket,
		.fd = op->fd,
		.result = op->result == -1 ? -saved : (int32_t)min_of(op->result, INT32_MAX),
	};
	now = now > t->last ? now : t->last;
	flow_put_u64(record.words.duration, now - (op->start > t->last ? op->start : t->last));
	flow_put_u64(record.words.aux, op->aux);
	for (uint32_t i = 0; i < count; i++) {
		flow_put_u64(&record.more[(size_t)i * 3], answers[i].data);
		record.more[(size_t)i * 3 + 2] = answers[i].events;
	}
	/* The thread's clock stands at the end of the operation. */
	if (slot_add_other(
		    t, op->start,
		    flow_word_other(FLOW_O_OPERATION, (uint32_t)FLOW_WORDS(struct flow_op_words) + count * 3, op->op),
		    &record))
		t->last = now;
	slot_leave(t);
	if (live->delay_ticks && now - op->start >= live->delay_ticks)
		delay_look(t, now, FLOW_DELAY_OPERATION);
	errno = saved;
}
