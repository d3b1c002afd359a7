/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enough sockets that the dump is divided among threads: each must be there, once, with its part and its owner. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/map.h"
#include "base/worker.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/sock_watch.h"
#include "unit.h"

#define HOLDERS     4
#define CONNECTIONS 3000 /* of each; both ends */
#define BUSY        7    /* of each, with data that is not read */
#define FOLLOWED    300

static void private_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		SKIP("needs a network namespace of its own (root)");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
}

static _noreturn_ void hold(unsigned number, int ready)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010000 + number), .sin_port = htons(7000)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct rlimit files = {20000, 20000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (bind(listener, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(listener, 16) < 0)
		_exit(1);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || accept(listener, NULL, NULL) < 0)
			_exit(1);
		if (i < BUSY && write(fd, "x", 1) != 1)
			_exit(1);
	}
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void start(pid_t pids[HOLDERS])
{
	static unsigned holders; /* addresses that were used before are still in TIME_WAIT */
	int ready[2];
	char byte;

	holders += HOLDERS;
	REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
	for (unsigned i = 0; i < HOLDERS; i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		if (pids[i] == 0) {
			(void)close(ready[0]);
			hold(holders + i, ready[1]);
		}
	}
	(void)close(ready[1]);
	for (unsigned i = 0; i < HOLDERS; i++)
		REQUIRE(read(ready[0], &byte, 1) == 1);
	(void)close(ready[0]);
}

static void stop(const pid_t pids[HOLDERS])
{
	for (unsigned i = 0; i < HOLDERS; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
}

/* Every socket once, with the right part and an owner among the holders. */
static void check_sockets(const struct snapshot *snapshot, const pid_t pids[HOLDERS], size_t connected)
{
	_cleanup_(map_done) struct map seen = MAP_INIT(sizeof(uint64_t), 1, 0);
	const struct owner_record *owners = snapshot_first(snapshot, &owner_type);
	size_t established = 0, listening = 0, wrong = 0;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);
		bool new, held = false;

		(void)map_put(&seen, &socket->cookie, &new);
		listening += socket->state == SOCKET_LISTEN;
		established += socket->state == SOCKET_ESTABLISHED;
		for (unsigned i = 0; socket->owner != SOCKET_NONE && i < HOLDERS; i++)
			held |= owners[socket->owner].pid == (uint32_t)pids[i];
		wrong += !new || !held || socket->owners != 1 || owners[socket->owner].inode != socket->inode ||
			 (socket->state == SOCKET_LISTEN ? tcp != NULL : !tcp || tcp->tcp_cookie != socket->cookie);
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK_EQ_UINT(listening, HOLDERS);
	CHECK_EQ_UINT(established, connected);
	CHECK_EQ_UINT(snapshot_table(snapshot, &tcp_type)->count, connected);
	CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 0);
}

static void take(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct why why = {};

	CHECK_OK(snapshot_take(snapshot, request, &why));
}

TEST(all_of_many_are_there_once)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, NULL};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	pid_t pids[HOLDERS];
	size_t all = 2 * HOLDERS * CONNECTIONS;

	CHECK(all >= WORKER_WORTH);
	private_network();
	start(pids);
	take(snapshot, &(struct snapshot_request){.types = types});
	check_sockets(snapshot, pids, all);
	take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true});
	check_sockets(snapshot, pids, all);
	take(snapshot, &(struct snapshot_request){.types = types, .repeated = true});
	check_sockets(snapshot, pids, all);
	stop(pids);
}

TEST(watching_shows_those_on_which_something_happens)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, NULL};
	static const struct snapshot_request request = {.types = types, .repeated = true, .active_only = true};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	pid_t pids[HOLDERS];

	private_network();
	start(pids);
	/* Until the handshakes are long ago. Then of the busy ones the receiver's end stays: its data was not read. */
	(void)nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 200000000}, NULL);
	for (unsigned i = 0; i < 5; i++) {
		unit_note("look %u", i);
		take(snapshot, &request);
		check_sockets(snapshot, pids, HOLDERS * BUSY);
		snapshot_each(snapshot, socket_type, const struct socket_record, socket)
			CHECK(socket->state == SOCKET_LISTEN || socket->recvq_bytes == 1);
	}
	stop(pids);
	/* What has gone is forgotten. */
	take(snapshot, &request);
	CHECK_EQ_UINT(snapshot_table(snapshot, &socket_type)->count, 0);
	CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 0);
}

struct followed {
	size_t waiting, moving, unknown;
};

/* How many wait, how many do not, and how many were not there before. */
static struct followed count_followed(const struct snapshot *snapshot, struct map *known)
{
	struct followed count = {};

	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		bool new;

		if (socket->state == SOCKET_LISTEN)
			continue;
		(void)map_put(known, &socket->cookie, &new);
		count.waiting += socket->recvq_bytes > 0;
		count.moving += socket->recvq_bytes == 0;
		count.unknown += new;
	}
	return count;
}

/* The first look finds out how many there are; dumps follow each other at a distance that depends on their cost. */
static void follow(bool no_bpf)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};
	struct snapshot_request request = {
		.types = types, .repeated = true, .active_only = true, .followed_max = FOLLOWED, .no_bpf = no_bpf};
	_cleanup_(map_done) struct map known = MAP_INIT(sizeof(uint64_t), 1, 0);
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct followed count = {};

	unit_note("%s", no_bpf ? "without BPF" : "with BPF");
	for (unsigned i = 0; i < 100 && count.waiting < (size_t)HOLDERS * BUSY; i++) {
		take(snapshot, &request);
		count = count_followed(snapshot, &known);
		(void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
	/* All that wait, and of the others a number that fits; from then on the same ones. */
	for (unsigned i = 0; i < 8; i++) {
		CHECK_EQ_UINT(count.waiting, HOLDERS * BUSY);
		CHECK(count.moving > FOLLOWED / 3 && count.moving < FOLLOWED * 4 / 3);
		CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 1);
		take(snapshot, &request);
		count = count_followed(snapshot, &known);
		CHECK_EQ_UINT(count.unknown, 0);
		(void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
}

TEST(of_very_many_a_number_that_fits_is_followed)
{
	private_network();
	for (unsigned i = 0; i < 2; i++) {
		pid_t pids[HOLDERS];

		start(pids);
		follow(i == 1);
		stop(pids);
	}
}
