/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/infer/stall_log.h"

static const struct enum_name event_items[] = {
	{STALL_LOG_BEGIN, "begin", "a stall has started"},
	{STALL_LOG_CHANGE, "change", "same blocked connections, another culprit"},
	{STALL_LOG_END, "end", "the stall has ended"},
};
static struct enum_names event_names = {.items = event_items, .count = ARRAY_SIZE(event_items)};

static const struct field stall_log_fields[] = {
	FIELD(struct stall_log_record, time_ns, TIME, "when"),
	FIELD(struct stall_log_record, event, ENUM, "begin, change or end", .names = &event_names),
	FIELD(struct stall_log_record, cause, TEXT, "cause (nest explain CAUSE)"),
	FIELD(struct stall_log_record, module, TEXT, "culprit: module at fault"),
	FIELD(struct stall_log_record, certainty, RATIO, "certainty; of an end, its maximum"),
	FIELD(struct stall_log_record, span_ns, DURATION, "of a change and an end: how long the stall has lasted"),
	FIELD(struct stall_log_record, was, TEXT, "of a change: the previous cause", .hidden = true),
	FIELD(struct stall_log_record, because, TEXT, "the reason in one sentence; of an end, the last one"),
	FIELD(struct stall_log_record, netns, ID, "network namespace (inode number)", .hidden = true),
	FIELD(struct stall_log_record, netns_name, TEXT, "its name below /run/netns", .hidden = true),
};
RECORD_TYPE(stall_log_type, "watch", struct stall_log_record, stall_log_fields,
	    "a stall that begins, changes culprit or ends");

/* A finding that misses one window and is back in the next has not ended. */
#define MISSES_TO_END 2

/* A finding that is going on. */
struct stall {
	uint32_t netns;
	char *netns_name; /* NULL: it has none */
	uint32_t inside;  /* the container that the culprit is in; 0: none */
	char *inside_name;
	char *cause, *module, *because;
	VEC(char *) affects;
	uint64_t begin_ns, seen_ns;
	double most;
	unsigned misses; /* windows in a row without it */
};

struct stall_log {
	void (*report)(const struct stall_log_record *record, void *context);
	void *context;
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
	free(stall->inside_name);
}

static void stall_free(struct stall *stall)
{
	forget_details(stall);
	vec_done(&stall->affects);
	free(stall->netns_name);
	free(stall);
}

static void set_details(struct stall *stall, const struct finding_record *f)
{
	forget_details(stall);
	stall->cause = xstrdup(f->cause);
	stall->module = xstrdup(f->module);
	stall->because = f->because ? xstrdup(f->because) : NULL;
	stall->inside = (uint32_t)f->netns;
	stall->inside_name = f->netns_name ? xstrdup(f->netns_name) : NULL;
	for (uint32_t i = 0; i < f->affects.count; i++)
		vec_push(&stall->affects, xstrdup(text_record_at(&f->affects, i)));
}

static void report_event(struct stall_log *log, const struct stall *stall, enum stall_log_event event, double certainty,
			 const char *was)
{
	struct stall_log_record r = {
		.time_ns = stall->seen_ns,
		.event = (uint8_t)event,
		.cause = stall->cause,
		.module = stall->module,
		.certainty = certainty,
		.span_ns = event == STALL_LOG_BEGIN ? UINT64_MAX : stall->seen_ns - stall->begin_ns,
		.was = was,
		.because = stall->because,
		.netns = stall->inside ?: stall->netns,
		.netns_name = stall->inside ? stall->inside_name : stall->netns_name,
	};

	log->report(&r, log->context);
}

static bool is_same(const struct stall *stall, const struct diagnosis_record *d, const struct finding_record *f)
{
	return stall->netns == d->netns && strcmp(stall->cause, f->cause) == 0 && strcmp(stall->module, f->module) == 0;
}

