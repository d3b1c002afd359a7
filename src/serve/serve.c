/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/parse.h"
#include "base/text.h"
#include "record/expr.h"
#include "run/flow_view.h"
#include "store/input.h"
#include "view/format.h"
#include "view/json.h"

#define RING_SLOTS 64
#define RING_BYTES ((size_t)4 << 20)
#define TOPICS_MAX 64
#define READ_NS    (20 * NSEC_PER_MSEC) /* of recordings, between answers */
#define READ_PAUSE (2 * NSEC_PER_MSEC)
#define FILES_MAX  64

/* --- for the routes --- */

void serve_add_text(struct buf *out, const char *name, const char *text)
{
	char last = out->len ? out->data[out->len - 1] : '{';

	buf_add_format(out, "%s\"%s\":", last == '{' ? "" : ",", name);
	json_add_text(out, text);
}

struct scene *serve_scene(struct http_request *request)
{
	struct serve *serve = serve_of(request);
	bool given = http_request_text(request, "recording") != NULL;
	uint64_t id = http_request_number(request, "recording", 0);

	if (serve->is_live && !given)
		return &serve->live;
	if (id < serve->recordings.count)
		return serve->recordings.items[id];
	http_refuse(request, 404, "there is no such recording (/api/v1/about lists them)");
	return NULL;
}

const char *serve_trace(struct http_request *request, const char *name)
{
	const struct serve *serve = serve_of(request);
	uint64_t id = http_request_number(request, name, 0);

	if (id < serve->traces.count)
		return serve->traces.items[id];
	http_refuse(request, 404,
		    serve->traces.count ? "there is no such trace (/api/v1/about lists them)"
					: "no function trace is shown: nest serve -f TRACE");
	return NULL;
}

const char *serve_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool serve_time(struct http_request *request, const struct scene *scene, const char *name, uint64_t otherwise,
		uint64_t *ret_ns)
{
	const char *text = http_request_text(request, name);
	struct why why = {};
	int r;

	*ret_ns = otherwise;
	if (!text)
		return true;
	r = scene->recording ? input_parse_time(scene->recording, text, ret_ns, &why) : parse_time_ns(text, ret_ns);
	if (r < 0)
		http_refuse(request, 400, "%s: '%.60s' is not a time: nanoseconds since 1970 or 2026-11-15T02:13:30Z",
			    name, text);
	return r == 0;
}

/* --- streams of the diagnosis --- */

static struct serve_topic *add_topic(struct serve *serve, const char *where, struct expr *expr)
{
	struct serve_topic *topic = xzalloc(sizeof(*topic));

	topic->where = where ? xstrdup(where) : NULL;
	topic->expr = expr;
	http_stream_init(&topic->stream, RING_SLOTS, RING_BYTES);
	vec_push(&serve->topics, topic);
	return topic;
}

static void free_topic(struct serve *serve, struct serve_topic *topic)
{
	if (serve->server)
		http_server_forget(serve->server, &topic->stream);
	http_stream_done(&topic->stream);
	expr_free(topic->expr);
	free(topic->where);
	free(topic);
}

/* Unused filters make room. */
static void sweep_topics(struct serve *serve)
{
	for (size_t i = serve->topics.count; i-- > 1;) {
		struct serve_topic *topic = serve->topics.items[i];

		if (topic->stream.readers.count > 0)
			continue;
		serve->topics.items[i] = serve->topics.items[--serve->topics.count];
		free_topic(serve, topic);
	}
}

struct http_stream *serve_diagnosis_stream(struct http_request *request, const char *where)
{
	struct serve *serve = serve_of(request);
	struct shape shape = SHAPE_OF(&diagnosis_type);
	struct expr *expr = NULL;
	struct why why = {};
	size_t at;

	if (!where || !*where)
		return &serve->topics.items[0]->stream;
	vec_each(&serve->topics, topic)
		if ((*topic)->where && strcmp((*topic)->where, where) == 0)
			return &(*topic)->stream;
	if (expr_parse_at(where, &shape, &expr, &at, &why) < 0) {
		http_refuse_expr(request, "where", &why, at);
		return NULL;
	}
	sweep_topics(serve);
	if (serve->topics.count >= TOPICS_MAX) {
		expr_free(expr);
		http_refuse(request, 503, "too many different filters at once");
		return NULL;
	}
	return &add_topic(serve, where, expr)->stream;
}

