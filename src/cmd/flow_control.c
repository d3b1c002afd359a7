/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow start, nest flow stop: resume and pause a running recording from outside. */
#include <errno.h>

#include "base/buf.h"
#include "flow/record/recorder.h"
#include "flow/trace/live_file.h"
#include "run/command.h"

struct config {
	uint64_t pid;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, pid, UINT, "PID", "a process that is being recorded", .required = true, .min = 1,
		   .max = INT32_MAX),
	OPTION_END,
};

/* The recorder's file is among the mappings of the process: "address perms offset dev inode   path". */
static char *find_live(uint64_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%llu/maps", (unsigned long long)pid);
	_cleanup_buf_ struct buf maps = BUF_INIT((size_t)64 << 20);
	const char *line;

	if (buf_read_file(&maps, path) < 0)
		return NULL;
	for (line = buf_text(&maps); *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "\n"), suffix = strlen(FLOW_LIVE_SUFFIX);
		const char *slash = memchr(line, '/', n);

		if (slash && n > suffix && memcmp(line + n - suffix, FLOW_LIVE_SUFFIX, suffix) == 0)
			return xstrndup(slash, n - (size_t)(slash - line));
	}
	return NULL;
}

static int set_paused(const struct config *config, bool paused)
{
	_cleanup_free_ char *path = find_live(config->pid);
	struct why why = {};

	if (!path)
		return command_fail(EXIT_CANNOT_OBSERVE,
				    "flow %s: process %llu is not being recorded (nest flow record starts it)",
				    paused ? "stop" : "start", (unsigned long long)config->pid);
	if (recorder_set_paused(path, paused, &why) < 0)
		return command_fail(EXIT_IO, "flow %s: %s", paused ? "stop" : "start", why.text);
	return EXIT_DONE;
}

static int run_start(const void *data)
{
	return set_paused(data, false);
}

static int run_stop(const void *data)
{
	return set_paused(data, true);
}

static const struct command start_command = {
	.name = "flow start",
	.summary = "resume a recording stopped by nest flow stop or started with --paused",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run_start,
};
COMMAND(start_command);

static const struct command stop_command = {
	.name = "flow stop",
	.summary = "pause a recording; the program continues",
	.description = "Pauses all processes of the recording at once. The pause is marked in the trace; its events do "
		       "not count as lost.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run_stop,
};
COMMAND(stop_command);
