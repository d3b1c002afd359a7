/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "path/source/stamps.h"

/* Both clocks run at the same rate; only clock_settime changes the offset. */
#define SET_INTERVAL_NS NSEC_PER_SEC

static void on_interval(void *context, uint64_t expirations _unused_)
{
	struct path_stamps *stamps = context;

	__atomic_store_n(stamps->offset_ns, clock_real_ns() - clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
}

void path_stamps_init(struct path_stamps *stamps)
{
	*stamps = (struct path_stamps){.fd = -1};
}

/* Any socket that enables timestamps makes the kernel stamp all packets. */
static int enable_stamps(struct path_stamps *stamps)
{
	int yes = 1;

	stamps->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (stamps->fd < 0 || setsockopt(stamps->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)) < 0)
		return -errno;
	return 0;
}

int path_stamps_start(struct path_stamps *stamps, bool enable, uint64_t *offset_ns, struct loop *loop)
{
	int r = enable ? enable_stamps(stamps) : 0;

	if (r < 0)
		return r;
	stamps->offset_ns = offset_ns;
	on_interval(stamps, 0);
	return loop_add_timer(loop, SET_INTERVAL_NS, SET_INTERVAL_NS, on_interval, stamps, NULL);
}

void path_stamps_done(struct path_stamps *stamps)
{
	if (stamps->fd >= 0)
		(void)close(stamps->fd);
	stamps->fd = -1;
}
