/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds a socket, found in both ways, for sockets of this very process. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "snapshot/socket/owner.h"
#include "unit.h"

/* More than a hundred, so that numbers get longer on the way; and one behind a hole. */
#define SOCKETS 130
#define FAR     777
#define MANY    12000

struct held {
	int fds[SOCKETS + 1];
	uint32_t inodes[SOCKETS + 1];
};

static uint32_t inode_of(int fd)
{
	struct stat stat;

	REQUIRE(fstat(fd, &stat) == 0);
	return (uint32_t)stat.st_ino;
}

static void hold_sockets(struct held *held)
{
	for (unsigned i = 0; i < SOCKETS; i++) {
		held->fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		REQUIRE(held->fds[i] >= 0);
	}
	held->fds[SOCKETS] = fcntl(held->fds[0], F_DUPFD_CLOEXEC, FAR);
	REQUIRE(held->fds[SOCKETS] == FAR);
	for (unsigned i = 0; i <= SOCKETS; i++)
		held->inodes[i] = inode_of(held->fds[i]);
	/* A hole among the first ones, too. */
	REQUIRE(close(held->fds[3]) == 0);
	held->fds[3] = -1;
}

/* How many of the list's records are this process's. */
static unsigned count_own(const struct owner_list *list)
{
	unsigned count = 0;

	vec_each(list, owner)
		count += owner->pid == (uint32_t)getpid();
	return count;
}

static bool has(const struct owner_list *list, int fd, uint32_t inode)
{
	vec_each(list, owner)
		if (owner->pid == (uint32_t)getpid() && owner->fd == (uint32_t)fd)
			return owner->inode == inode;
	return false;
}

static void check_held(const struct owner_list *list, const struct held *held)
{
	unsigned missing = 0;

	for (unsigned i = 0; i <= SOCKETS; i++)
		missing += held->fds[i] >= 0 && !has(list, held->fds[i], held->inodes[i]);
	CHECK_EQ_UINT(missing, 0);
	/* The one that was closed is counted in SOCKETS; the other descriptor of the first one is the one beyond. */
	CHECK_EQ_UINT(count_own(list), SOCKETS);
}

TEST(proc_finds_every_descriptor)
{
	struct owner_list list = {};
	struct owner_walk walk = {};
	struct held held;
	struct why why;

	hold_sockets(&held);
	REQUIRE(owner_walk_begin(&walk, &why) == 0);
	CHECK(walk.pids.count > 1);
	owner_scan_proc(&walk, &list);
	check_held(&list, &held);
	/* Nothing is left for a second one. */
	list.count = 0;
	owner_scan_proc(&walk, &list);
	CHECK_EQ_UINT(list.count, 0);
	vec_done(&list);
	vec_done(&walk.pids);
}

/* A socket's name in a file system has an inode number, too, and it is another kind of number. */
TEST(proc_passes_names_of_sockets_over)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct owner_list list = {};
	struct owner_walk walk = {};
	struct stat stat;
	struct why why;
	int socket_fd, path_fd;

	snprintf(name.sun_path, sizeof(name.sun_path), "/tmp/nest-test-%d.sock", (int)getpid());
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(socket_fd >= 0 && bind(socket_fd, (struct sockaddr *)&name, sizeof(name)) == 0);
	path_fd = open(name.sun_path, O_PATH | O_CLOEXEC);
	(void)unlink(name.sun_path);
	REQUIRE(path_fd >= 0 && fstat(path_fd, &stat) == 0);
	CHECK(S_ISSOCK(stat.st_mode));
	REQUIRE(owner_walk_begin(&walk, &why) == 0);
	owner_scan_proc(&walk, &list);
	CHECK(has(&list, socket_fd, inode_of(socket_fd)));
	CHECK_EQ_UINT(count_own(&list), 1);
	vec_done(&list);
	vec_done(&walk.pids);
}

TEST(bpf_finds_the_same)
{
	struct owner_bpf *bpf = NULL;
	struct owner_list list = {};
	struct held held;
	struct why why = {};
	int r;

	hold_sockets(&held);
	r = owner_bpf_open(&bpf, &why);
	if (r == -EPERM)
		SKIP("%s", why.text);
	REQUIRE(r == 0);
	for (unsigned round = 0; round < 2; round++) {
		list.count = 0;
		CHECK_OK(owner_scan_bpf(bpf, &list, &why));
		check_held(&list, &held);
	}
	owner_bpf_close(bpf);
	vec_done(&list);
}

/* Descriptors of this process that are no sockets. */
static unsigned count_others(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < MANY; fd++) {
		struct stat stat;

		count += fstat(fd, &stat) < 0 || !S_ISSOCK(stat.st_mode);
	}
	return count;
}

/* So many that the walk has to go on where it stopped, in the middle of a process. */
TEST(tables_of_descriptors_say_the_same)
{
	const struct rlimit limit = {MANY, MANY};
	struct owner_files *files = NULL;
	struct owner_list list = {};
	struct held held;
	struct why why = {};
	int r;

	hold_sockets(&held);
	r = owner_files_open(&files, &why);
	if (r == -EPERM || r == -ENOENT)
		SKIP("%s", why.text);
	REQUIRE(r == 0);
	/* One is held for the walk itself. */
	REQUIRE(close(held.fds[5]) == 0);
	held.fds[5] = -1;
	CHECK_OK(owner_scan_files(files, &list, &why));
	check_held(&list, &held);
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		SKIP("cannot hold many descriptors: %s", strerror(errno));
	while (dup(held.fds[0]) >= 0)
		;
	list.count = 0;
	r = owner_scan_files(files, &list, &why);
	/* Others come and go meanwhile. */
	for (unsigned i = 0; r == -EAGAIN && i < 10; i++) {
		list.count = 0;
		r = owner_scan_files(files, &list, &why);
	}
	CHECK_OK(r);
	CHECK_EQ_UINT(count_own(&list), MANY - count_others());
	owner_files_close(files);
	vec_done(&list);
}
