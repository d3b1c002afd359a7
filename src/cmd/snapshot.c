/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest snapshot: marks a moment in the running recordings. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/parse.h"
#include "run/command.h"
#include "run/recorders.h"

struct config {
	uint64_t pid;
};

static const struct option_spec options[] = {
	OPTION(struct config, pid, UINT, "pid", 'p', "PID", "limit to the recorder with this pid", .min = 1,
	       .max = INT32_MAX),
	OPTION_END,
};

static int read_proc(uint64_t pid, const char *name, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid, name);
	buf_clear(text);
	return buf_read_file(text, path);
}

/* The signal would kill a process that does not handle it. */
static bool waits_for_signal(uint64_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 10);
	_cleanup_free_ char *number = NULL;
	const char *line;
	uint64_t blocked;

	if (read_proc(pid, "status", &text) < 0)
		return false;
	line = strstr(buf_text(&text), "\nSigBlk:\t");
	if (!line)
		return false;
	number = xasprintf("0x%.16s", line + strlen("\nSigBlk:\t"));
	return parse_u64(number, 0, UINT64_MAX, &blocked) == 0 && (blocked >> (SIGUSR2 - 1) & 1);
}

/* By pidfd: the pid may have been reused. */
static int mark(uint64_t pid)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd < 0)
		return -errno;
	if (!recorders_has(pid) || !waits_for_signal(pid))
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0) < 0 ? -errno : 0;
}

struct marks {
	unsigned marked;
	int error;
};

/* A recorder that cannot be signalled does not stop the others. */
static int mark_one(uint64_t pid, void *context)
{
	struct marks *marks = context;
	int r = mark(pid);

	marks->marked += r == 0;
	if (r < 0 && r != -ESRCH)
		marks->error = r;
	return 0;
}

static int run(const void *data)
{
	const struct config *config = data;
	struct marks marks = {};
	int r = config->pid ? mark_one(config->pid, &marks) : recorders_each(mark_one, &marks);

	r = r < 0 ? r : marks.error;
	if (r < 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "snapshot: cannot mark a recorder: %s%s", strerror(-r),
				    r == -EPERM ? " (of another user: run as that user or as root)" : "");
	if (marks.marked == 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "snapshot: no recording is running (nest record -o FILE)");
	log_info("marked this moment in %u recording%s", marks.marked, marks.marked == 1 ? "" : "s");
	return EXIT_DONE;
}

static const struct command snapshot_command = {
	.name = "snapshot",
	.summary = "mark in all running recordings",
	.description = "The mark is a row of the table mark, and a line of nest report. A recorder with --on-finding "
		       "also keeps the time around the mark.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(snapshot_command);
