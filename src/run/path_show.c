/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "path/draw/waterfall.h"
#include "path/journey/journey_record.h"
#include "run/path_show.h"
#include "view/output.h"

#define SLOWEST_DEFAULT 5
/* So many in a picture, unless the user says otherwise. */
#define SLOWEST_DRAWN 10

static bool draws(const struct path_config *config)
{
	return config->svg || config->html;
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
		return why_set(why, -EINVAL, "--by is for what is added up: --hist");
	if (config->hist && config->slowest && wants_records(&config->common.output))
		return why_set(why, -EINVAL, "as records, either --hist or --slowest");
	if (config->common.children && !config->common.pid)
		return why_set(why, -EINVAL, "--children needs -p");
	if (config->common.pid && config->common.command.argc)
		return why_set(why, -EINVAL, "either -p or a command");
	if (config->common.input.file &&
	    (config->common.save || config->common.command.argc || config->common.children || config->returns ||
	     config->sample || config->stages || config->max_cpu))
		return why_set(why, -EINVAL,
			       "-f goes neither with --save nor with a command, --children, --return, --sample, "
			       "--stages or --max-cpu");
	if (config->common.input.file && config->common.cgroup)
		return why_set(why, -EINVAL,
			       "-C: recorded journeys have the number of their control group: --where "
			       "'cgroup_id == N'");
	return 0;
}

/* What is in it stays until there is something to take its place. */
static int open_path(struct path_file *file, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	file->made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	out_init(&file->out, fd);
	file->out.owns_fd = true;
	return 0;
}

static int open_file(struct path_file *file, const char *path, struct why *why)
{
	int r = 0;

	if (path)
		r = strcmp(path, "-") == 0 ? out_open(&file->out, path) : open_path(file, path);
	if (r < 0)
		return why_set(why, r == -EINVAL ? -EIO : r, "cannot write %s: %s", path, strerror(-r));
	file->path = path;
	return 0;
}

/* Now there is: what is in it goes. */
static bool begin_file(struct path_file *file)
{
	if (!file->path)
		return false;
	/* A pipe has nothing in it. */
	if (file->out.owns_fd && ftruncate(file->out.fd, 0) < 0 && errno != EINVAL && !file->out.error)
		file->out.error = -errno;
	file->written = true;
	return true;
}

static int open_files(struct path_show *show, struct why *why)
{
	int r = open_file(&show->svg, show->config->svg, why);

	if (r == 0)
		r = open_file(&show->html, show->config->html, why);
	return r == 0 ? open_file(&show->trace_file, show->config->trace, why) : r;
}

static int close_file(struct path_file *file)
{
	int r = file->path ? out_done(&file->out) : 0;

	if (file->path && file->made && !file->written)
		(void)unlink(file->path);
	file->path = NULL;
	return r;
}

int path_show_init(struct path_show *show, const struct path_config *config, struct why *why)
{
	int r;

	*show = (struct path_show){.config = config, .heat = HEAT_INIT(PATH_LAYERS)};
	choose(show);
	r = summary_init(&show->summary, &config->by, why);
	return r == 0 ? check(config, why) : r;
}

int path_show_open(struct path_show *show, struct why *why)
{
	const struct path_config *config = show->config;
	struct output_options output = config->common.output;
	struct shape shape;
	int r = open_files(show, why);

	if (r < 0)
		return r;
	if (!show->as_they_come && !show->with_slowest && !show->with_summary)
		return 0;
	if (!wants_records(&output)) {
		r = out_open(&show->text, output.file);
		show->has_text = r == 0;
		return r < 0 ? why_set(why, r, "cannot write %s: %s", output.file, strerror(-r)) : 0;
	}
	/* The filter has been at work before a journey gets here. */
	output.where = NULL;
	shape = config->hist ? summary_shape(&show->summary) : *journey_record_shape();
	return output_open(&output, &shape, &show->output, why);
}

int path_show_keep(struct path_show *show, struct store *store)
{
	show->store = store;
	return journey_keeper_open(&show->keeper, store);
}

static void put_record(struct path_show *show, const struct journey *journey)
{
	struct journey_record record;

	journey_record_fill(&record, journey);
	(void)output_record(show->output, &record.record);
}

