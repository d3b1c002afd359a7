/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest watch: stays, and prints when a stall begins, changes culprit, ends. */
#include <math.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/live_diagnosis.h"
#include "view/output.h"

enum watch_event { WATCH_BEGIN, WATCH_END };

struct watch_record {
	uint64_t time_ns;
	uint8_t event;
	const char *cause;
	const char *module;
	double certainty;
	uint64_t span_ns;
	const char *because;
};

static const struct enum_name event_items[] = {{WATCH_BEGIN, "begin", NULL}, {WATCH_END, "end", NULL}};
static struct enum_names event_names = {.items = event_items, .count = ARRAY_SIZE(event_items)};

static const struct field watch_fields[] = {
	FIELD(struct watch_record, time_ns, TIME, "when"),
	FIELD(struct watch_record, event, ENUM, "begin or end", .names = &event_names),
	FIELD(struct watch_record, cause, TEXT, "what is wrong"),
	FIELD(struct watch_record, module, TEXT, "module to blame"),
	FIELD(struct watch_record, certainty, RATIO, "how sure that is; of an end, the most it was"),
	FIELD(struct watch_record, span_ns, DURATION, "of an end: how long it lasted"),
	FIELD(struct watch_record, because, TEXT, "the reason in one sentence"),
};
RECORD_TYPE(watch_type, "watch", struct watch_record, watch_fields, "a stall that begins or ends");

struct config {
	uint64_t duration_ns;
	const char *netns;
	const char *rules;
	const char *engine;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS", "end after this time (never)"),
	OPTION(struct config, netns, TEXT, "netns", 'N', "NETNS", "look at this network namespace: name, path or pid"),
	OPTION(struct config, rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory"),
	OPTION(struct config, engine, TEXT, "engine", 0, "NAME",
	       "who judges: rules (the default), nest2011, flowdiagnoser"),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

/* A finding that is going on. */
struct stall {
	uint64_t begin_ns;
	double most;
	bool seen;
};

struct watch {
	struct output *output;
	struct map stalls; /* "cause module" -> struct stall */
};

static void write_record(struct watch *watch, const struct watch_record *r)
{
	struct record record = RECORD_OF(r);

	(void)output_record(watch->output, &record);
}

static void see(struct watch *watch, const struct finding_record *f, uint64_t now_ns)
{
	_cleanup_free_ char *key = xasprintf("%s %s", f->cause, f->module);
	struct stall *stall;
	bool is_new;

	stall = map_put(&watch->stalls, key, &is_new);
	if (!stall)
		return;
	if (is_new) {
		stall->begin_ns = now_ns;
		write_record(watch, &(struct watch_record){.time_ns = now_ns,
							   .event = WATCH_BEGIN,
							   .cause = f->cause,
							   .module = f->module,
							   .certainty = f->certainty,
							   .span_ns = UINT64_MAX,
							   .because = f->because});
	}
	stall->most = fmax(stall->most, f->certainty);
	stall->seen = true;
}

/* What was not seen again has ended. */
static void end_stalls(struct watch *watch, uint64_t now_ns)
{
	VEC(const char *) over = {};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&watch->stalls, &at, &key, &value)) {
		struct stall *stall = value;
		const char *space = strchr(key, ' ');
		_cleanup_free_ char *cause = NULL;

		if (stall->seen) {
			stall->seen = false;
			continue;
		}
		cause = xstrndup(key, (size_t)(space - (const char *)key));
		write_record(watch, &(struct watch_record){.time_ns = now_ns,
							   .event = WATCH_END,
							   .cause = cause,
							   .module = space + 1,
							   .certainty = stall->most,
							   .span_ns = now_ns - stall->begin_ns});
		vec_push(&over, key);
	}
	vec_each(&over, name)
		(void)map_remove(&watch->stalls, *name);
	vec_done(&over);
}

static int report(struct live_diagnosis *live)
{
	struct watch *watch = live->context;
	const struct diagnosis_record *record = diagnosis_get(live->diagnosis);
	const struct finding_record *findings = record->findings.items;
	uint64_t now_ns = record->start_ns + record->window_ms * 1000000;

	for (uint32_t i = 0; i < record->findings.count; i++)
		see(watch, &findings[i], now_ns);
	end_stalls(watch, now_ns);
	return output_flush(watch->output);
}

static int run(const void *data)
{
	const struct config *config = data;
	struct watch watch = {.stalls = MAP_INIT(0, sizeof(struct stall), 100000)};
	struct live_diagnosis live = {.netns = config->netns,
				      .engine_name = config->engine,
				      .duration_ns = config->duration_ns,
				      .report = report,
				      .context = &watch};
	struct shape shape = SHAPE_OF(&watch_type);
	struct why why = {};
	int code = live_diagnosis_prepare(&live, "watch", config->rules, NULL);

	if (code == EXIT_DONE && output_open(&config->output, &shape, &watch.output, &why) < 0) {
		log_error("watch: %s", why.text);
		code = EXIT_USAGE;
	}
	if (code == EXIT_DONE) {
		int result = live_diagnosis_run(&live), written = output_close(watch.output);

		code = live_diagnosis_exit_code(&live, "watch", result);
		if (code == EXIT_DONE)
			code = output_exit_code(written);
	}
	map_done(&watch.stalls);
	knowledge_free(live.knowledge);
	return code;
}

static const char *const examples[] = {
	"nest watch",
	"say when a stall begins and when it ends, until Ctrl-C",
	"nest watch --json --where 'certainty > 0.8'",
	"the same for a program, clear cases only",
	NULL,
};

static const struct command watch_command = {
	.name = "watch",
	.summary = "stay, and say when a stall begins, changes culprit, ends",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(watch_command);
