/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow import: converts traces of other tracers, and text. */
#include <errno.h>

#include "base/buf.h"
#include "base/confine.h"
#include "flow/import/import.h"
#include "run/command.h"
#include "run/run.h"

struct config {
	const char *input;
	const char *output;
	const char *from;
	const char *program;
};

static const struct option_spec options[] = {
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "the trace to write", .file = FILE_WRITE),
	OPTION(struct config, from, TEXT, "from", 0, "FORMAT", "format of the input; default: detected"),
	OPTION(struct config, program, TEXT, "program", 0, "FILE",
	       "the traced program: XRay logs lack function names, LTTng traces only name its path", .file = FILE_READ),
	POSITIONAL(struct config, input, TEXT, "FILE", "the file or directory to read", .required = true,
		   .file = FILE_INPUT),
	OPTION_END,
};

static int run(const void *data)
{
	const struct config *config = data;
	struct import_result result = {.program = config->program};
	_cleanup_free_ char *more = NULL;
	struct why why = {};
	int r;

	if (!config->output)
		return command_fail(EXIT_USAGE, "flow import: -o FILE is missing");
	r = flow_import(config->input, config->from, config->output, &result, &why);
	if (r < 0)
		return command_fail(r == -EINVAL && !result.format ? EXIT_USAGE : EXIT_IO, "flow import: %s", why.text);
	if (result.note[0])
		log_warn("flow import: %s", result.note);
	more = xasprintf("%s read from %s", result.format, config->input);
	run_report_account(result.events, result.lost, more);
	return EXIT_DONE;
}

static const char *const examples[] = {
	"nest flow import trace.txt -o server.trace",
	"a trace written as text",
	"nest flow import xray-log.server.x -o server.trace --program ./server",
	"a log of LLVM XRay, with the names of the program's functions",
	"nest flow import ~/lttng-traces/session-20240917-101500 -o server.trace",
	"a recording of LTTng's function events",
	NULL,
};

static const struct command import_command = {
	.name = "flow import",
	.summary = "traces of other tracers (XRay, LTTng, text), converted",
	.description = "The format is detected, or given by --from. What the input lacks (for most tracers: sockets) "
		       "the trace lacks as well.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
	/* CTF: a process of its own reads the trace; one that was cut off is repaired in a copy. */
	.reader_may = MAY_SIGNAL | MAY_SCRATCH,
};
COMMAND(import_command);