void path_show_journey(void *context, const struct journey *journey)
{
	struct path_show *show = context;

	show->first_ns = show->journeys ? min_of(show->first_ns, journey->time_ns) : journey->time_ns;
	show->last_ns = max_of(show->last_ns, journey->time_ns);
	show->journeys++;
	if (show->store && show->kept == 0)
		show->kept = journey_keep(&show->keeper, journey);
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
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

static void put_rows(struct path_show *show)
{
	vec_each(&show->summary.groups, group) {
		struct stage_rows rows;

		summary_rows(*group, &(struct stage_look){.utf8 = true}, &rows);
		vec_each(&rows.rows, row)
			(void)output_record(show->output, &(struct record){.parts = {(*group)->key, row}});
		stage_rows_done(&rows);
	}
}

/* Nothing was seen: why that may be, and what to do. */
static void print_nothing(struct path_show *show)
{
	_cleanup_buf_ struct buf words = BUF_INIT(4096);
	const struct trace_options *common = &show->config->common;

	if (common->input.file && show->followed == 0)
		buf_add_text(&words, "there are no journeys in the recording, or none at that time");
	else if (show->followed)
		buf_add_format(&words, "no journey was seen that was asked for: %" PRIu64 " %s, %s", show->followed,
			       common->input.file ? "are recorded" : "packets were followed",
			       common->command.argc ? "none of the command" : "the filter let none through");
	else if (show->narrowed)
		buf_add_text(&words, "no journey was seen: no packet came or went that was asked for; without the "
				     "filter there may be some");
	else
		buf_add_text(&words, "no journey was seen: no packet came or went. Let it run longer (-d 60, or until "
				     "Ctrl-C) while there is traffic, or run what makes it: nest path -- COMMAND");
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
		       "all of these waited longest for the peer's acknowledgement: that is the path and the peer, not "
		       "this host (--rx: only what arrives)",
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
	int r = close_file(file);

	return r < 0 ? why_set(why, r, "cannot write %s: %s", path, strerror(-r)) : 0;
}

static int write_files(struct path_show *show, const char *note, struct why *why)
{
	struct path_picture picture = {.slowest = &show->slowest,
				       .summary = &show->summary,
				       .heat = &show->heat,
				       .note = note,
				       .journeys = show->journeys};
	int r;

	if (begin_file(&show->svg))
		picture_write_svg(&picture, &show->svg.out);
	if (begin_file(&show->html))
		picture_write_page(&picture, &show->html.out);
	if (begin_file(&show->trace_file))
		trace_events_write(&show->trace, &show->trace_file.out);
	r = finish_file(&show->svg, why);
	if (r == 0)
		r = finish_file(&show->html, why);
	return r == 0 ? finish_file(&show->trace_file, why) : r;
}

int path_show_end(struct path_show *show, const char *note, struct why *why)
{
	bool records = wants_records(&show->config->common.output);

	summary_sort(&show->summary);
	if (records && show->with_summary)
		put_rows(show);
	else if (records && show->with_slowest)
		vec_each(&show->slowest.journeys, journey)
			put_record(show, journey);
	else if (show->has_text)
		print_text(show);
	if (show->trace.left_out)
		log_warn("path: %" PRIu64 " journeys are not in %s: it holds the first %d", show->trace.left_out,
			 show->config->trace, TRACE_JOURNEYS_MAX);
	return write_files(show, note, why);
}

int path_show_flush(struct path_show *show)
{
	return show->output ? output_flush(show->output) : show->has_text ? out_flush(&show->text) : 0;
}

void path_show_drop(struct path_show *show)
{
	if (show->output)
		output_drop(show->output);
}

int path_show_close(struct path_show *show)
{
	int r = show->output ? output_close(show->output) : show->has_text ? out_done(&show->text) : 0;

	(void)close_file(&show->svg);
	(void)close_file(&show->html);
	(void)close_file(&show->trace_file);
	slowest_done(&show->slowest);
	summary_done(&show->summary);
	heat_done(&show->heat);
	trace_events_done(&show->trace);
	return r;
}
