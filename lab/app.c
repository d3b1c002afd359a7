// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "app.h"
#include "app_conn.h"
#include "base/alloc.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "base/vec.h"

#define TICK_NS     (100 * NS_PER_MS)
#define CONTROL_MAX 512u

REGISTRY(lab_role, struct app_role);

static uint8_t payload[APP_PAYLOAD_MAX];

struct control {
	struct app *app;
	const struct app_role *role;
	void *config;
	struct loop_source *source;
	struct buf line;
};

const uint8_t *app_payload(void)
{
	return payload;
}

void app_ready(struct app *app)
{
	app->start_ns = clock_monotonic_ns();
	puts("ready");
}

void app_count_op(struct app *app, uint64_t lat_ns)
{
	struct progress *p = &app->progress;

	p->ops++;
	if (lat_ns == LAT_UNKNOWN)
		return;
	p->lat_count++;
	p->lat_sum_ns += lat_ns;
	p->lat_max_ns = max_of(p->lat_max_ns, lat_ns);
}

void app_count_error(struct app *app, int error)
{
	app->progress.errors++;
	app->progress.last_error = error < 0 ? -error : error;
}

void app_finish_one(struct app *app)
{
	if (--app->pending > 0)
		return;
	app->is_finished = true;
	loop_stop(app->loop, 0);
}

static void progress_print(void *context, uint64_t expirations _unused_)
{
	struct progress *p = &((struct app *)context)->progress;
	const char *error = p->last_error ? strerrorname_np(p->last_error) : NULL;

	printf("{\"t_ns\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"ops\":%" PRIu64, clock_monotonic_ns(), p->bytes, p->ops);
	if (p->lat_count)
		printf(",\"lat_us\":%.1f,\"lat_max_us\":%.1f", (double)p->lat_sum_ns / (double)p->lat_count / 1e3,
		       (double)p->lat_max_ns / 1e3);
	else
		fputs(",\"lat_us\":null,\"lat_max_us\":null", stdout);
	printf(",\"errors\":%" PRIu64 ",\"errno\":%s%s%s,\"conns\":%" PRIu64 "}\n", p->errors, error ? "\"" : "",
	       error ? error : "null", error ? "\"" : "", p->conns);
	p->lat_count = 0;
	p->lat_sum_ns = 0;
	p->lat_max_ns = 0;
}

static void stop_on_signal(void *context, int number _unused_)
{
	loop_stop(((struct app *)context)->loop, 0);
}

static void stop_on_time(void *context, uint64_t expirations _unused_)
{
	loop_stop(((struct app *)context)->loop, 0);
}

static void control_run(struct control *control)
{
	struct why why = {};
	int r = app_options_set(control->role, control->config, buf_text(&control->line), true, &why);

	if (r < 0)
		printf("error: %s\n", why.text);
	else
		puts("ok");
}

static void control_read(void *context, uint32_t events _unused_)
{
	struct control *control = context;
	char chunk[CONTROL_MAX];
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

	for (ssize_t i = 0; i < n; i++) {
		if (chunk[i] != '\n') {
			buf_add_char(&control->line, chunk[i]);
			continue;
		}
		if (control->line.over)
			puts("error: line too long");
		else if (control->line.len)
			control_run(control);
		buf_clear(&control->line);
	}
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		loop_remove(control->app->loop, control->source);
}

static int app_prepare(struct app *app, const struct common_config *common, struct control *control)
{
	struct rng rng;
	int r;

	rng_seed(&rng, common->seed);
	rng_seed(&app->rng, rng_next(&rng));
	for (size_t i = 0; i < sizeof(payload); i += sizeof(uint64_t)) {
		uint64_t word = rng_next(&rng);

		memcpy(payload + i, &word, sizeof(word));
	}
	r = loop_new(&app->loop);
	if (r == 0)
		r = loop_add_signal(app->loop, SIGTERM, stop_on_signal, app);
	if (r == 0)
		r = loop_add_signal(app->loop, SIGINT, stop_on_signal, app);
	if (r == 0)
		r = loop_add_timer(app->loop, TICK_NS, TICK_NS, progress_print, app, NULL);
	if (r == 0 && common->duration_ns)
		r = loop_add_timer(app->loop, common->duration_ns, 0, stop_on_time, app, NULL);
	if (r == 0 && common->control)
		r = loop_add_fd(app->loop, STDIN_FILENO, EPOLLIN, control_read, control, &control->source);
	return r;
}

static int app_run(const struct app_role *role, void *config)
{
	struct app app = {};
	struct control control = {.app = &app, .role = role, .config = config, .line = BUF_INIT(CONTROL_MAX)};
	struct why why = {};
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	r = app_prepare(&app, config, &control);
	if (r < 0)
		why_set(&why, r, "cannot start: %s", strerror(-r));
	else
		r = role->start(&app, config, &why);
	if (r == 0) {
		/* Setup may already have finished or failed everything: a stop before the loop starts has no effect. */
		if (!app.is_finished)
			r = loop_run(app.loop);
		if (r < 0)
			why_set(&why, r, "event loop failed: %s", strerror(-r));
		progress_print(&app, 0);
	}
	if (r < 0)
		fprintf(stderr, "app %s: %s\n", role->name, why.text);
	conn_drop_all(&app);
	loop_free(app.loop);
	buf_done(&control.line);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int role_compare(const void *a, const void *b)
{
	return strcmp((*(const struct app_role *const *)a)->name, (*(const struct app_role *const *)b)->name);
}

static void help(FILE *out)
{
	VEC(const struct app_role *) roles = {};

	registry_each(lab_role, role)
		vec_push(&roles, *role);
	vec_sort(&roles, role_compare);
	fputs("usage: app ROLE [key=value ...]\n       app ROLE --help\n\n", out);
	vec_each(&roles, role)
		fprintf(out, "  %-12s %s\n", (*role)->name, (*role)->help);
	fputs("\nPrints `ready`, then a JSON line every 100 ms: bytes and operations so far, latency, errors.\n", out);
	vec_done(&roles);
}

static const struct app_role *role_find(const char *name, struct why *why)
{
	struct near near = {.word = name};
	_cleanup_buf_ struct buf hint = BUF_INIT(256);

	registry_each(lab_role, role) {
		if (strcmp((*role)->name, name) == 0)
			return *role;
		near_consider(&near, (*role)->name);
	}
	near_add_text(&near, &hint);
	(void)why_set(why, -EINVAL, "%s: no such role%s", name, buf_text(&hint));
	return NULL;
}

int main(int argc, char **argv)
{
	const struct app_role *role;
	_cleanup_free_ void *config = NULL;
	struct why why = {};
	int r;

	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		help(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_SUCCESS;
	}
	role = role_find(argv[1], &why);
	if (role && argc == 3 && strcmp(argv[2], "--help") == 0) {
		printf("usage: app %s [key=value ...]\n\n%s\n\n", role->name, role->help);
		app_options_help(role, stdout);
		return EXIT_SUCCESS;
	}
	r = role ? 0 : -EINVAL;
	if (r == 0) {
		config = xzalloc(role->config_size);
		r = app_options_default(role, config, &why);
	}
	for (int i = 2; r == 0 && i < argc; i++)
		r = app_options_set(role, config, argv[i], false, &why);
	if (r == 0)
		r = app_options_check(role, argc - 2, argv + 2, &why);
	if (r < 0) {
		fprintf(stderr, "app: %s\n", why.text);
		return EXIT_USAGE;
	}
	lab_die_with_parent();
	(void)signal(SIGPIPE, SIG_IGN);
	return app_run(role, config);
}
