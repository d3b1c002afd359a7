/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest snapshot: marks a moment in the recordings that are going on. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/parse.h"
#include "run/command.h"

struct config {
	uint64_t pid;
};

static const struct option_spec options[] = {
	OPTION(struct config, pid, UINT, "pid", 'p', "PID", "only this recorder", .min = 1, .max = INT32_MAX),
	OPTION_END,
};

static int read_proc(uint64_t pid, const char *name, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid, name);
	buf_clear(text);
	return buf_read_file(text, path);
}

/* A process that does not wait for the signal would die of it. */
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

/* nest record, or with options before its name none of ours. */
static bool is_recorder(uint64_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	const char *name, *word;

	if (read_proc(pid, "cmdline", &text) < 0 || text.len == 0)
		return false;
	word = text.data + strlen(text.data) + 1;
	name = strrchr(text.data, '/');
	name = name ? name + 1 : text.data;
	return strcmp(name, "nest") == 0 && word < text.data + text.len && strcmp(word, "record") == 0;
}

/* By a descriptor: the number may belong to somebody else by now. */
static int mark(uint64_t pid)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd < 0)
		return -errno;
	if (!is_recorder(pid) || !waits_for_signal(pid))
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0) < 0 ? -errno : 0;
}

static int mark_all(unsigned *ret_marked)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		uint64_t pid;
		int r;

		if (parse_decimal(entry->d_name, 1, INT32_MAX, &pid) < 0 || !is_recorder(pid))
			continue;
		r = mark(pid);
		if (r == 0)
			(*ret_marked)++;
		else if (r != -ESRCH)
			error = r;
	}
	(void)closedir(proc);
	return error;
}

static int run(const void *data)
{
	const struct config *config = data;
	unsigned marked = 0;
	int r;

	if (config->pid) {
		r = mark(config->pid);
		marked = r == 0;
	} else {
		r = mark_all(&marked);
	}
	if (r < 0 && r != -ESRCH)
		return command_fail(EXIT_CANNOT_OBSERVE, "snapshot: cannot reach a recorder: %s", strerror(-r));
	if (marked == 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "snapshot: nobody is recording (nest record -o FILE)");
	log_info("marked this moment in %u recording%s", marked, marked == 1 ? "" : "s");
	return EXIT_DONE;
}

static const struct command snapshot_command = {
	.name = "snapshot",
	.summary = "mark this moment in the recordings that are going on",
	.description = "The mark is a row of the recording's table mark, and a line in nest report. Where a recorder "
		       "keeps the time "
		       "around findings only (--on-finding), the time around the mark is kept, too.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(snapshot_command);
