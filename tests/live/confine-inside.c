/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into nest by confine.t: when the program writes its first result, tries from inside what it must not be
 * able to do, and reports one line to the file $INSIDE_LOG:
 *
 *	cap=0 nnp=1 seccomp=2 allowed=
 *
 * allowed lists what succeeded, or failed for another reason than a refusal. With $INSIDE_LOOP it does so when it first
 * waits for events; with $INSIDE_SAMPLER the process that samples does, when it writes its first answer. $INSIDE_VICTIM
 * is a file of the same user that is none of its concern, $INSIDE_SHARED one in a temporary directory, $INSIDE_FILE one
 * that it must not create.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_fd = -1, in_sampler, in_loop, done;
static char allowed[1024];

__attribute__((constructor)) static void open_log(void)
{
	const char *path = getenv("INSIDE_LOG");

	if (path)
		log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	in_sampler = getenv("INSIDE_SAMPLER") != NULL;
	in_loop = getenv("INSIDE_LOOP") != NULL;
	/* Programs that it starts are none of ours. */
	unsetenv("LD_PRELOAD");
}

static void note(const char *what, long result)
{
	if (result < 0 && (errno == EPERM || errno == EACCES))
		return;
	snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", allowed[0] ? "," : "", what);
}

static unsigned long long status_of(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 999;
}

static void try_all(void)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_KPROBE};
	char *const words[] = {(char *)"true", NULL};
	const char *file = getenv("INSIDE_FILE") ?: "/etc/nest-confine-test";
	char text[8192] = "", line[2048];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	note("exec", execve("/bin/true", words, words + 1));
	note("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	note("mount", mount("none", "/mnt", "tmpfs", 0, NULL));
	note("module", syscall(SYS_init_module, NULL, 0, ""));
	note("setuid", setuid(1));
	note("unshare", unshare(CLONE_NEWUSER));
	note("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	note("socket", socket(AF_INET, SOCK_STREAM, 0));
	note("packet", socket(AF_PACKET, SOCK_RAW, 0));
	note("setns", setns(-1, 0));
	note("load", syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	note("write", open(file, O_WRONLY | O_CREAT, 0600));
	note("shared", open(getenv("INSIDE_SHARED"), O_WRONLY));
	note("chmod", chmod(getenv("INSIDE_VICTIM"), 0666));
	note("shadow", open("/etc/shadow", O_RDONLY));
	note("kill", kill(1, 0));
	n = snprintf(line, sizeof(line), "cap=%llx nnp=%llu seccomp=%llu allowed=%s\n", status_of(text, "CapEff:", 16),
		     status_of(text, "NoNewPrivs:", 10), status_of(text, "Seccomp:", 10), allowed);
	if (syscall(SYS_write, log_fd, line, (size_t)n) != n)
		abort();
	unlink(file);
}

static int is_sampler(void)
{
	char name[16] = "";

	return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "nest-sampler") == 0;
}

static void try_once(void)
{
	if (log_fd >= 0 && !done) {
		done = 1;
		try_all();
	}
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	if (in_sampler ? is_sampler() : !in_loop && fd == STDOUT_FILENO)
		try_once();
	return syscall(SYS_write, fd, bytes, count);
}

int epoll_wait(int fd, struct epoll_event *events, int room, int wait_ms)
{
	if (in_loop)
		try_once();
	return (int)syscall(SYS_epoll_pwait, fd, events, room, wait_ms, NULL, 8);
}
