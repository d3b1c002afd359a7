/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/text.h"
#include "flow/analyse/profile.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/run.h"

const struct option_spec split_option_table[] = {
	OPTION(struct split_options, by, CHOICE, "by", 0, "WHAT", "what a session is (default connection)",
	       .choices = demux_by_names),
	OPTION(struct split_options, at, TEXT, "at", 0, "EXPR",
	       "start a session at each call for which this is true (function, module, caller, after, depth, tid, "
	       "comm, arg0 ... arg3)"),
	OPTION(struct split_options, key, TEXT, "key", 0, "FIELD",
	       "with --at: calls with the same value of this field (arg0, tid ...) are one session"),
	OPTION_END,
};

bool flow_view_is_trace(const char *path)
{
	uint32_t magic = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == FLOW_MAGIC;

	closep(&fd);
	return is;
}

int flow_view_open(const char *path, const struct split_options *options, struct flow_trace **ret_trace,
		   struct flow_sessions **ret_sessions)
{
	struct demux_options split = {.by = options->by, .signature = options->at, .key = options->key};
	struct why why = {};

	if (flow_trace_open(path, ret_trace, &why) < 0)
		return command_fail(EXIT_IO, "flow: %s", why.text);
	if (flow_sessions_new(*ret_trace, &split, ret_sessions, &why) < 0)
		return command_fail(EXIT_USAGE, "flow: %s", why.text);
	return EXIT_DONE;
}

void flow_view_coarsen(struct coarsen *coarsen, const struct coarsen_options *options, struct flow_sessions *sessions)
{
	coarsen_init(coarsen, options, sessions);
	if (coarsen_is_empty(coarsen))
		log_warn("no function matches --only (nest flow info TRACE --functions lists them)");
}

int flow_view_choose(const struct flow_sessions *sessions, const char *what, uint8_t *ret_group_of, struct why *why)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape = SHAPE_OF(&flow_session_type);
	uint64_t number;
	size_t count = 0;
	int r;

	if (parse_u64(what, 0, UINT64_MAX, &number) == 0) {
		for (size_t i = 0; i < sessions->list.count; i++)
			ret_group_of[i] = i + 1 == number ? 0 : PROFILE_GROUPS;
		return number && number <= sessions->list.count
			       ? 0
			       : why_set(why, -ENODATA, "no session %s (of %zu)", what, sessions->list.count);
	}
	r = expr_parse(what, &shape, &expr, why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sessions->list.count; i++) {
		struct flow_session session = flow_session_at(sessions, i);

		ret_group_of[i] = expr_matches(expr, &RECORD_OF(&session)) ? 0 : PROFILE_GROUPS;
		count += ret_group_of[i] == 0;
		spill_trim_at(i);
	}
	return count ? 0 : why_set(why, -ENODATA, "no session matches (of %zu)", sessions->list.count);
}

void flow_view_report_none(const struct flow_sessions *sessions)
{
	if (sessions->list.count)
		return;
	if (sessions->demux->by == DEMUX_SIGNATURE && sessions->rest_calls)
		log_info("calls match --at, but none has the field of --key (nest flow record --args records "
			 "arguments)");
	else if (sessions->demux->by == DEMUX_SIGNATURE)
		log_info("no call matches --at (nest flow info TRACE --functions lists the functions)");
	else
		log_info("the trace has no connections: split it with --by thread or --at EXPR");
}

void flow_view_say_summary(const struct flow_trace *trace)
{
	if (trace->summarised)
		log_info("summarised trace: each session stands for all of its kind (nest flow sessions shows the "
			 "count), with average times");
}

void flow_view_close(const struct flow_trace *trace)
{
	run_report_account(trace->events, trace->lost, trace->damaged_bytes ? "part of the file is damaged" : NULL);
	if (trace->cut)
		log_info("%llu call%s in no tree: beyond the limit of the summary", (unsigned long long)trace->cut,
			 text_plural(trace->cut));
}
