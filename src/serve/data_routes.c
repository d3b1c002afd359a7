/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page knows about a scene: what it is, its diagnosis, findings, figures. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "record/bare.h"
#include "serve/serve.h"
#include "store/input.h"
#include "view/json.h"

#define BODY_MAX   ((size_t)64 << 20)
#define VALUES_MAX 2000
#define SERIES_MAX 256
#define LAST_NS    (600 * NSEC_PER_SEC) /* of the live host, where no span is asked for */

/* --- about --- */

struct about_recording {
	uint32_t id;
	const char *name;
	const char *host;
	uint64_t from_ns;
	uint64_t to_ns;
	bool samples;
	bool complete;
	const char *error;
	struct list tables;
};

static const struct field about_recording_fields[] = {
	FIELD(struct about_recording, id, ID, "number, for the parameter recording"),
	FIELD(struct about_recording, name, TEXT, "file name"),
	FIELD(struct about_recording, host, TEXT, "recorded host"),
	FIELD(struct about_recording, from_ns, TIME, "first sample, or start of the recording"),
	FIELD(struct about_recording, to_ns, TIME, "last sample or event"),
	FIELD(struct about_recording, samples, BOOL, "whether it has samples of the host: diagnosis, figures, tables"),
	FIELD(struct about_recording, complete, BOOL, "whether it has been read to its end"),
	FIELD(struct about_recording, error, TEXT, "why it cannot be read further"),
	FIELD(struct about_recording, tables, LIST, "tables of the file", .element = &bare_text_type),
};
static RECORD_TYPE(about_recording_type, "serve.recording", struct about_recording, about_recording_fields,
		   "a recording that is shown");

struct about_trace {
	uint32_t id;
	const char *name;
};

static const struct field about_trace_fields[] = {
	FIELD(struct about_trace, id, ID, "number, for the parameter trace"),
	FIELD(struct about_trace, name, TEXT, "file name"),
};
static RECORD_TYPE(about_trace_type, "serve.trace", struct about_trace, about_trace_fields,
		   "a function trace that is shown");

static const struct field about_unseen_fields[] = {
	FIELD(struct unseen, what, TEXT, "what was not looked at"),
	FIELD(struct unseen, why, TEXT, "why"),
};
static RECORD_TYPE(about_unseen_type, "serve.unseen", struct unseen, about_unseen_fields, "what could not be seen");

struct about {
	const char *version;
	const char *host;
	const char *netns;
	bool live;
	bool saves;
	const char *fleet;
	uint64_t start_ns;
	uint64_t now_ns;
	struct list recordings;
	struct list traces;
	struct list not_seen;
};

static const struct field about_fields[] = {
	FIELD(struct about, version, TEXT, "version of nest"),
	FIELD(struct about, host, TEXT, "host that is shown; of function traces alone: unknown"),
	FIELD(struct about, netns, TEXT, "network namespace of the live host, as -N names it; unknown: its own"),
	FIELD(struct about, live, BOOL, "whether the live host is shown"),
	FIELD(struct about, saves, BOOL, "whether tools can be saved as recordings (--save-in)"),
	FIELD(struct about, fleet, TEXT, "ClickHouse database of the fleet that is shown (--fleet); unknown: none"),
	FIELD(struct about, start_ns, TIME, "start of the server"),
	FIELD(struct about, now_ns, TIME, "time of the server"),
	FIELD(struct about, recordings, LIST, "recordings", .element = &about_recording_type),
	FIELD(struct about, traces, LIST, "function traces", .element = &about_trace_type),
	FIELD(struct about, not_seen, LIST, "what could not be seen", .element = &about_unseen_type),
};
static RECORD_TYPE(about_type, "serve.about", struct about, about_fields, "what a server shows");

static struct about_recording about_scene(const struct scene *scene, bare_texts *tables)
{
	size_t count = recording_table_count(scene->recording);

