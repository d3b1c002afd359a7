/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/lull.h"
#include "store/replay.h"
#include "view/json.h"

#define DIAGNOSIS_MAX ((size_t)64 << 20)
/* Read before a moment that is diagnosed: the windows of a diagnosis, and what they are compared with. */
#define BEFORE_NS (UINT64_C(6200) * 1000000)
#define STEPS_MAX 10000

void scene_init(struct scene *scene)
{
	*scene = (struct scene){};
	findings_init(&scene->findings);
	figure_history_init(&scene->figures);
	(void)gethostname(scene->host, sizeof(scene->host) - 1);
}

/* --- what the diagnosis says --- */

static struct scene_verdict *verdict_of(struct scene *scene, uint32_t netns)
{
	struct scene_verdict *verdict;

	vec_each(&scene->verdicts, known)
		if (known->netns == netns)
			return known;
	verdict = vec_add(&scene->verdicts);
	*verdict = (struct scene_verdict){.netns = netns, .json = BUF_INIT(DIAGNOSIS_MAX)};
	return verdict;
}

const struct buf *scene_take_diagnosis(struct scene *scene, const struct diagnosis_record *record)
{
	struct scene_verdict *verdict = verdict_of(scene, (uint32_t)record->netns);
	const struct finding_record *findings = record->findings.items;

	findings_add(&scene->findings, record);
	verdict->end_ns = record->start_ns + record->window_ms * NSEC_PER_MSEC;
	verdict->certainty = record->findings.count ? findings[0].certainty : 0;
	buf_clear(&verdict->json);
	json_add_object(&verdict->json, &diagnosis_type, record);
	return &verdict->json;
}

const struct scene_verdict *scene_verdict(const struct scene *scene)
{
	const struct scene_verdict *best = NULL;
	uint64_t last_ns = 0;

	vec_each(&scene->verdicts, verdict)
		last_ns = max_of(last_ns, verdict->end_ns);
	vec_each(&scene->verdicts, verdict)
		if (verdict->end_ns + NSEC_PER_SEC / 2 >= last_ns && (!best || verdict->certainty > best->certainty))
			best = verdict;
	return best;
}

/* --- recordings --- */

/* A run inside the server's, with a diagnosis and the figures as its sinks. */
struct scene_reader {
	struct run_sink sink;
	struct run run;
	struct diagnosis_options options;
	struct run_diagnosis diagnosis;
	struct scene *scene; /* whose findings and figures it fills; NULL: only the last diagnosis is wanted */
	struct buf *last;
};

static int take_sample(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct scene_reader *reader = (struct scene_reader *)sink;

	if (reader->scene)
		(void)figure_history_add(&reader->scene->figures, item);
	return 0;
}

static const struct run_sink_ops reader_ops = {.take = take_sample};

static int take_diagnosis(struct run_diagnosis *diagnosis, const struct diagnosis_view *view)
{
	struct scene_reader *reader = diagnosis->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	if (record && reader->scene) {
		(void)scene_take_diagnosis(reader->scene, record);
	} else if (record) {
		buf_clear(reader->last);
		json_add_object(reader->last, &diagnosis_type, record);
	}
	return 0;
}

static struct scene_reader *reader_new(const struct scene *scene, const char *from, const char *to)
{
	struct scene_reader *reader = xzalloc(sizeof(*reader));

	reader->sink.ops = &reader_ops;
	reader->options = *scene->options;
	reader->options.input = (struct input_options){.file = scene->path, .from = from, .to = to};
	reader->options.save = NULL;
	reader->run.options.name = "serve";
	reader->diagnosis = (struct run_diagnosis){.options = &reader->options,
						   .report = take_diagnosis,
						   .endless = true,
						   .lists_unseen = true,
						   .no_past = true,
						   .context = reader};
	run_diagnosis_init(&reader->diagnosis, &reader->run);
	run_add_sink(&reader->run, &reader->diagnosis.snapshots.source, &reader->sink);
	return reader;
}

