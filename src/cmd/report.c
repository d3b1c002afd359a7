/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest report: the incident page of a recording. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/out.h"
#include "base/parse.h"
#include "fleet/fleet_report.h"
#include "report/capture.h"
#include "report/report.h"
#include "report/report_journeys.h"
#include "run/command_confine.h"
#include "run/recorders.h"
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
	struct fleet_options fleet;
	const char *host;
	uint64_t last_ns;
};

static const struct option_spec options[] = {
	OPTION(struct config, from, TEXT, "from", 0, "TIME", "start here (02:13; +10s: after the start)"),
	OPTION(struct config, to, TEXT, "to", 0, "TIME", "end here (-1m: before the end)"),
	OPTION(struct config, before, TEXT, "before", 0, "TIME", "with --after: compare the time up to this"),
	OPTION(struct config, after, TEXT, "after", 0, "TIME", "with --before: compare with the time from this on"),
	OPTION(struct config, compare, TEXT, "compare", 0, "FILE2", "compare FILE with this recording",
	       .file = FILE_READ),
	OPTION(struct config, html, TEXT, "html", 0, "OUT", "write a self-contained page with plots",
	       .file = FILE_WRITE),
	OPTION(struct config, json, FLAG, "json", 'j', NULL, "print one JSON object"),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file instead of standard output",
	       .file = FILE_WRITE),
	OPTION_GROUP(struct config, fleet, fleet_option_table),
	OPTION(struct config, host, TEXT, "host", 0, "NAME", "with --fleet: limit to this host, with its findings"),
	OPTION(struct config, last_ns, SECONDS, "last", 0, "TIME", "limit to the last TIME (of the fleet: default 1h)"),
	POSITIONAL(struct config, file, TEXT, "FILE",
		   "the recording, or a capture file (pcap, pcapng); default: that of a running nest agent or nest "
		   "record",
		   .file = FILE_INPUT),
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
static int make(const struct input_options *input, struct report **ret_report, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct time_range range;
	int r;

	if (capture_recognize(input->file))
		return make_of_capture(input, ret_report, why);
	r = input_open(input, &recording, &range, why);
	return r == 0 ? report_make(recording, &range, ret_report, why) : r;
}

static int check_config(const struct config *config)
{
	if (!config->file && !config->fleet.url)
		return command_fail(EXIT_USAGE, "report: FILE is missing, and no nest agent or nest record that may be "
						"read runs here: nest report FILE, or --fleet URL");
	if (config->host && !config->fleet.url)
		return command_fail(EXIT_USAGE, "report: --host needs --fleet");
	if (config->last_ns && (config->to || config->before || config->compare))
		return command_fail(EXIT_USAGE, "report: --last excludes --to, --before and --compare");
	if ((config->before || config->after) && (!config->before || !config->after || config->compare))
		return command_fail(EXIT_USAGE, "report: --before and --after need each other and exclude --compare");
	return EXIT_DONE;
}

/* The report, and the one that it is compared with or NULL. */
static int make_both(const struct config *config, struct report **ret_report, struct report **ret_before,
		     struct why *why)
{
	struct input_options first = {.file = config->file, .from = config->from, .to = config->to}, second = first;
	int r;

	if (!config->compare && !config->before)
		return make(&first, ret_report, why);
	if (config->compare)
		second.file = config->compare;
	if (config->before) {
		first.to = config->before;
		first.to_option = "--before";
		second.from = config->after;
		second.from_option = "--after";
	}
	r = make(&first, ret_before, why);
	return r == 0 ? make(&second, ret_report, why) : r;
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
		return command_fail(EXIT_IO, "report: cannot write %s: %s", path, new_file_error(r));
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
		log_error("report: cannot write %s: %s", config->output ?: "standard output", new_file_error(r));
	return r < 0 || journeys < 0 ? EXIT_IO : EXIT_DONE;
}

/* --- the fleet --- */

static int write_fleet(const struct config *config, const struct fleet_report *report)
{
	struct out out;
	int r = out_open(&out, config->output);

	if (r == 0) {
		if (config->json)
			fleet_report_print_json(report, &out);
		else
			fleet_report_print(report, &out);
		r = out_done(&out);
	}
	if (r < 0 && r != -EPIPE)
		return command_fail(EXIT_IO, "report: cannot write %s: %s", config->output ?: "standard output",
				    new_file_error(r));
	return EXIT_DONE;
}