	for (size_t i = 0; i < count; i++)
		vec_push(tables, recording_table(scene->recording, i)->name);
	return (struct about_recording){.id = scene->id,
					.name = scene->name,
					.host = scene->host,
					.from_ns = scene->begin_ns,
					.to_ns = scene->end_ns,
					.samples = scene->has_samples,
					.complete = scene->complete,
					.error = scene->why.text,
					.tables = BARE_LIST(tables)};
}

/* Parts of the answer, which are lists. */
struct about_parts {
	VEC(struct about_recording) recordings;
	VEC(struct about_trace) traces;
	VEC(bare_texts) tables;
};

static void collect_about(const struct serve *serve, struct about_parts *parts)
{
	vec_each(&serve->recordings, scene) {
		bare_texts tables = {};

		vec_push(&parts->recordings, about_scene(*scene, &tables));
		vec_push(&parts->tables, tables);
	}
	for (size_t i = 0; i < serve->traces.count; i++)
		vec_push(&parts->traces, (struct about_trace){(uint32_t)i, serve_file_name(serve->traces.items[i])});
}

static void about_parts_done(struct about_parts *parts)
{
	vec_each(&parts->tables, tables)
		vec_done(tables);
	vec_done(&parts->tables);
	vec_done(&parts->recordings);
	vec_done(&parts->traces);
}

static void answer_about(struct http_request *request)
{
	const struct serve *serve = serve_of(request);
	const struct scene *scene = serve->is_live            ? &serve->live
				    : serve->recordings.count ? serve->recordings.items[0]
							      : NULL;
	_cleanup_(about_parts_done) struct about_parts parts = {};
	struct about about = {.version = NEST_VERSION,
			      .host = scene ? scene->host : NULL,
			      .netns = serve->is_live ? serve->options->live.netns : NULL,
			      .live = serve->is_live,
			      .saves = serve->is_live && serve->options->save_in,
			      .fleet = serve->fleet,
			      .start_ns = serve->start_ns,
			      .now_ns = clock_real_ns(),
			      .not_seen = {"", 0}};
	struct buf body = BUF_INIT(BODY_MAX);

	collect_about(serve, &parts);
	about.recordings = BARE_LIST(&parts.recordings);
	about.traces = BARE_LIST(&parts.traces);
	if (scene)
		about.not_seen = BARE_LIST(&scene->findings.unseen);
	json_add_object(&body, &about_type, &about);
	http_answer(request, 200, NULL, &body);
}

static const struct http_route about_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/about",
	.summary = "what is shown: the live host, recordings or function traces, and what could not be seen",
	.answer = "serve.about",
	.handle = answer_about,
};
HTTP_ROUTE(about_route);

/* --- diagnosis --- */

static void answer_diagnosis(struct http_request *request)
{
	struct scene *scene = serve_scene(request);
	struct buf body = BUF_INIT(BODY_MAX);
	const struct scene_verdict *verdict;
	struct why why = {};
	uint64_t at_ns;
	int r;

	if (!scene || !serve_time(request, scene, "at", scene->end_ns, &at_ns))
		return;
	if (scene->path) {
		r = scene_diagnose(scene, at_ns, &body, &why);
		if (r < 0) {
			buf_done(&body);
			http_refuse(request, r == -ENODATA || r == -ENOENT ? 404 : 500, "%s", why.text);
			return;
		}
	} else {
		verdict = scene_verdict(scene);
		if (!verdict) {
			http_refuse(request, 404, "no diagnosis yet: the first one needs 3 s");
			return;
		}
		buf_add(&body, verdict->json.data, verdict->json.len);
	}
	http_answer(request, 200, NULL, &body);
}

static const struct http_param at_params[] = {
	{"at", HTTP_NS, "recordings: at this time (default: the end)"},
	SERVE_SCENE_PARAMS,
	{},
};

static const struct http_route diagnosis_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/diagnosis",
	.summary = "the latest diagnosis; 404 before the first one",
	.params = at_params,
	.answer = "diagnosis",
	.handle = answer_diagnosis,
};
HTTP_ROUTE(diagnosis_route);

/* --- findings --- */

/* A finding from beginning to end, with its evidence. */
static const struct shape found_shape = {.count = 2, .types = {&finding_span_type, &finding_type}};