static void reader_free(struct scene_reader *reader)
{
	if (!reader)
		return;
	run_close_inside(&reader->run);
	free(reader);
}

/* Of the last row of each table that has times: rows are written as they happen. */
static uint64_t last_event_ns(struct recording *recording)
{
	uint64_t last_ns = recording_begin_ns(recording);

	for (size_t i = 0; i < recording_table_count(recording); i++) {
		_cleanup_free_ char *sql = xasprintf("SELECT time_ns FROM \"%s\" ORDER BY rowid DESC LIMIT 1",
						     recording_table(recording, i)->name);
		sqlite3_stmt *statement = NULL;

		/* Most tables of a recording have no such column. */
		if (sqlite3_prepare_v2(recording_db(recording), sql, -1, &statement, NULL) == SQLITE_OK &&
		    sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int64(statement, 0) > 0)
			last_ns = max_of(last_ns, (uint64_t)sqlite3_column_int64(statement, 0));
		(void)sqlite3_finalize(statement);
	}
	return last_ns;
}

int scene_open(struct scene *scene, const char *path, const struct diagnosis_options *options, struct why *why)
{
	struct input_options input = options->input;
	int r;

	input.file = path;
	r = input_open(&input, &scene->recording, &scene->range, why);
	if (r < 0)
		return r;
	scene->path = path;
	scene->name = serve_file_name(path);
	scene->options = options;
	memcpy(scene->host, recording_host(scene->recording)->host, sizeof(scene->host));
	r = samples_bounds(scene->recording, &scene->range, &scene->begin_ns, &scene->end_ns, why);
	if (r == -ENODATA && !options->input.from && !options->input.to) {
		scene->begin_ns = recording_begin_ns(scene->recording);
		scene->end_ns = last_event_ns(scene->recording);
		scene->complete = true;
		return 0;
	}
	if (r < 0)
		return r;
	scene->has_samples = true;
	scene->reader = reader_new(scene, options->input.from, options->input.to);
	scene->reader->scene = scene;
	r = run_open_inside(&scene->reader->run);
	return r < 0 ? why_set(why, r, "%s: %s", scene->name, scene->reader->run.why.text) : 0;
}

void scene_read(struct scene *scene, uint64_t budget_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + budget_ns;
	struct run *run = &scene->reader->run;

	while (!scene->complete && clock_monotonic_ns() < end_ns) {
		if (run_next_ns(run) == UINT64_MAX || run->stopped || run_step(run) < 0) {
			scene->complete = true;
			scene->why = run->why;
		}
	}
}

int scene_diagnose(const struct scene *scene, uint64_t at_ns, struct buf *out, struct why *why)
{
	uint64_t from_ns = max_of(at_ns > BEFORE_NS ? at_ns - BEFORE_NS : 0, scene->range.from_ns);
	struct scene_reader *reader;
	char from[24], to[24];
	int r;

	if (!scene->has_samples)
		return why_set(why, -ENODATA, "the recording has no samples of the host (nest record makes them)");
	snprintf(from, sizeof(from), "%llu", (unsigned long long)from_ns);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)at_ns);
	reader = reader_new(scene, from, to);
	reader->last = out;
	r = run_open_inside(&reader->run);
	for (unsigned i = 0; r == 0 && i < STEPS_MAX && run_next_ns(&reader->run) != UINT64_MAX; i++)
		r = reader->run.stopped ? reader->run.result : run_step(&reader->run);
	if (r < 0)
		(void)why_set(why, r, "%s", reader->run.why.text);
	reader_free(reader);
	if (r < 0)
		return r;
	return out->len ? 0 : why_set(why, -ENODATA, "nothing to diagnose yet: a diagnosis needs 3 s of samples");
}

void scene_done(struct scene *scene)
{
	reader_free(scene->reader);
	recording_close(scene->recording);
	findings_done(&scene->findings);
	figure_history_done(&scene->figures);
	vec_each(&scene->verdicts, verdict)
		buf_done(&verdict->json);
	vec_done(&scene->verdicts);
}
