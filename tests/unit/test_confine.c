/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forbidden calls from inside a confined process; each test is a process of its own. */
#include <fcntl.h>
#include <ftw.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/confine.h"
#include "base/spill.h"
#include "run/command.h"
#include "unit.h"

struct room {
	char in[64], out[64], other[64];
};

static int remove_one(const char *path, const struct stat *info _unused_, int kind _unused_, struct FTW *at _unused_)
{
	return remove(path);
}

/* A confined process cannot remove its files: another one does when it has ended. */
static void remove_later(const char *base)
{
	int ends[2];
	char nothing;
	pid_t pid;

	REQUIRE(pipe(ends) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid > 0) {
		close(ends[0]);
		return;
	}
	/* The group of the test is ended with it. */
	(void)setsid();
	/* What the test prints to must not stay open. */
	(void)dup2(ends[0], STDIN_FILENO);
	(void)close_range(STDOUT_FILENO, ~0U, 0);
	(void)!read(STDIN_FILENO, &nothing, 1);
	_exit(nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0);
}

/* In the temporary directory: it is no exception. */
static struct room make_room(void)
{
	struct room room;
	char base[] = "/tmp/nest-confine-XXXXXX";

	REQUIRE(mkdtemp(base));
	remove_later(base);
	snprintf(room.in, sizeof(room.in), "%s/in", base);
	snprintf(room.out, sizeof(room.out), "%s/out", base);
	snprintf(room.other, sizeof(room.other), "%s/other", base);
	REQUIRE(mkdir(room.in, 0700) == 0 && mkdir(room.out, 0700) == 0 && mkdir(room.other, 0700) == 0);
	return room;
}

static char *write_file(const char *directory, const char *name)
{
	char *path = xasprintf("%s/%s", directory, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0600);

	REQUIRE(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
	return path;
}

/* LeakSanitizer could not look at a process that is confined. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

static void apply(struct confine *confine)
{
	struct why why = {};

	if (!CHECK_OK(confine_apply(confine, &why)))
		printf("# %s\n", why.text);
	confine_done(confine);
}

static void apply_may(unsigned may)
{
	apply(&(struct confine){.may = may});
}

static int open_result(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A line of /proc/self/status, read independently. */
static unsigned long long status_of(const char *name)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);
	const char *at;

	REQUIRE(buf_read_file(&text, "/proc/self/status") == 0);
	at = strstr(buf_text(&text), name);
	REQUIRE(at);
	return strtoull(at + strlen(name) + 1, NULL, strncmp(name, "Cap", 3) == 0 ? 16 : 10);
}

TEST(status_shows_nothing_left)
{
	apply_may(MAY_NOTHING_ELSE);
	CHECK_EQ_UINT(status_of("CapEff:"), 0);
	CHECK_EQ_UINT(status_of("CapPrm:"), 0);
	CHECK_EQ_UINT(status_of("CapInh:"), 0);
	CHECK_EQ_UINT(status_of("CapAmb:"), 0);
	CHECK_EQ_UINT(status_of("NoNewPrivs:"), 1);
	CHECK_EQ_UINT(status_of("Seccomp:"), confine_has_seccomp() ? 2 : 0);
	if (geteuid() == 0)
		CHECK_EQ_UINT(status_of("CapBnd:"), 0);
}

TEST(a_capability_that_is_kept_stays_alone)
{
	if (geteuid() != 0) {
		CHECK(status_of("CapEff:") == 0);
		return;
	}
	apply(&(struct confine){.keep = UINT64_C(1) << 12}); /* CAP_NET_ADMIN */
	CHECK_EQ_UINT(status_of("CapEff:"), 1 << 12);
	CHECK_EQ_UINT(status_of("CapBnd:"), 1 << 12);
}

#define CHECK_REFUSED(call)                                                                                            \
	do {                                                                                                           \
		errno = 0;                                                                                             \
		CHECK((call) < 0);                                                                                     \
		CHECK_EQ_INT(errno, EPERM);                                                                            \
	} while (0)

TEST(forbidden_calls_are_refused)
{
	char *const words[] = {(char *)"true", NULL};
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	char key = 'x';

	apply_may(MAY_NOTHING_ELSE);
	CHECK_REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	CHECK_REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	CHECK_REFUSED(execve("/bin/true", words, words + 1));
	CHECK_REFUSED(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	CHECK_REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL));
	CHECK_REFUSED(unshare(CLONE_NEWUSER));
	CHECK_REFUSED(setns(0, 0));
	CHECK_REFUSED(kill(1, 0));
	CHECK_REFUSED(setuid(1));
	CHECK_REFUSED(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
	CHECK_REFUSED(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)));
	CHECK_REFUSED(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	CHECK_REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	CHECK_REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0));
	CHECK_REFUSED(syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0));
	CHECK_REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	CHECK_REFUSED(ioctl(0, TIOCSTI, &key));
	CHECK_REFUSED(chroot("/"));
}