/* Rows have no time zone: times need a date. */
static int parse_fleet_span(const struct config *config, struct fleet_span *ret_span)
{
	uint64_t last_ns = config->last_ns ? config->last_ns : 3600 * NSEC_PER_SEC;
	struct fleet_span span = {.to_ns = clock_real_ns(), .host = config->host};

	if (config->to && parse_time_ns(config->to, &span.to_ns) < 0)
		return command_fail(EXIT_USAGE, "report: --to: '%s' is not a time with a date: 2026-11-15T02:13:30",
				    config->to);
	span.from_ns = span.to_ns - min_of(last_ns, span.to_ns);
	if (config->from && parse_time_ns(config->from, &span.from_ns) < 0)
		return command_fail(EXIT_USAGE, "report: --from: '%s' is not a time with a date: 2026-11-15T02:13:30",
				    config->from);
	if (span.from_ns >= span.to_ns)
		return command_fail(EXIT_USAGE, "report: --from is not before --to");
	*ret_span = span;
	return EXIT_DONE;
}

static int report_fleet(const struct config *config)
{
	_cleanup_(fleet_report_freep) struct fleet_report *report = NULL;
	struct fleet_link link = {};
	struct fleet_span span;
	struct why why = {};
	int r;

	if (config->file || config->before || config->after || config->compare || config->html)
		return command_fail(EXIT_USAGE,
				    "report: --fleet allows only --from, --to, --last, --host, --json and -o");
	r = parse_fleet_span(config, &span);
	if (r != EXIT_DONE)
		return r;
	r = fleet_link_open(&config->fleet, &link, &why);
	if (r == 0)
		r = fleet_report_make(&link, &span, &report, &why);
	fleet_link_close(&link);
	if (r < 0)
		return command_fail(r == -EINVAL && !report ? EXIT_USAGE : EXIT_IO, "report: %s", why.text);
	return write_fleet(config, report);
}

/* Of the recorder that runs here where no file is named; --last counts from the end. */
static void complete_config(struct config *config, char **ret_file, char **ret_from)
{
	if (config->fleet.url)
		return;
	if (!config->file)
		config->file = *ret_file = recorders_find();
	if (config->last_ns && !config->from)
		config->from = *ret_from = xasprintf("-%" PRIu64 "ns", config->last_ns);
}

static int make_and_write(const struct config *config)
{
	_cleanup_(report_freep) struct report *report = NULL, *before = NULL;
	struct list changes = {};
	struct why why = {};
	int r, code = check_config(config);

	if (code != EXIT_DONE)
		return code;
	if (config->fleet.url)
		return report_fleet(config);
	r = make_both(config, &report, &before, &why);
	if (r < 0)
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_IO, "report: %s", why.text);
	if (before)
		changes = report_compare(before, report);
	if (config->html)
		return write_page(config->html, report_head(report), before ? &changes : NULL);
	return write_text(config, report_head(report), before ? &changes : NULL);
}

static int run(const void *data)
{
	struct config config = *(const struct config *)data;
	_cleanup_free_ char *file = NULL, *from = NULL;
	struct why why = {};

	if (config.last_ns && config.from)
		return command_fail(EXIT_USAGE, "report: --last excludes --from");
	complete_config(&config, &file, &from);
	if (file) {
		command_confine_note(FILE_READ, file);
		if (command_confine_live(MAY_NOTHING_ELSE, 0, &why) < 0)
			return command_fail(EXIT_CANNOT_OBSERVE, "report: %s", why.text);
	}
	return make_and_write(&config);
}

static const char *const examples[] = {
	"nest report day.nest --from 02:00 --to 02:30",
	"summary of that half hour",
	"nest report day.nest --before 02:10 --after 02:13",
	"what changed between the two",
	"nest report incident.nest --html incident.html",
	"a page with plots",
	"nest report capture.pcapng",
	"connections of a packet capture",
	"nest report --last 30m",
	"the last 30 minutes of this host, from its nest agent",
	"nest report --fleet http://reader:secret@clickhouse:8123/nest --last 1h",
	"which hosts, causes, paths and services, of the whole fleet",
	"nest report --fleet http://reader:secret@clickhouse:8123/nest --host web1 --from 2026-11-15T02:00:00",
	"findings, services and peers of one of its hosts since then",
	NULL,
};

static const struct command report_command = {
	.name = "report",
	.summary = "summary of a recording or capture: findings, talkers, drops",
	.description = "Summarises a recording of nest record or --save: findings over time, top talkers, "
		       "retransmissions, drops, and latencies.\n\nOf a capture file (tcpdump -w, pcap or pcapng): "
		       "connections, retransmissions, RTT, resets and zero windows, and the limits of a "
		       "capture.\n\nWith --fleet, of the rows that agents shipped to ClickHouse: causes, the "
		       "addresses that many hosts accuse, hosts, services, retransmissions, drops.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(report_command);
