/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/infer/stall_log.h"

static const struct enum_name event_items[] = {
	{FOLLOW_BEGIN, "begin", "a stall has begun"},
	{FOLLOW_CHANGE, "change", "the same sufferers, another culprit"},
	{FOLLOW_END, "end", "it is over"},
};
static struct enum_names event_names = {.items = event_items, .count = ARRAY_SIZE(event_items)};

static const struct field follow_fields[] = {
	FIELD(struct follow_record, time_ns, TIME, "when"),
	FIELD(struct follow_record, event, ENUM, "begin, change or end", .names = &event_names),
	FIELD(struct follow_record, cause, TEXT, "what is wrong"),
	FIELD(struct follow_record, module, TEXT, "module to blame"),
	FIELD(struct follow_record, certainty, RATIO, "how sure that is; of an end, the most it was"),
	FIELD(struct follow_record, span_ns, DURATION, "of a change and an end: how long the stall has lasted"),
	FIELD(struct follow_record, was, TEXT, "of a change: the cause that was named before", .hidden = true),
	FIELD(struct follow_record, because, TEXT, "the reason in one sentence; of an end, the last one"),
	FIELD(struct follow_record, netns, ID, "network namespace (inode number)", .hidden = true),
	FIELD(struct follow_record, netns_name, TEXT, "its name below /run/netns", .hidden = true),
};
RECORD_TYPE(follow_type, "watch", struct follow_record, follow_fields, "a stall that begins, changes culprit or ends");

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

struct follow {
	void (*tell)(const struct follow_record *record, void *context);
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

static void say(struct follow *follow, const struct stall *stall, enum follow_event event, double certainty,
		const char *was)
{
	struct follow_record r = {
		.time_ns = stall->seen_ns,
		.event = (uint8_t)event,
		.cause = stall->cause,
		.module = stall->module,
		.certainty = certainty,
		.span_ns = event == FOLLOW_BEGIN ? UINT64_MAX : stall->seen_ns - stall->begin_ns,
		.was = was,
		.because = stall->because,
		.netns = stall->netns,
		.netns_name = stall->netns_name,
	};

	follow->tell(&r, follow->context);
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

static struct stall *find_stall(struct follow *follow, const struct diagnosis_record *d, const struct finding_record *f,
				bool (*matches)(const struct stall *, const struct diagnosis_record *,
						const struct finding_record *))
{
	vec_each(&follow->stalls, stall)
		if (matches(*stall, d, f))
			return *stall;
	return NULL;
}

static void begin_stall(struct follow *follow, const struct diagnosis_record *d, const struct finding_record *f,
			uint64_t now_ns)
{
	struct stall *stall = xzalloc(sizeof(*stall));

	stall->netns = (uint32_t)d->netns;
	stall->netns_name = d->netns_name ? xstrdup(d->netns_name) : NULL;
	stall->begin_ns = stall->seen_ns = now_ns;
	stall->most = f->certainty;
	set_details(stall, f);
	vec_push(&follow->stalls, stall);
	say(follow, stall, FOLLOW_BEGIN, f->certainty, NULL);
}

static void change_stall(struct follow *follow, struct stall *stall, const struct finding_record *f, uint64_t now_ns)
{
	_cleanup_free_ char *was = xstrdup(stall->cause);

	set_details(stall, f);
	stall->seen_ns = now_ns;
	stall->most = f->certainty;
	stall->misses = 0;
	say(follow, stall, FOLLOW_CHANGE, f->certainty, was);
}

/* All stalls of the namespace miss the newest window until they are seen in it. */
static void see_findings(struct follow *follow, const struct diagnosis_record *d, uint64_t now_ns)
{
	const struct finding_record *findings = d->findings.items;

	vec_each(&follow->stalls, stall)
		(*stall)->misses += (*stall)->netns == d->netns;
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *stall = find_stall(follow, d, &findings[i], is_same);

		if (!stall || findings[i].over)
			continue;
		stall->misses = 0;
		stall->seen_ns = now_ns;
		stall->most = fmax(stall->most, findings[i].certainty);
		set_details(stall, &findings[i]);
	}
	for (uint32_t i = 0; i < d->findings.count; i++) {
		struct stall *former;

		if (findings[i].over || find_stall(follow, d, &findings[i], is_same))
			continue;
		former = find_stall(follow, d, &findings[i], is_followed_by);
		if (former)
			change_stall(follow, former, &findings[i], now_ns);
		else
			begin_stall(follow, d, &findings[i], now_ns);
	}
}

static void end_stalls(struct follow *follow, uint32_t netns, unsigned misses)
{
	size_t kept = 0;

	for (size_t i = 0; i < follow->stalls.count; i++) {
		struct stall *stall = follow->stalls.items[i];

		if (stall->netns != netns || stall->misses < misses) {
			follow->stalls.items[kept++] = stall;
			continue;
		}
		say(follow, stall, FOLLOW_END, stall->most, NULL);
		stall_free(stall);
	}
	follow->stalls.count = kept;
}

struct follow *follow_new(void (*tell)(const struct follow_record *record, void *context), void *context)
{
	struct follow *follow = xzalloc(sizeof(*follow));

	follow->tell = tell;
	follow->context = context;
	return follow;
}

void follow_free(struct follow *follow)
{
	if (!follow)
		return;
	vec_each(&follow->stalls, stall)
		stall_free(*stall);
	vec_done(&follow->stalls);
	free(follow);
}

void follow_diagnosis(struct follow *follow, const struct diagnosis_record *d)
{
	see_findings(follow, d, d->start_ns + d->window_ms * 1000000);
	end_stalls(follow, (uint32_t)d->netns, MISSES_TO_END);
}

void follow_leave(struct follow *follow, uint32_t netns)
{
	end_stalls(follow, netns, 0);
}

size_t follow_count(const struct follow *follow)
{
	return follow->stalls.count;
}
