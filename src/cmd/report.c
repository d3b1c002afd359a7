/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest report: the incident page of a recording. */
#include <errno.h>
#include <string.h>

#include "base/out.h"
#include "base/parse.h"
#include "report/capture.h"
#include "report/report.h"
#include "report/report_journeys.h"
#include "run/command.h"
#include "view/json.h"

struct config {
	const char *file;
	const char *from;
	const char *to;
	const char *before;
	const char *after;
	const char *compare;
	const char *html;
	bool json;
	const char *output;
};

static const struct option_spec options[] = {
	OPTION(struct config, from, TEXT, "from", 0, "TIME", "start here (02:13; +10s: after the start)"),
	OPTION(struct config, to, TEXT, "to", 0, "TIME", "end here (-1m: before the end)"),
	OPTION(struct config, before, TEXT, "before", 0, "TIME", "with --after: compare the time before this"),
	OPTION(struct config, after, TEXT, "after", 0, "TIME", "with the time after this"),
	OPTION(struct config, compare, TEXT, "compare", 0, "FILE2", "compare FILE with this recording"),
	OPTION(struct config, html, TEXT, "html", 0, "OUT", "write a self-contained page with plots"),
	OPTION(struct config, json, FLAG, "json", 'j', NULL, "print one JSON object"),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file instead of standard output"),
	POSITIONAL(struct config, file, TEXT, "FILE", "the recording, or a capture file (pcap, pcapng)",
		   .required = true),
	OPTION_END,
};

/* Times of a capture need a date: the file has neither time zone nor day. */
static int make_of_capture(const struct input_options *input, struct report **ret_report, struct why *why)
{
	struct time_range range = {.to_ns = UINT64_MAX};

	if ((input->from && parse_time_ns(input->from, &range.from_ns) < 0) ||
	    (input->to && parse_time_ns(input->to, &range.to_ns) < 0))
		return why_set(why, -EINVAL, "the time of a capture needs a date: 2026-11-15T02:13:30");
	return capture_report(input->file, &range, ret_report, why);
}

/* A report of a file, or of a part of it. */
static int make(const char *file, const char *from, const char *to, struct report **ret_report, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct input_options input = {.file = file, .from = from, .to = to};
	struct time_range range;
	int r;

	if (capture_recognize(file))
		return make_of_capture(&input, ret_report, why);
	r = input_open(&input, &recording, &range, why);
	return r == 0 ? report_make(recording, &range, ret_report, why) : r;
}

static int check_config(const struct config *config)
{
	if ((config->before || config->after) && (!config->before || !config->after || config->compare))
		return command_fail(EXIT_USAGE, "report: --before and --after go together, and not with --compare");
	return EXIT_DONE;
}

/* The report, and the one that it is compared with or NULL. */
static int make_both(const struct config *config, struct report **ret_report, struct report **ret_before,
		     struct why *why)
{
	int r;

	if (config->compare) {
		r = make(config->file, config->from, config->to, ret_before, why);
		return r == 0 ? make(config->compare, config->from, config->to, ret_report, why) : r;
	}
	if (config->before) {
		r = make(config->file, config->from, config->before, ret_before, why);
		return r == 0 ? make(config->file, config->after, config->to, ret_report, why) : r;
	}
	return make(config->file, config->from, config->to, ret_report, why);
}

static int write_page(const char *path, const struct report_record *record, const struct list *changes)
{
	struct out out;
	int r = out_open(&out, path);

	if (r == 0) {
		report_print_html(record, changes, &out);
		r = out_done(&out);
	}
	if (r < 0)
		return command_fail(EXIT_IO, "report: cannot write %s: %s", path, strerror(-r));
	return EXIT_DONE;
}

/* Of the file that the report is about, in the time that it is about. */
static int print_journeys(const struct config *config, struct out *out)
{
	struct input_options input = {.file = config->compare ? config->compare : config->file,
				      .from = config->after ? config->after : config->from,
				      .to = config->to};
	struct why why = {};
	int r = capture_recognize(input.file) ? 0 : report_journeys_print(&input, out, &why);

	if (r < 0)
		log_error("report: %s", why.text);
	return r;
}

static int write_text(const struct config *config, const struct report_record *record, const struct list *changes)
{
	struct out out;
	int r = out_open(&out, config->output), journeys = 0;

	if (r == 0 && config->json) {
		json_add_object(&out.pending, &report_type, record);
		out_end_line(&out);
	} else if (r == 0) {
		report_print(record, changes, &out);
		journeys = print_journeys(config, &out);
	}
	if (r == 0)
		r = out_done(&out);
	if (r == -EPIPE)
		return EXIT_DONE;
	if (r < 0)
		log_error("report: cannot write %s: %s", config->output ?: "standard output", strerror(-r));
	return r < 0 || journeys < 0 ? EXIT_IO : EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(report_freep) struct report *report = NULL, *before = NULL;
	struct list changes = {};
	struct why why = {};
	int r, code = check_config(config);

	if (code != EXIT_DONE)
		return code;
	r = make_both(config, &report, &before, &why);
	if (r < 0)
		return command_fail(EXIT_IO, "report: %s", why.text);
	if (before)
		changes = report_compare(before, report);
	if (config->html)
		return write_page(config->html, report_head(report), before ? &changes : NULL);
	return write_text(config, report_head(report), before ? &changes : NULL);
}

static const char *const examples[] = {
	"nest report day.nest --from 02:00 --to 02:30",
	"what happened in that half hour",
	"nest report day.nest --before 02:10 --after 02:13",
	"what changed between the two",
	"nest report incident.nest --html incident.html",
	"a page with plots",
	"nest report capture.pcapng",
	"connections of a packet capture",
	NULL,
};

static const struct command report_command = {
	.name = "report",
	.summary = "summary of a recording: findings, talkers, retransmissions, drops, latencies, changes",
	.description = "Summarises a recording of nest record or --save: findings over time, who talked to whom, "
		       "retransmissions, drops, and latencies.\n\nOf a capture file (tcpdump -w, pcap or pcapng): "
		       "connections, retransmissions, RTT, resets and zero windows, and what a capture cannot show.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(report_command);
