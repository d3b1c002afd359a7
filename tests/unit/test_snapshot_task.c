/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread waits for, look after look: kept while it has not run, found out again when it has. */
#include <arpa/inet.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "snapshot/proc/process.h"
#include "unit.h"

static int bound_socket(struct sockaddr_in *ret_address)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &len) == 0);
	*ret_address = address;
	return fd;
}

/* Until the kernel says that the process waits in that call on that descriptor. */
static bool wait_until_in(pid_t pid, long call, int fd)
{
	uint64_t until = clock_monotonic_ns() + 10 * NSEC_PER_SEC;
	char path[40], wanted[40];
	struct buf text = BUF_INIT(4096);
	bool there = false;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	snprintf(wanted, sizeof(wanted), "%ld 0x%x ", call, (unsigned)fd);
	while (!there && clock_monotonic_ns() < until) {
		buf_clear(&text);
		there = buf_read_file(&text, path) == 0 && strncmp(buf_text(&text), wanted, strlen(wanted)) == 0;
		(void)sched_yield();
	}
	buf_done(&text);
	return there;
}

static const struct thread_record *thread_of(const struct snapshot *snapshot, pid_t pid)
{
	snapshot_each(snapshot, thread_type, const struct thread_record, thread)
		if (thread->pid == (uint32_t)pid)
			return thread;
	return NULL;
}

static void look(struct snapshot *snapshot, pid_t pid, long call, int fd)
{
	static const struct record_type *const types[] = {&thread_type, NULL};
	const struct thread_record *thread;
	struct why why;

	REQUIRE(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .repeated = true}, &why) == 0);
	thread = thread_of(snapshot, pid);
	REQUIRE(thread);
	CHECK_EQ_UINT(thread->thread_state, 'S');
	CHECK_EQ_UINT(thread->syscall, call);
	CHECK_EQ_UINT(thread->syscall_fd, fd);
	CHECK(thread->wchan[0] != '\0' || access("/proc/self/wchan", R_OK) < 0);
}

static _noreturn_ void read_one_after_the_other(int first, int second)
{
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)syscall(SYS_recvfrom, first, &byte, 1, 0, NULL, NULL);
	(void)syscall(SYS_recvfrom, second, &byte, 1, 0, NULL, NULL);
	_exit(0);
}

TEST(what_a_thread_waits_for)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct sockaddr_in to, unused;
	int first = bound_socket(&to), second = bound_socket(&unused);
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid == 0)
		read_one_after_the_other(first, second);
	REQUIRE(wait_until_in(pid, SYS_recvfrom, first));
	for (unsigned i = 0; i < 3; i++)
		look(snapshot, pid, SYS_recvfrom, first);
	REQUIRE(sendto(second, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1);
	REQUIRE(wait_until_in(pid, SYS_recvfrom, second));
	for (unsigned i = 0; i < 2; i++)
		look(snapshot, pid, SYS_recvfrom, second);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}
