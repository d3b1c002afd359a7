/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page knows about a scene: what it is, its diagnosis, findings, figures. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "serve/serve.h"
#include "store/input.h"
#include "view/format.h"
#include "view/json.h"

#define BODY_MAX   ((size_t)64 << 20)
#define VALUES_MAX 2000
#define LAST_NS    (600 * NSEC_PER_SEC) /* of the live host, where no span is asked for */

/* --- about --- */

static void add_recordings(struct buf *out, const struct serve *serve)
{
	buf_add_text(out, ",\"recordings\":[");
	vec_each(&serve->recordings, at) {
		const struct scene *scene = *at;

		buf_add_format(out, "%s{\"id\":%u", scene->id ? "," : "", scene->id);
		serve_add_text(out, "name", scene->name);
		serve_add_text(out, "host", scene->host);
		buf_add_format(out, ",\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 ",\"complete\":%s", scene->begin_ns,
			       scene->end_ns, scene->complete ? "true" : "false");
		serve_add_text(out, "error", scene->why.text[0] ? scene->why.text : NULL);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ']');
}

static void add_unseen(struct buf *out, const struct findings *findings)
{
	buf_add_text(out, ",\"not_seen\":[");
	vec_each(&findings->unseen, unseen) {
		buf_add_text(out, unseen == findings->unseen.items ? "{" : ",{");
		serve_add_text(out, "what", unseen->what);
		serve_add_text(out, "why", unseen->why);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ']');
}

static void answer_about(struct http_request *request)
{
	const struct serve *serve = serve_of(request);
	const struct scene *scene = serve->is_live ? &serve->live : serve->recordings.items[0];
	struct buf body = BUF_INIT(BODY_MAX);

	buf_add_char(&body, '{');
	serve_add_text(&body, "version", NEST_VERSION);
	serve_add_text(&body, "host", scene->host);
	buf_add_format(&body, ",\"live\":%s,\"start_ns\":%" PRIu64 ",\"now_ns\":%" PRIu64,
		       serve->is_live ? "true" : "false", serve->start_ns, clock_real_ns());
	add_recordings(&body, serve);
	add_unseen(&body, &scene->findings);
	buf_add_char(&body, '}');
	http_answer(request, 200, NULL, &body);
}

static const struct http_route about_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/about",
	.summary = "what is shown: the live host or recordings, and what could not be seen",
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
	.handle = answer_diagnosis,
};
HTTP_ROUTE(diagnosis_route);

/* --- findings --- */

/* A finding from its beginning to its end, as the page has it. */
struct found_record {
	uint64_t begin_ns;
	uint64_t end_ns;
	const char *cause;
	const char *layer;
	const char *module;
	double certainty;
	double peak;
	uint8_t severity;
	const char *because;
	const char *advice;
	const char *netns_name;
};

static const struct field found_fields[] = {
	FIELD(struct found_record, begin_ns, TIME, "when it was first reported"),
	FIELD(struct found_record, end_ns, TIME, "when it was last seen; unknown while it is active"),
	FIELD(struct found_record, cause, TEXT, "cause"),
	FIELD(struct found_record, layer, TEXT, "layer of the culprit"),
	FIELD(struct found_record, module, TEXT, "culprit"),
	FIELD(struct found_record, certainty, RATIO, "certainty, last"),
	FIELD(struct found_record, peak, RATIO, "highest certainty"),
	FIELD(struct found_record, because, TEXT, "the sentence"),
	FIELD(struct found_record, advice, TEXT, "what to do"),
	FIELD(struct found_record, netns_name, TEXT, "network namespace"),
};
static const struct record_type found_type = {.name = "found",
					      .fields = found_fields,
					      .field_count = ARRAY_SIZE(found_fields),
					      .size = sizeof(struct found_record)};

/* Fields that the finding has as well: severity and the commands to run next. */
static void add_field(struct buf *out, const struct finding_record *finding, const char *name)
{
	struct shape shape = SHAPE_OF(&finding_type);
	struct field_ref ref;
	struct value value;

	if (shape_find(&shape, name, &ref) < 0)
		return;
	value = value_get(ref.field, finding);
	buf_add_format(out, ",\"%s\":", name);
	json_add_value(out, ref.field, &value);
}

