/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "path/draw/waterfall.h"
#include "path/journey/journey_record.h"
#include "run/path_show.h"

#define SLOWEST_DEFAULT 5
/* Journeys in a picture, unless --slowest is given. */
#define SLOWEST_DRAWN 10

static bool draws(const struct path_config *config)
{
	return config->svg || config->html || config->data;
}

/* Records for programs: JSON and the like, or columns that the user chose. */
static bool wants_records(const struct output_options *output)
{
	return output->json || output->csv || output->format || output->show.count;
}

static void choose(struct path_show *show)
{
	const struct path_config *config = show->config;
	bool records = wants_records(&config->common.output), files = draws(config) || config->trace;

	show->as_they_come = records && !config->hist && !config->slowest;
	show->with_slowest = config->slowest || (!config->hist && !records && !files);
	show->with_summary = config->hist || (!config->slowest && !records && !files);
	if (show->with_slowest)
		show->slowest.limit = config->slowest ?: SLOWEST_DEFAULT;
	else if (draws(config))
		show->slowest.limit = SLOWEST_DRAWN;
}

static int check(const struct path_config *config, struct why *why)
{
	if (config->by.count && !config->hist && !draws(config) &&
	    (config->slowest || wants_records(&config->common.output)))
		return why_set(why, -EINVAL, "--by needs --hist");
	if (config->hist && config->slowest && wants_records(&config->common.output))
		return why_set(why, -EINVAL, "only one of --hist and --slowest with --json, --csv, --format or --show");
	if (config->common.input.file && (config->returns || config->sample || config->stages || config->max_cpu))
		return why_set(why, -EINVAL,
			       "-f excludes --save, a command, --children, --return, --sample, --stages and --max-cpu");
	if (config->common.input.file && config->common.cgroup)
		return why_set(why, -EINVAL,
			       "-C: recorded journeys carry only the cgroup id: --where 'cgroup_id == N'");
	return 0;
}

static int open_file(struct path_file *file, const char *path, struct why *why)
{
	int r = path ? out_open(&file->out, path) : 0;

	if (r < 0)
		return why_set(why, -EIO, "cannot write %s: %s", path, new_file_error(r));
	file->path = path;
	return 0;
}

static int open_files(struct path_show *show, struct why *why)
{
	int r = open_file(&show->svg, show->config->svg, why);

	if (r == 0)
		r = open_file(&show->html, show->config->html, why);
	if (r == 0)
		r = open_file(&show->data, show->config->data, why);
	return r == 0 ? open_file(&show->trace_file, show->config->trace, why) : r;
}

/* The run did not finish: the file stays as it was. */
static void drop_file(struct path_file *file)
{
	if (file->path)
		out_drop(&file->out);
	file->path = NULL;
}

/* Opened before tracing starts: a file that cannot be written must not show after an hour. */
static int open_all(struct path_show *show, struct run *run)
{
	const struct path_config *config = show->config;
	struct output_options output = config->common.output;
	struct shape shape;
	int r = open_files(show, &run->why);

	if (r < 0)
		return r;
	if (!show->as_they_come && !show->with_slowest && !show->with_summary)
		return 0;
	if (!wants_records(&output))
		return run_open_out(run, &show->sink, &show->text, output.file);
	/* The filter has been at work before a journey gets here. */
	output.where = NULL;
	shape = config->hist ? summary_shape(&show->summary) : *journey_record_shape();
	return output_open(&output, &shape, &show->sink.output, &run->why);
}

static int prepare(struct run_sink *sink, struct run *run)
{
	struct path_show *show = (struct path_show *)sink;
	int r = summary_init(&show->summary, &show->config->by, &run->why);

	if (r == 0)
		r = check(show->config, &run->why);
	return r == 0 ? open_all(show, run) : -EINVAL;
}

static void put_record(struct path_show *show, const struct journey *journey)
{
	struct journey_record record;

	journey_record_fill(&record, journey);
	(void)output_record(show->sink.output, &record.record);
}