static void answer_findings(struct http_request *request)
{
	struct scene *scene = serve_scene(request);
	struct buf body = BUF_INIT(BODY_MAX);
	uint64_t from_ns, to_ns, total = 0;

	if (!scene || !serve_time(request, scene, "from", 0, &from_ns) ||
	    !serve_time(request, scene, "to", UINT64_MAX, &to_ns))
		return;
	buf_add_text(&body, "{\"rows\":[");
	vec_each(&scene->findings.entries, at) {
		const struct finding_span *span = &(*at)->span;

		if (span->begin_ns > to_ns || (span->end_ns != UINT64_MAX && span->end_ns < from_ns))
			continue;
		buf_add_text(&body, total++ ? "," : "");
		json_add_record(&body, &found_shape, &(struct record){.parts = {span, &(*at)->finding}});
	}
	buf_add_format(&body, "],\"total\":%" PRIu64 ",\"complete\":%s}", total,
		       !scene->path || scene->complete ? "true" : "false");
	http_answer(request, 200, NULL, &body);
}

static const struct http_param span_params[] = {
	{"from", HTTP_NS, "from this time on"},
	{"to", HTTP_NS, "up to this time"},
	SERVE_SCENE_PARAMS,
	{},
};

static const struct http_route findings_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/findings",
	.summary = "findings from beginning to end; complete: false while a recording is still being read",
	.params = span_params,
	.answer = "finding_span,finding",
	.rows = true,
	.handle = answer_findings,
};
HTTP_ROUTE(findings_route);

/* --- measures --- */

/* A figure over time, or only what it is. */
struct measure_series {
	const char *name;
	const char *title;
	const char *unit;
	const char *help;
	struct list values;
};

struct measure_value {
	double value;
};

static const struct field measure_value_fields[] = {FIELD(struct measure_value, value, RATIO, "value")};
static const struct record_type measure_value_type = {.name = "value",
						      .help = "a value",
						      .fields = measure_value_fields,
						      .field_count = 1,
						      .size = sizeof(struct measure_value),
						      .bare = true};

static const struct field series_fields[] = {
	FIELD(struct measure_series, name, TEXT, "name, for the parameter names"),
	FIELD(struct measure_series, title, TEXT, "what it is"),
	FIELD(struct measure_series, unit, TEXT, "unit of the values"),
	FIELD(struct measure_series, help, TEXT, "how it is made"),
	FIELD(struct measure_series, values, LIST, "values; not in the list of all measures",
	      .element = &measure_value_type),
};
static RECORD_TYPE(measure_series_type, "serve.series", struct measure_series, series_fields, "a figure of the host");

struct measures {
	uint64_t from_ns;
	uint64_t step_ns;
	struct list measures;
	struct list series;
};

static const struct field measures_fields[] = {
	FIELD(struct measures, from_ns, TIME, "time of the first values", .zero_is_unknown = true),
	FIELD(struct measures, step_ns, DURATION, "distance of two values", .zero_is_unknown = true),
	FIELD(struct measures, measures, LIST, "all measures, where none was named", .element = &measure_series_type),
	FIELD(struct measures, series, LIST, "the measures that were named", .element = &measure_series_type),
};
static RECORD_TYPE(measures_type, "serve.measures", struct measures, measures_fields, "figures of the host over time");

static struct measure_series series_of(const struct figure *figure)
{
	return (struct measure_series){
		.name = figure->name, .title = figure->title, .unit = figure->unit, .help = figure->help};
}

static void list_measures(struct http_request *request, const struct figure_history *figures)
{
	_cleanup_free_ struct measure_series *all = xzalloc((figures->count + 1) * sizeof(*all));
	struct measures answer = {.measures = {all, figures->count}};
	struct buf body = BUF_INIT(BODY_MAX);

	for (unsigned i = 0; i < figures->count; i++)
		all[i] = series_of(figures->figures[i]);
	json_add_object(&body, &measures_type, &answer);
	http_answer(request, 200, NULL, &body);
}