static void add_finding(struct buf *out, const struct finding_entry *entry)
{
	struct found_record found = {.begin_ns = entry->span.begin_ns,
				     .end_ns = entry->span.end_ns,
				     .cause = entry->finding.cause,
				     .layer = entry->finding.layer,
				     .module = entry->finding.module,
				     .certainty = entry->finding.certainty,
				     .peak = entry->span.peak,
				     .because = entry->finding.because,
				     .advice = entry->finding.advice,
				     .netns_name = entry->span.netns_name};

	json_add_object(out, &found_type, &found);
	out->len -= out->len > 0;
	add_field(out, &entry->finding, "severity");
	add_field(out, &entry->finding, "next");
	buf_add_char(out, '}');
}

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
		add_finding(&body, *at);
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
	.handle = answer_findings,
};
HTTP_ROUTE(findings_route);

/* --- measures --- */

static void add_real(struct buf *out, double value)
{
	char text[40];

	if (isfinite(value))
		buf_add(out, text, (size_t)(format_put_real(text, value) - text));
	else
		buf_add_text(out, "null");
}

static void add_figure(struct buf *out, const struct figure *figure, bool first)
{
	buf_add_text(out, first ? "{" : ",{");
	serve_add_text(out, "name", figure->name);
	serve_add_text(out, "title", figure->title);
	serve_add_text(out, "unit", figure->unit);
}

static void list_measures(struct http_request *request, const struct figure_history *figures)
{
	struct buf body = BUF_INIT(BODY_MAX);

	buf_add_text(&body, "{\"measures\":[");
	for (unsigned i = 0; i < figures->count; i++) {
		add_figure(&body, figures->figures[i], i == 0);
		serve_add_text(&body, "help", figures->figures[i]->help);
		buf_add_char(&body, '}');
	}
	buf_add_text(&body, "]}");
	http_answer(request, 200, NULL, &body);
}

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

static void add_series(struct buf *out, const struct figure_history *figures, unsigned index,
		       const struct measure_span *span)
{
	_cleanup_free_ double *values = xrealloc_array(NULL, span->count + 1, sizeof(*values));

	figure_history_read(figures, index, span->from_ns, span->step_ns, values, span->count);
	add_figure(out, figures->figures[index], out->data[out->len - 1] == '[');
	buf_add_text(out, ",\"values\":[");
	for (size_t i = 0; i < span->count; i++) {
		buf_add_text(out, i ? "," : "");
		add_real(out, values[i]);
	}
	buf_add_text(out, "]}");
}

static void answer_measures(struct http_request *request)
{
	const char *names = http_request_text(request, "names");
	_cleanup_free_ char *list = names ? xstrdup(names) : NULL;
	struct scene *scene = serve_scene(request);
	struct buf body = BUF_INIT(BODY_MAX);
	struct measure_span span;
	char *rest = list, *name;

	if (!scene)
		return;
	if (!names) {
		list_measures(request, &scene->figures);
		return;
	}
	if (!choose_span(request, scene, &span))
		return;
	buf_add_format(&body, "{\"step_ns\":%" PRIu64 ",\"from_ns\":%" PRIu64 ",\"series\":[", span.step_ns,
		       span.from_ns);
	while ((name = strsep(&rest, ","))) {
		int index = figure_history_find(&scene->figures, name);

		if (index < 0) {
			buf_done(&body);
			http_refuse(request, 400, "names: there is no measure '%.60s' (/api/v1/measures lists them)",
				    name);
			return;
		}
		add_series(&body, &scene->figures, (unsigned)index, &span);
	}
	buf_add_text(&body, "]}");
	http_answer(request, 200, NULL, &body);
}

static const struct http_param measure_params[] = {
	{"names", HTTP_NAMES, "the measures; without it: a list of all"},
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
	.handle = answer_measures,
};
HTTP_ROUTE(measures_route);