static void publish_diagnosis(struct serve *serve, const struct diagnosis_record *record, const struct buf *json)
{
	struct record whole = RECORD_OF(record);

	vec_each(&serve->topics, topic)
		if (!(*topic)->expr || expr_matches((*topic)->expr, &whole))
			http_stream_add(&(*topic)->stream, buf_text(json), json->len);
}

/* {"time_ns":N,"values":{"rx":1.5,..}} */
static void publish_measures(struct serve *serve)
{
	const struct figure_history *figures = &serve->live.figures;
	_cleanup_buf_ struct buf json = BUF_INIT(65536);
	size_t last = figures->times_ns.count - 1;
	char text[40];

	buf_add_format(&json, "{\"time_ns\":%" PRIu64 ",\"values\":{", figures->times_ns.items[last]);
	for (unsigned i = 0; i < figures->count; i++) {
		double value = figures->values.items[last * FIGURES_MAX + i];

		buf_add_format(&json, "%s\"%s\":", i ? "," : "", figures->figures[i]->name);
		if (isfinite(value))
			buf_add(&json, text, (size_t)(format_put_real(text, value) - text));
		else
			buf_add_text(&json, "null");
	}
	buf_add_text(&json, "}}");
	http_stream_add(&serve->measures, buf_text(&json), json.len);
}

/* --- the run --- */

static int take_sample(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct serve *serve = (struct serve *)sink;

	if (figure_history_add(&serve->live.figures, item))
		publish_measures(serve);
	return 0;
}

static int take_diagnosis(struct run_diagnosis *diagnosis, const struct diagnosis_view *view)
{
	struct serve *serve = diagnosis->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	const struct serve_guest *guest = serve->options->guest;

	if (record)
		publish_diagnosis(serve, record, scene_take_diagnosis(&serve->live, record));
	return record && guest && guest->diagnosed ? guest->diagnosed(guest->context, view, record) : 0;
}

static void on_second(void *context, uint64_t expirations _unused_)
{
	struct serve *serve = context;

	tool_run_sweep(serve, false);
	saver_sweep(serve);
	serve_tables_forget(serve, false);
}

/* Recordings one after the other, a little at a time. */
static void on_read(void *context, uint64_t expirations _unused_)
{
	struct serve *serve = context;

	vec_each(&serve->recordings, scene)
		if (!(*scene)->complete) {
			scene_read(*scene, READ_NS);
			return;
		}
	loop_remove(serve->run.loop, take_ptr(serve->reader));
}

/* A function trace is read by the commands that answer requests about it. */
static int open_recording(struct serve *serve, const char *path, struct why *why)
{
	struct scene *scene;

	if (serve->recordings.count + serve->traces.count >= FILES_MAX)
		return why_set(why, -EINVAL, "more than %d recordings and traces", FILES_MAX);
	if (flow_view_is_trace(path)) {
		vec_push(&serve->traces, path);
		return 0;
	}
	scene = xzalloc(sizeof(*scene));
	scene_init(scene);
	scene->id = (unsigned)serve->recordings.count;
	vec_push(&serve->recordings, scene);
	return scene_open(scene, path, &serve->options->live, why);
}

/* For tables that clients ask for: they come when they come, beside the samples of the diagnosis. */
static int start_sampler(struct serve *serve, struct why *why)
{
	const char *netns = serve->options->live.netns;
	_cleanup_netns_ struct netns_list namespaces = {};
	int r = netns_find(netns, &namespaces, why);

	return r == 0 ? sampler_start(&serve->sampler, &namespaces, netns, NULL, why) : r;
}

/* The page says whose rows it shows, and never the password. */
static int name_fleet(struct serve *serve, struct why *why)
{
	struct fleet_url url = {};
	int r = fleet_url_parse_database(serve->options->fleet.url, &url, why);

	if (r < 0)
		return r;
	serve->fleet = xasprintf("%s/%s", url.base, url.database);
	fleet_url_done(&url);
	return 0;
}