/* TCGETS2: a C library asks with it since 2.42, and took a terminal for a file when it was refused. */
TEST(a_terminal_is_asked_with_either_request)
{
	const unsigned long requests[] = {TCGETS, 0x802c542a};
	char settings[64];
	int ends[2];

	CHECK(pipe(ends) == 0);
	apply_may(MAY_NOTHING_ELSE);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		CHECK_EQ_INT(ioctl(ends[0], requests[i], settings), -1);
		CHECK_EQ_INT(errno, ENOTTY);
	}
}

TEST(maps_may_be_used_but_not_made)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	union bpf_attr none = {.map_fd = (uint32_t)-1};

	apply_may(MAY_USE_MAPS);
	CHECK_REFUSED(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
	CHECK_REFUSED(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	errno = 0;
	CHECK(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &none, sizeof(none)) < 0);
	/* Kernels before 5.19 refuse every call without CAP_BPF. */
	CHECK(errno == EBADF || errno == EPERM);
	CHECK_REFUSED(socket(AF_INET, SOCK_STREAM, 0));
}

TEST(a_server_has_sockets_of_ip_and_unix_only)
{
	apply_may(MAY_SERVE);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	CHECK_REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	CHECK_REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
}

TEST(an_observer_runs_no_program)
{
	char *const words[] = {(char *)"true", NULL};

	apply_may(MAY_OBSERVE);
	CHECK(socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
	CHECK_REFUSED(execve("/bin/true", words, words + 1));
	CHECK_REFUSED(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	CHECK_REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL));
	CHECK_REFUSED(syscall(SYS_init_module, NULL, 0, ""));
}

TEST(without_write_no_file_is_changed)
{
	struct room room = make_room();
	struct confine confine = {.may = MAY_OBSERVE | MAY_INSPECT};
	char *file = write_file(room.in, "a"), *name = xasprintf("%s/b", room.in);
	char byte;
	int fd;

	apply(&confine);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'x');
	CHECK_OK(open_result(room.in, O_RDONLY | O_DIRECTORY));
	CHECK_ERR(open_result(file, O_WRONLY), -EPERM);
	CHECK_ERR(open_result(file, O_RDWR), -EPERM);
	CHECK_ERR(open_result(file, O_RDONLY | O_TRUNC), -EPERM);
	CHECK_ERR(open_result(name, O_RDONLY | O_CREAT), -EPERM);
	CHECK_ERR(open_result(room.in, O_WRONLY | O_TMPFILE), -EPERM);
	CHECK_REFUSED(unlink(file));
	CHECK_REFUSED(rename(file, name));
	CHECK_REFUSED(mkdir(name, 0700));
	CHECK_REFUSED(chmod(file, 0666));
	CHECK_REFUSED(fchmod(fd, 0666));
	CHECK_REFUSED(truncate(file, 0));
	CHECK_REFUSED(link(file, name));
	CHECK_REFUSED(symlink(file, name));
}

TEST(an_observer_asks_whether_a_process_exists)
{
	apply_may(MAY_OBSERVE);
	CHECK(kill(getpid(), 0) == 0);
	CHECK_REFUSED(kill(getpid(), SIGTERM));
}

