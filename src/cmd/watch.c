/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest watch: stays, and prints when a stall begins, changes culprit, ends. */
#include <math.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/live_diagnosis.h"
#include "view/output.h"

enum watch_event { WATCH_BEGIN, WATCH_CHANGE, WATCH_END };

struct watch_record {
	uint64_t time_ns;
	uint8_t event;
	const char *cause;
	const char *module;
	double certainty;
	uint64_t span_ns;
	const char *was;
	const char *because;
	uint64_t netns;
	const char *netns_name;
};

static const struct enum_name event_items[] = {
	{WATCH_BEGIN, "begin", "a stall has begun"},
	{WATCH_CHANGE, "change", "the same sufferers, another culprit"},
	{WATCH_END, "end", "it is over"},
};
static struct enum_names event_names = {.items = event_items, .count = ARRAY_SIZE(event_items)};

static const struct field watch_fields[] = {
	FIELD(struct watch_record, time_ns, TIME, "when"),
	FIELD(struct watch_record, event, ENUM, "begin, change or end", .names = &event_names),
	FIELD(struct watch_record, cause, TEXT, "what is wrong"),
	FIELD(struct watch_record, module, TEXT, "module to blame"),
	FIELD(struct watch_record, certainty, RATIO, "how sure that is; of an end, the most it was"),
	FIELD(struct watch_record, span_ns, DURATION, "of a change and an end: how long the stall has lasted"),
	FIELD(struct watch_record, was, TEXT, "of a change: the cause that was named before", .hidden = true),
	FIELD(struct watch_record, because, TEXT, "the reason in one sentence; of an end, the last one"),
	FIELD(struct watch_record, netns, ID, "network namespace (inode number)", .hidden = true),
	FIELD(struct watch_record, netns_name, TEXT, "its name below /run/netns", .hidden = true),
};
RECORD_TYPE(watch_type, "watch", struct watch_record, watch_fields, "a stall that begins, changes culprit or ends");

struct config {
	struct diagnosis_options live;
	uint64_t duration_ns;
	uint64_t rate;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS", "end after this time (never)"),
	OPTION(struct config, rate, UINT, "rate", 0, "N",
	       "windows a second, 1 to 10 (1); shorter ones see shorter stalls and are less sure", .min = 1, .max = 10),
	OPTION_GROUP(struct config, live, diagnosis_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

/* A finding that misses one window and is back in the next has not ended. */
#define MISSES_TO_END 2

/* A finding that is going on. */
struct stall {
	uint32_t netns;
	char *netns_name; /* NULL: it has none */
	char *cause, *module, *because;
	VEC(char *) affects;
	uint64_t begin_ns, seen_ns;
	double most;
	unsigned misses; /* windows in a row without it */
};

struct watch {
	struct output *output;
	VEC(struct stall *) stalls;
};

static void forget_details(struct stall *stall)
{
	vec_each(&stall->affects, id)
		free(*id);
	stall->affects.count = 0;
	free(stall->cause);
	free(stall->module);
	free(stall->because);
}

static void stall_free(struct stall *stall)
{
	forget_details(stall);
	vec_done(&stall->affects);
	free(stall->netns_name);
	free(stall);
}

static const char *text_at(const struct list *list, uint32_t i)
{
	return ((const char *const *)list->items)[i];
}

static void set_details(struct stall *stall, const struct finding_record *f)
{
	forget_details(stall);
	stall->cause = xstrdup(f->cause);
	stall->module = xstrdup(f->module);
	stall->because = f->because ? xstrdup(f->because) : NULL;
	for (uint32_t i = 0; i < f->affects.count; i++)
		vec_push(&stall->affects, xstrdup(text_at(&f->affects, i)));
}

static void tell(struct watch *watch, const struct stall *stall, enum watch_event event, double certainty,
		 const char *was)
{
	struct watch_record r = {
		.time_ns = stall->seen_ns,
		.event = (uint8_t)event,
		.cause = stall->cause,
		.module = stall->module,
		.certainty = certainty,
		.span_ns = event == WATCH_BEGIN ? UINT64_MAX : stall->seen_ns - stall->begin_ns,
		.was = was,
		.because = stall->because,
		.netns = stall->netns,
		.netns_name = stall->netns_name,
	};

	(void)output_record(watch->output, &RECORD_OF(&r));
}

static bool is_same(const struct stall *stall, const struct diagnosis_record *d, const struct finding_record *f)
{
	return stall->netns == d->netns && strcmp(stall->cause, f->cause) == 0 && strcmp(stall->module, f->module) == 0;
}

/* Whether a stall that is not seen any more hurt somebody whom this finding hurts, or accused the same module. */
static bool is_followed_by(const struct stall *stall, const struct diagnosis_record *d, const struct finding_record *f)
{
	if (stall->netns != d->netns || stall->misses == 0)
		return false;
	if (strcmp(stall->module, f->module) == 0)
		return true;
	for (uint32_t i = 0; i < f->affects.count; i++)
		vec_each(&stall->affects, id)
			if (strcmp(*id, text_at(&f->affects, i)) == 0)
				return true;
	return false;
}

static struct stall *find_stall(struct watch *watch, const struct diagnosis_record *d, const struct finding_record *f,
				bool (*matches)(const struct stall *, const struct diagnosis_record *,
						const struct finding_record *))
{
	vec_each(&watch->stalls, stall)
		if (matches(*stall, d, f))
			return *stall;
	return NULL;
}

static void begin_stall(struct watch *watch, const struct diagnosis_record *d, const struct finding_record *f,
			uint64_t now_ns)
{
	struct stall *stall = xzalloc(sizeof(*stall));

	stall->netns = (uint32_t)d->netns;
	stall->netns_name = d->netns_name ? xstrdup(d->netns_name) : NULL;
	stall->begin_ns = stall->seen_ns = now_ns;
	stall->most = f->certainty;
	set_details(stall, f);
	vec_push(&watch->stalls, stall);
	tell(watch, stall, WATCH_BEGIN, f->certainty, NULL);
}

static void change_stall(struct watch *watch, struct stall *stall, const struct finding_record *f, uint64_t now_ns)
{
	_cleanup_free_ char *was = xstrdup(stall->cause);

	set_details(stall, f);
	stall->seen_ns = now_ns;
	stall->most = f->certainty;
	stall->misses = 0;
	tell(watch, stall, WATCH_CHANGE, f->certainty, was);
}

/* All stalls of the namespace miss the window until they are seen in it. */
static void see_findings(struct watch *watch, const struct diagnosis_record *d, uint64_t now_ns)
{
	const struct finding_record *findings = d->findings.items;

	vec_each(&watch->stalls, stall)
		(*stall)->misses += (*stall)->netns == d->netns;
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *stall = find_stall(watch, d, &findings[i], is_same);

		if (!stall)
			continue;
		stall->misses = 0;
		stall->seen_ns = now_ns;
		stall->most = fmax(stall->most, findings[i].certainty);
		set_details(stall, &findings[i]);
	}
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *former;

		if (find_stall(watch, d, &findings[i], is_same))
			continue;
		former = find_stall(watch, d, &findings[i], is_followed_by);
		if (former)
			change_stall(watch, former, &findings[i], now_ns);
		else
			begin_stall(watch, d, &findings[i], now_ns);
	}
}

