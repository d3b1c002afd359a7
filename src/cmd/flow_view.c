/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "cmd/command.h"
#include "cmd/flow_view.h"

const struct option_spec split_option_table[] = {
	OPTION(struct split_options, by, CHOICE, "by", 0, "WHAT",
	       "what a session is: connection (default), request or thread", .choices = demux_by_names),
	OPTION(struct split_options, at, TEXT, "at", 0, "EXPR",
	       "a session begins at each call for which this holds (function, module, caller, after, depth, tid, comm, "
	       "arg0 ... arg3)"),
	OPTION(struct split_options, key, TEXT, "key", 0, "FIELD",
	       "with --at: calls with the same value of this field (arg0, tid ...) are one session"),
	OPTION_END,
};

int flow_view_open(const char *path, struct flow_trace **ret_trace)
{
	struct why why = {};

	if (flow_trace_open(path, ret_trace, &why) < 0) {
		log_error("flow: %s", why.text);
		return EXIT_IO;
	}
	return EXIT_DONE;
}

int flow_view_split(const struct split_options *options, const struct flow_trace *trace,
		    struct flow_sessions **ret_sessions)
{
	struct why why = {};

	if (flow_sessions_new(trace,
			      &(struct demux_options){.by = options->by, .signature = options->at, .key = options->key},
			      ret_sessions, &why) < 0) {
		log_error("flow: %s", why.text);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

void flow_view_close(const struct flow_trace *trace)
{
	log_info("%llu events, %llu lost%s", (unsigned long long)trace->events, (unsigned long long)trace->lost,
		 trace->damaged_bytes ? "; part of the file is damaged" : "");
}