/* Whether a stall that is no longer seen affected a module that this finding affects, or accused the same module. */
static bool is_followed_by(const struct stall *stall, const struct diagnosis_record *d, const struct finding_record *f)
{
	if (stall->netns != d->netns || stall->misses == 0)
		return false;
	if (strcmp(stall->module, f->module) == 0)
		return true;
	for (uint32_t i = 0; i < f->affects.count; i++)
		vec_each(&stall->affects, id)
			if (strcmp(*id, text_record_at(&f->affects, i)) == 0)
				return true;
	return false;
}

static struct stall *find_stall(struct stall_log *log, const struct diagnosis_record *d, const struct finding_record *f,
				bool (*matches)(const struct stall *, const struct diagnosis_record *,
						const struct finding_record *))
{
	vec_each(&log->stalls, stall)
		if (matches(*stall, d, f))
			return *stall;
	return NULL;
}

static void begin_stall(struct stall_log *log, const struct diagnosis_record *d, const struct finding_record *f,
			uint64_t now_ns)
{
	struct stall *stall = xzalloc(sizeof(*stall));

	stall->netns = (uint32_t)d->netns;
	stall->netns_name = d->netns_name ? xstrdup(d->netns_name) : NULL;
	stall->begin_ns = stall->seen_ns = now_ns;
	stall->most = f->certainty;
	set_details(stall, f);
	vec_push(&log->stalls, stall);
	report_event(log, stall, STALL_LOG_BEGIN, f->certainty, NULL);
}

static void change_stall(struct stall_log *log, struct stall *stall, const struct finding_record *f, uint64_t now_ns)
{
	_cleanup_free_ char *was = xstrdup(stall->cause);

	set_details(stall, f);
	stall->seen_ns = now_ns;
	stall->most = f->certainty;
	stall->misses = 0;
	report_event(log, stall, STALL_LOG_CHANGE, f->certainty, was);
}

/* All stalls of the namespace miss the newest window until they are seen in it. */
static void see_findings(struct stall_log *log, const struct diagnosis_record *d, uint64_t now_ns)
{
	const struct finding_record *findings = d->findings.items;

	vec_each(&log->stalls, stall)
		(*stall)->misses += (*stall)->netns == d->netns;
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *stall = find_stall(log, d, &findings[i], is_same);

		if (!stall || findings[i].over)
			continue;
		stall->misses = 0;
		stall->seen_ns = now_ns;
		stall->most = fmax(stall->most, findings[i].certainty);
		set_details(stall, &findings[i]);
	}
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *former;

		if (findings[i].over || find_stall(log, d, &findings[i], is_same))
			continue;
		former = find_stall(log, d, &findings[i], is_followed_by);
		if (former)
			change_stall(log, former, &findings[i], now_ns);
		else
			begin_stall(log, d, &findings[i], now_ns);
	}
}

static void end_stalls(struct stall_log *log, uint32_t netns, unsigned misses)
{
	size_t kept = 0;

	for (size_t i = 0; i < log->stalls.count; i++) {
		struct stall *stall = log->stalls.items[i];

		if (stall->netns != netns || stall->misses < misses) {
			log->stalls.items[kept++] = stall;
			continue;
		}
		report_event(log, stall, STALL_LOG_END, stall->most, NULL);
		stall_free(stall);
	}
	log->stalls.count = kept;
}

struct stall_log *stall_log_new(void (*report)(const struct stall_log_record *record, void *context), void *context)
{
	struct stall_log *log = xzalloc(sizeof(*log));

	log->report = report;
	log->context = context;
	return log;
}

void stall_log_free(struct stall_log *log)
{
	if (!log)
		return;
	vec_each(&log->stalls, stall)
		stall_free(*stall);
	vec_done(&log->stalls);
	free(log);
}

void stall_log_add(struct stall_log *log, const struct diagnosis_record *d)
{
	see_findings(log, d, d->start_ns + d->window_ms * 1000000);
	end_stalls(log, (uint32_t)d->netns, MISSES_TO_END);
}

void stall_log_leave(struct stall_log *log, uint32_t netns)
{
	end_stalls(log, netns, 0);
}

size_t stall_log_count(const struct stall_log *log)
{
	return log->stalls.count;
}