/* Before anything is observed: recordings are read and the address is bound. */
static int prepare(struct run_sink *sink, struct run *run)
{
	struct serve *serve = (struct serve *)sink;
	const struct serve_options *options = serve->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->files.count; i++)
		r = open_recording(serve, options->files.items[i], &run->why);
	for (size_t i = 0; r == 0 && i < options->more.count; i++)
		r = open_recording(serve, options->more.items[i], &run->why);
	if (r < 0)
		return r == -EINVAL ? r : -EIO;
	if (options->fleet.url)
		r = name_fleet(serve, &run->why);
	if (r < 0)
		return r;
	if (options->guest && options->guest->unheard)
		return 0;
	if (serve->is_live)
		r = start_sampler(serve, &run->why);
	return r == 0 ? http_server_new(&options->http, &serve->server, &run->why) : r;
}

static int begin(struct run_sink *sink, struct run *run)
{
	struct serve *serve = (struct serve *)sink;
	int r;

	if (!serve->server)
		return 0;
	run_needs(run, MAY_SERVE | MAY_ASK, 0);
	http_server_serve(serve->server, HTTP_SERVE, serve);
	r = http_server_start(serve->server, run->loop, &run->why);
	if (r < 0)
		return r;
	r = loop_add_timer(run->loop, NSEC_PER_SEC, NSEC_PER_SEC, on_second, serve, NULL);
	if (r == 0 && !serve->is_live)
		r = loop_add_timer(run->loop, READ_PAUSE, READ_PAUSE, on_read, serve, &serve->reader);
	if (r < 0)
		return why_set(&run->why, r, "cannot wait: %s", strerror(-r));
	return 0;
}

/* From here on requests are answered. */
static int announce(struct run_sink *sink, struct run *run _unused_)
{
	struct serve *serve = (struct serve *)sink;

	if (!serve->server)
		return 0;
	http_server_add_url(serve->server, true, &serve->url);
	serve->options->listening(buf_text(&serve->url));
	return 0;
}

static void close_serve(struct run_sink *sink)
{
	struct serve *serve = (struct serve *)sink;

	ask_stop_all(serve);
	tool_run_sweep(serve, true);
	saver_finish_all(serve);
	vec_each(&serve->topics, topic)
		free_topic(serve, *topic);
	vec_done(&serve->topics);
	if (serve->server)
		http_server_forget(serve->server, &serve->measures);
	http_stream_done(&serve->measures);
	http_server_free(take_ptr(serve->server));
	sampler_stop(serve->sampler);
	serve_tables_forget(serve, true);
	vec_each(&serve->recordings, scene) {
		scene_done(*scene);
		free(*scene);
	}
	vec_done(&serve->recordings);
	vec_done(&serve->traces);
	scene_done(&serve->live);
	buf_done(&serve->url);
	free(serve->fleet);
}

static const struct run_sink_ops serve_ops = {
	.prepare = prepare, .begin = begin, .start = announce, .take = take_sample, .close = close_serve};

int serve_run(const struct serve_options *options)
{
	struct serve serve = {
		.sink.ops = &serve_ops,
		.run.options = {.name = "serve", .duration_ns = options->duration_ns},
		.options = options,
		.is_live = options->files.count + options->more.count == 0 && !options->fleet.url,
		.start_ns = clock_real_ns(),
		.url = BUF_INIT(4096),
		.diagnosis = {.options = &options->live, .report = take_diagnosis, .lists_unseen = true},
	};

	scene_init(&serve.live);
	serve.diagnosis.context = &serve;
	http_stream_init(&serve.measures, RING_SLOTS, RING_BYTES);
	(void)add_topic(&serve, NULL, NULL);
	if (serve.is_live) {
		run_diagnosis_init(&serve.diagnosis, &serve.run);
		run_add_sink(&serve.run, &serve.diagnosis.snapshots.source, &serve.sink);
	} else {
		run_add_sink(&serve.run, NULL, &serve.sink);
	}
	if (options->guest) {
		serve.run.options.name = options->guest->name;
		options->guest->join(options->guest->context, &serve);
	}
	return run_carry_out(&serve.run);
}
