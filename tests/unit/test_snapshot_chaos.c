/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and sockets that die while they are looked at: a thousand snapshots, none may crash, leak (the sanitizers
 * watch), complain about a gap that is none, or hold an index that leads nowhere.
 * timeout: 300
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "unit.h"

#define SNAPSHOTS 1000
#define WORKERS   4

/* A network of its own where that is allowed; loopback alone otherwise. */
static bool private_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
}

static void live_shortly(unsigned seed)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger reset = {.l_onoff = 1};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[8];
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		_exit(1);
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)connect(fds[i], (struct sockaddr *)&address, len);
		if (i % 2 == seed % 2)
			(void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (i % 3 == 0)
			(void)!write(fds[i], "x", 1);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	(void)close(udp);
	(void)close(listener);
}

/* Makes processes that make sockets, end, and are followed by others. */
static _noreturn_ void churn(unsigned number)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned round = number;; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			live_shortly(round);
			_exit(0);
		}
		live_shortly(round + 1);
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
	}
}

static void check_indices(const struct snapshot *snapshot)
{
	const struct snapshot_table *owners = snapshot_table(snapshot, &owner_type);
	uint32_t last = 0;
	bool sound = true;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);

		sound &= socket->tcp == SOCKET_NONE || (tcp && tcp->tcp_cookie == socket->cookie);
		sound &= socket->owner == SOCKET_NONE ? socket->owners == 0 : socket->owners > 0;
		if (socket->owner != SOCKET_NONE && socket->owner < owners->count)
			sound &= ((struct owner_record *)owners->items)[socket->owner].inode == socket->inode;
		sound &= socket->owner == SOCKET_NONE || socket->owner < owners->count;
	}
	snapshot_each(snapshot, process_type, const struct process_record, process) {
		sound &= process->pid > last;
		sound &= process_find(snapshot, process->pid) == process;
		last = process->pid;
	}
	CHECK(sound);
}

static void tell_gaps(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, gap_type, const struct gap_record, gap)
		unit_note("gap: %s: %s", gap->source, gap->why);
}

static void take_many(const struct snapshot_request *request, unsigned count, bool private)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	size_t sockets = 0, owned = 0;

	for (unsigned i = 0; i < count; i++) {
		struct why why = {};

		if (!CHECK_OK(snapshot_take(snapshot, request, &why)))
			return;
		check_indices(snapshot);
		if (private && snapshot_table(snapshot, &gap_type)->count > 0) {
			tell_gaps(snapshot);
			CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 0);
			return;
		}
		sockets += snapshot_table(snapshot, &socket_type)->count;
		owned += snapshot_table(snapshot, &owner_type)->count;
	}
	CHECK(sockets > count);
	CHECK(owned >= count);
}

static void in_turmoil(const struct snapshot_request *request)
{
	bool private = private_network();
	_cleanup_close_ int steady = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pids[WORKERS];

	/* One that stays, and so must be in every snapshot with its owner. */
	REQUIRE(listen(steady, 1) == 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		if (pids[i] == 0)
			churn(i);
	}
	take_many(request, SNAPSHOTS / 4, private);
	for (unsigned i = 0; i < WORKERS; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
}

TEST(without_bpf)
{
	in_turmoil(&(struct snapshot_request){.no_bpf = true});
}

TEST(one_by_one)
{
	in_turmoil(&(struct snapshot_request){});
}

TEST(one_after_the_other)
{
	in_turmoil(&(struct snapshot_request){.repeated = true});
}

TEST(active_ones_only)
{
	in_turmoil(&(struct snapshot_request){.repeated = true, .active_only = true});
}