typedef VEC(struct measure_series) series_list;

struct measure_span {
	uint64_t from_ns, step_ns;
	size_t count;
};

/* The span that was asked for, in at most VALUES_MAX steps. */
static bool choose_span(struct http_request *request, const struct scene *scene, struct measure_span *span)
{
	uint64_t to_ns = scene->path ? scene->end_ns : clock_real_ns(), from_ns, step_ns, most;

	if (!serve_time(request, scene, "to", to_ns, &to_ns))
		return false;
	from_ns = scene->path ? scene->begin_ns : max_of(serve_of(request)->start_ns, to_ns - min_of(to_ns, LAST_NS));
	if (!serve_time(request, scene, "from", min_of(from_ns, to_ns), &from_ns))
		return false;
	if (from_ns > to_ns) {
		http_refuse(request, 400, "from is after to");
		return false;
	}
	most = to_ns - from_ns;
	step_ns = http_request_number(request, "step", 0);
	step_ns = max_of(max_of(step_ns, scene->figures.spacing_ns), most / VALUES_MAX + 1);
	*span = (struct measure_span){from_ns, step_ns, (size_t)(most / step_ns) + 1};
	span->count = min_of(span->count, (size_t)VALUES_MAX);
	return true;
}

static void add_series(const struct figure_history *figures, unsigned index, const struct measure_span *span,
		       series_list *list)
{
	struct measure_series series = series_of(figures->figures[index]);
	double *values = xrealloc_array(NULL, span->count + 1, sizeof(*values));

	figure_history_read(figures, index, span->from_ns, span->step_ns, values, span->count);
	series.values = (struct list){values, (uint32_t)span->count};
	vec_push(list, series);
}

/* The measures that are named, with their values; false: refused. */
static bool read_series(struct http_request *request, const struct figure_history *figures,
			const struct measure_span *span, series_list *list)
{
	_cleanup_free_ char *names = xstrdup(http_request_text(request, "names"));
	bool all = strcmp(names, "all") == 0;
	char *rest = names, *name;

	for (unsigned i = 0; all && i < figures->count; i++)
		add_series(figures, i, span, list);
	while (!all && (name = strsep(&rest, ","))) {
		int index = figure_history_find(figures, name);

		if (index < 0 || list->count >= SERIES_MAX) {
			http_refuse(request, 400,
				    index < 0 ? "names: there is no measure '%.60s' (/api/v1/measures lists them)"
					      : "names: more measures than there are, at '%.60s'",
				    name);
			return false;
		}
		add_series(figures, (unsigned)index, span, list);
	}
	return true;
}

static void answer_measures(struct http_request *request)
{
	struct scene *scene = serve_scene(request);
	struct buf body = BUF_INIT(BODY_MAX);
	struct measures answer = {};
	struct measure_span span;
	series_list list = {};

	if (!scene)
		return;
	if (!http_request_text(request, "names")) {
		list_measures(request, &scene->figures);
		return;
	}
	if (!choose_span(request, scene, &span))
		return;
	if (read_series(request, &scene->figures, &span, &list)) {
		answer = (struct measures){
			.from_ns = span.from_ns, .step_ns = span.step_ns, .series = {list.items, (uint32_t)list.count}};
		json_add_object(&body, &measures_type, &answer);
		http_answer(request, 200, NULL, &body);
	}
	vec_each(&list, series)
		free((void *)series->values.items);
	vec_done(&list);
}

static const struct http_param measure_params[] = {
	{"names", HTTP_NAMES, "the measures, or all; without it: a list of them"},
	{"from", HTTP_NS, "from this time on (default: the last 10 minutes, or all of a recording)"},
	{"to", HTTP_NS, "up to this time"},
	{"step", HTTP_SPAN, "interval between two values; at most 2,000 are sent"},
	SERVE_SCENE_PARAMS,
	{},
};

static const struct http_route measures_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/measures",
	.summary = "figures of the whole host over time",
	.params = measure_params,
	.answer = "serve.measures",
	.handle = answer_measures,
};
HTTP_ROUTE(measures_route);