static int take_journey(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct path_show *show = (struct path_show *)sink;
	const struct journey *journey = item;

	show->first_ns = show->journeys ? min_of(show->first_ns, journey->time_ns) : journey->time_ns;
	show->last_ns = max_of(show->last_ns, journey->time_ns);
	show->journeys++;
	if (show->as_they_come)
		put_record(show, journey);
	if (show->slowest.limit)
		slowest_add(&show->slowest, journey);
	if (show->with_summary || draws(show->config))
		summary_add(&show->summary, journey);
	if (draws(show->config))
		path_heat_add(&show->heat, journey);
	if (show->config->trace)
		trace_events_add(&show->trace, journey);
	return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void put_rows(struct path_show *show)
{
	vec_each(&show->summary.groups, group) {
		struct stage_rows rows;

		summary_rows(*group, &(struct stage_look){.utf8 = true}, &rows);
		vec_each(&rows.rows, row)
			(void)output_record(show->sink.output, &(struct record){.parts = {(*group)->key, row}});
		stage_rows_done(&rows);
	}
}

/* Nothing was seen: why that may be, and what to do. */
static void print_nothing(struct path_show *show)
{
	_cleanup_buf_ struct buf words = BUF_INIT(4096);
	const struct trace_options *common = &show->config->common;
	uint64_t followed = run_journeys_followed(show->source);

	if (common->input.file && followed == 0)
		buf_add_text(&words, "no journeys in the recording, or none in that time range");
	else if (followed)
		buf_add_format(&words, "no journey matched: %" PRIu64 " %s, %s", followed,
			       common->input.file ? "are recorded" : "packets were followed",
			       common->command.argc ? "none of the command" : "the filter let none through");
	else if (run_journeys_narrowed(show->source))
		buf_add_text(&words, "no journey seen: no packet matched the filter; try without it");
	else
		buf_add_text(&words, "no journey seen: no packets. Run longer (-d 60, or until Ctrl-C) while there is "
				     "traffic, or generate it: nest path -- COMMAND");
	out_add_folded(&show->text, buf_text(&words), 0, "   ");
	out_end_line(&show->text);
}

/* Of a host that mostly sends, all of the slowest may wait for others. */
static bool all_wait_for_peers(const struct path_show *show)
{
	vec_each(&show->slowest.journeys, journey) {
		const struct journey_stage *widest = journey_widest(journey);

		if (!widest || widest->stage != PATH_ACK)
			return false;
	}
	return show->slowest.journeys.count > 0;
}

static void print_waterfalls(struct path_show *show)
{
	struct out *out = &show->text;

	vec_each(&show->slowest.journeys, journey) {
		if (journey > show->slowest.journeys.items)
			out_end_line(out);
		waterfall_print(journey, out);
	}
	if (show->config->tx || !all_wait_for_peers(show))
		return;
	out_end_line(out);
	out_add_folded(out,
		       "all of these waited longest for the ACK of the peer: that is the path and the peer, not this "
		       "host (--rx: received packets only)",
		       0, "   ");
	out_end_line(out);
}

static void print_text(struct path_show *show)
{
	struct out *out = &show->text;

	if (show->journeys == 0) {
		print_nothing(show);
		return;
	}
	if (show->with_slowest)
		print_waterfalls(show);
	if (show->with_slowest && show->with_summary)
		out_end_line(out);
	if (show->with_summary)
		summary_print(&show->summary, out);
}

static int finish_file(struct path_file *file, struct why *why)
{
	const char *path = file->path;
	int r = path ? out_done(&file->out) : 0;

	file->path = NULL;
	/* A pipe whose reader has seen enough is no fault. */
	return r < 0 && r != -EPIPE ? why_set(why, r, "cannot write %s: %s", path, new_file_error(r)) : 0;
}

static void add_moment(struct buf *out, const char *format, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm local;
	char text[64];

	if (localtime_r(&seconds, &local) && strftime(text, sizeof(text), format, &local))
		buf_add_text(out, text);
}

/* What was looked at, when and how. */
static void add_note(const struct path_show *show, struct buf *note)
{
	buf_add_format(note, "%" PRIu64 " journey%s", show->journeys, show->journeys == 1 ? "" : "s");
	if (show->journeys) {
		add_moment(note, " from %Y-%m-%d %H:%M:%S", show->first_ns);
		add_moment(note, " to %H:%M:%S %z", show->last_ns);
	}
	run_journeys_add_note(show->source, note);
}

/* note: lives as long as the picture. */
static struct path_picture make_picture(struct path_show *show, struct buf *note)
{
	summary_sort(&show->summary);
	add_note(show, note);
	return (struct path_picture){.slowest = &show->slowest,
				     .summary = &show->summary,
				     .heat = &show->heat,
				     .journeys = show->journeys,
				     .note = buf_text(note)};
}

/* Everything so far, for whoever follows the run; also at its end. */
static void on_interval(struct run_sink *sink, struct run *run, uint64_t now_ns _unused_)
{
	struct path_show *show = (struct path_show *)sink;
	_cleanup_buf_ struct buf note = BUF_INIT(65536);
	struct path_picture picture;

	if (!show->data.path)
		return;
	picture = make_picture(show, &note);
	picture_write_json(&picture, &show->data.out);
	if (out_flush(&show->data.out) == -EPIPE)
		run_stop(run, 0);
}

static int write_files(struct path_show *show, struct why *why)
{
	_cleanup_buf_ struct buf note = BUF_INIT(65536);
	struct path_picture picture = make_picture(show, &note);
	int r;

	if (show->svg.path)
		picture_write_svg(&picture, &show->svg.out);
	if (show->html.path)
		picture_write_page(&picture, &show->html.out);
	if (show->trace_file.path)
		trace_events_write(&show->trace, &show->trace_file.out);
	r = finish_file(&show->svg, why);
	if (r == 0)
		r = finish_file(&show->html, why);
	if (r == 0)
		r = finish_file(&show->data, why);
	return r == 0 ? finish_file(&show->trace_file, why) : r;
}

static int end(struct run_sink *sink, struct run *run)
{
	struct path_show *show = (struct path_show *)sink;
	bool records = wants_records(&show->config->common.output);

	summary_sort(&show->summary);
	if (records && show->with_summary)
		put_rows(show);
	else if (records && show->with_slowest)
		vec_each(&show->slowest.journeys, journey)
			put_record(show, journey);
	else if (show->sink.out)
		print_text(show);
	if (show->trace.left_out)
		log_warn("path: %s holds the first %d journeys, %" PRIu64 " more were seen", show->config->trace,
			 TRACE_JOURNEYS_MAX, show->trace.left_out);
	return write_files(show, &run->why);
}

static void close_show(struct run_sink *sink)
{
	struct path_show *show = (struct path_show *)sink;

	drop_file(&show->svg);
	drop_file(&show->html);
	drop_file(&show->data);
	drop_file(&show->trace_file);
	slowest_done(&show->slowest);
	summary_done(&show->summary);
	heat_done(&show->heat);
	trace_events_done(&show->trace);
}

static const struct run_sink_ops show_ops = {
	.prepare = prepare, .take = take_journey, .interval = on_interval, .end = end, .close = close_show};

void path_show_init(struct path_show *show, struct run_journeys *journeys)
{
	*show = (struct path_show){.sink = {.ops = &show_ops},
				   .source = journeys,
				   .config = journeys->config,
				   .heat = HEAT_INIT(PATH_LAYERS)};
	choose(show);
	if (show->config->data && !show->config->common.input.file)
		journeys->run->options.interval_ns = NSEC_PER_SEC;
	journeys->progress = isatty(STDERR_FILENO) == 1 && !show->as_they_come;
	run_add_sink(journeys->run, &journeys->source, &show->sink);
}