/* Landlock would keep the kernel from ending them with this process. */
TEST(helpers_can_be_asked_and_end_with_it)
{
	int ends[2], ready[2], status;
	pid_t parent, pid;
	char byte = 0;

	REQUIRE(pipe(ends) == 0 && pipe(ready) == 0);
	REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	parent = fork();
	if (parent == 0) {
		pid = fork();
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)!write(ready[1], &byte, 1);
			for (;;)
				pause();
		}
		(void)!read(ready[0], &byte, 1);
		(void)!write(ends[1], &pid, sizeof(pid));
		apply_may(MAY_ASK);
		_exit(kill(pid, SIGKILL) == 0);
	}
	REQUIRE(read(ends[0], &pid, sizeof(pid)) == sizeof(pid));
	CHECK(waitpid(parent, &status, 0) == parent && WEXITSTATUS(status) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

TEST(files_are_those_of_the_command)
{
	struct room room = make_room();
	struct confine confine = {.may = MAY_WRITE};
	char *input = write_file(room.in, "a"), *other = write_file(room.other, "b");
	char *output = xasprintf("%s/c", room.out), *stray = xasprintf("%s/d", room.in);

	if (!confine_landlock_version()) {
		CHECK(confine_landlock_version() == 0);
		return;
	}
	confine_add_input(&confine, input);
	confine_add_output(&confine, output);
	apply(&confine);
	CHECK_OK(open_result(input, O_RDONLY));
	CHECK_ERR(open_result(input, O_WRONLY), -EACCES);
	CHECK_ERR(open_result(stray, O_WRONLY | O_CREAT), -EACCES);
	CHECK_OK(open_result(output, O_WRONLY | O_CREAT));
	CHECK_REFUSED(chmod(other, 0666));
	CHECK_REFUSED(fchmodat(AT_FDCWD, other, 0666, 0));
	CHECK_ERR(open_result(other, O_RDONLY), -EACCES);
	CHECK_ERR(open_result(other, O_WRONLY), -EACCES);
	CHECK_ERR(open_result("/etc/passwd", O_RDONLY), -EACCES);
	CHECK_ERR(open_result("/proc/1/status", O_RDONLY), -EACCES);
	CHECK_OK(open_result("/usr/include/stdio.h", O_RDONLY));
	CHECK(unlink(input) < 0 && errno == EACCES);
	CHECK(unlink(output) == 0);
}

TEST(a_table_that_outgrows_memory_needs_no_directory)
{
	struct confine confine = {.may = MAY_WRITE};
	_cleanup_buf_ struct buf maps = BUF_INIT(1 << 20);
	SPILL(uint64_t) rows = {};
	size_t wrong = 0;

	apply(&confine);
	for (size_t i = 0; i < 1000000; i++)
		spill_push(&rows, i);
	/* The file has no name: the kernel says so. */
	REQUIRE(buf_read_file(&maps, "/proc/self/maps") == 0);
	CHECK(strstr(buf_text(&maps), "(deleted)"));
	for (size_t i = 0; i < rows.count; i++)
		wrong += rows.items[i] != i;
	CHECK_EQ_UINT(wrong, 0);
	spill_done(&rows);
	if (confine_landlock_version())
		CHECK_ERR(open_result("/tmp", O_WRONLY | O_TMPFILE), -EACCES);
}

TEST(links_and_logs_of_input_are_followed)
{
	struct room room = make_room();
	struct confine confine = {.may = MAY_WRITE};
	char *target = write_file(room.other, "a"), *link = xasprintf("%s/link", room.in);
	char *recording = write_file(room.in, "r"), *index = xasprintf("%s/r-shm", room.in);

	free(write_file(room.in, "r-wal"));
	REQUIRE(symlink(target, link) == 0);
	confine_add_input(&confine, link);
	confine_add_input(&confine, recording);
	apply(&confine);
	CHECK_OK(open_result(link, O_RDONLY));
	CHECK_OK(open_result(recording, O_RDONLY));
	CHECK_OK(open_result(index, O_RDWR | O_CREAT));
}

TEST(a_file_of_another_user_stays_readable)
{
	struct room room = make_room();
	struct confine confine = {};
	char *input = write_file(room.in, "a");

	if (geteuid() != 0 || chown(input, 65534, 65534) < 0) {
		CHECK(geteuid() != 0);
		return;
	}
	confine_add_input(&confine, input);
	apply(&confine);
	CHECK_OK(open_result(input, O_RDONLY));
	CHECK_EQ_UINT(status_of("CapEff:"), 1 << 2); /* CAP_DAC_READ_SEARCH */
}

TEST(what_is_missing_is_no_error)
{
	struct confine confine = {};

	confine_add_input(&confine, "/nosuch/file");
	confine_add_output(&confine, "/nosuch/file");
	confine_add_input(&confine, "-");
	confine_add_input(&confine, NULL);
	apply(&confine);
	CHECK_ERR(open_result("/nosuch/file", O_RDONLY), -ENOENT);
}

static void *one(void *argument)
{
	*(int *)argument = 1;
	return NULL;
}

TEST(threads_and_processes_go_on)
{
	pthread_t thread;
	int done = 0, status;
	pid_t pid;

	apply_may(MAY_NOTHING_ELSE);
	CHECK_EQ_INT(pthread_create(&thread, NULL, one, &done), 0);
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
	CHECK_EQ_INT(done, 1);
	pid = fork();
	if (pid == 0)
		_exit(socket(AF_INET, SOCK_STREAM, 0) < 0 ? 7 : 8);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ_INT(WEXITSTATUS(status), 7);
}

TEST(it_can_be_applied_twice)
{
	apply_may(MAY_SERVE);
	apply_may(MAY_NOTHING_ELSE);
	CHECK_REFUSED(socket(AF_INET, SOCK_STREAM, 0));
}

static const struct command *looked_at;

static bool check_option(const struct option_spec *spec, void *context _unused_)
{
	static const char *const words[] = {"FILE", "FILE2", "DIR", "TRACE", "RECORDING", "URL"};
	bool names = false;

	for (size_t i = 0; spec->arg && i < ARRAY_SIZE(words); i++)
		names |= strcmp(spec->arg, words[i]) == 0;
	if (names && (spec->kind == OPT_TEXT || spec->kind == OPT_TEXTS) && !CHECK(spec->file != FILE_NONE))
		unit_note("nest %s, %s: .file is missing in the option table", looked_at->name,
			  spec->name ?: spec->arg);
	return true;
}

TEST(every_option_that_names_a_file_says_so)
{
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	commands = command_list_all(&count);
	CHECK(count > 50);
	for (size_t i = 0; i < count; i++) {
		looked_at = commands[i];
		if (looked_at->options)
			option_each(looked_at->options, check_option, NULL);
	}
}