static void end_stalls(struct watch *watch, uint32_t netns, unsigned misses)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->stalls.count; i++) {
		struct stall *stall = watch->stalls.items[i];

		if (stall->netns != netns || stall->misses < misses) {
			watch->stalls.items[kept++] = stall;
			continue;
		}
		tell(watch, stall, WATCH_END, stall->most, NULL);
		stall_free(stall);
	}
	watch->stalls.count = kept;
}

static int report(struct live_diagnosis *live, const struct live_view *view)
{
	struct watch *watch = live->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	if (record)
		see_findings(watch, record, record->start_ns + record->window_ms * 1000000);
	/* With its namespace a stall is gone. */
	end_stalls(watch, view->netns, record ? MISSES_TO_END : 0);
	return output_flush(watch->output);
}

static int run(const void *data)
{
	const struct config *config = data;
	struct watch watch = {};
	struct live_diagnosis live = {.options = &config->live,
				      .duration_ns = config->duration_ns,
				      .rate = (unsigned)config->rate,
				      .report = report,
				      .context = &watch};
	struct shape shape = SHAPE_OF(&watch_type);
	_cleanup_free_ char *closing = NULL;
	struct why why = {};
	int code = live_diagnosis_prepare(&live, "watch", NULL);

	if (code == EXIT_DONE && output_open(&config->output, &shape, &watch.output, &why) < 0) {
		log_error("watch: %s", why.text);
		code = EXIT_USAGE;
	}
	if (code == EXIT_DONE) {
		int result = live_diagnosis_run(&live), written = output_close(watch.output);

		if (watch.stalls.count > 0)
			live.closing = closing = xasprintf("%zu %s still going on", watch.stalls.count,
							   watch.stalls.count == 1 ? "stall is" : "stalls are");
		code = live_diagnosis_exit_code(&live, "watch", result);
		if (code == EXIT_DONE)
			code = output_exit_code(written);
	}
	vec_each(&watch.stalls, stall)
		stall_free(*stall);
	vec_done(&watch.stalls);
	live_diagnosis_done(&live);
	return code;
}

static const char *const examples[] = {
	"nest watch",
	"say when a stall begins and when it ends, until Ctrl-C",
	"nest watch -p 4711 --rate 5",
	"what holds one process up, stalls of less than half a second included",
	"nest watch --json --where 'certainty > 0.8'",
	"the same for a program, clear cases only",
	NULL,
};

static const struct command watch_command = {
	.name = "watch",
	.summary = "stay, and say when a stall begins, changes culprit, ends",
	.description =
		"One line when a stall begins, one when the same sufferers have another culprit, one when it is over, "
		"with how long it lasted; nothing in between. A stall has ended when two windows in a row do "
		"not show it; its end is when it was last seen.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(watch_command);
