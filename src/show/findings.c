/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/findings.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "diagnose/measure/unseen.h"

#define ENTRIES_MAX 500
#define MODULES_MAX 200000
#define MISSES      2   /* windows in a row without it: over */
#define STEP        0.1 /* of certainty that counts as a change */

static const struct enum_name phase_items[] = {
	{FINDING_ACTIVE, "active", "seen in the last window"},
	{FINDING_OVER, "over", "not seen in the last two windows"},
};
static struct enum_names phase_names = {phase_items, ARRAY_SIZE(phase_items)};

static const struct field span_fields[] = {
	FIELD(struct finding_span, phase, ENUM, "whether it is active or over", .names = &phase_names),
	FIELD(struct finding_span, age_ns, DURATION, "time since its beginning, or how long it lasted"),
	FIELD(struct finding_span, begin_ns, TIME, "when it was first reported", .hidden = true),
	FIELD(struct finding_span, change_ns, TIME, "when its certainty or sentence last changed", .hidden = true),
	FIELD(struct finding_span, end_ns, TIME, "when it was last seen; unknown while it is active", .hidden = true),
	FIELD(struct finding_span, peak, RATIO, "highest certainty so far", .hidden = true),
};
RECORD_TYPE(finding_span_type, "finding_span", struct finding_span, span_fields,
	    "a finding from its beginning to its end");

void findings_init(struct findings *findings)
{
	*findings = (struct findings){.modules = MAP_INIT(0, sizeof(struct limit_record), MODULES_MAX),
				      .times = MAP_INIT(sizeof(uint32_t), sizeof(struct share_record), MODULES_MAX)};
	keeper_init(&findings->keeper);
}

static void free_entry(struct finding_entry *entry)
{
	keeper_done(&entry->keeper);
	free(entry);
}

static void forget_last(struct findings *findings)
{
	map_done(&findings->modules);
	map_done(&findings->times);
	findings->modules = MAP_INIT(0, sizeof(struct limit_record), MODULES_MAX);
	findings->times = MAP_INIT(sizeof(uint32_t), sizeof(struct share_record), MODULES_MAX);
	keeper_clear(&findings->keeper);
	findings->unseen.count = 0;
}

void findings_clear(struct findings *findings)
{
	forget_last(findings);
	vec_each(&findings->entries, entry)
		free_entry(*entry);
	findings->entries.count = 0;
	findings->windows = 0;
	findings->now_ns = 0;
}

void findings_done(struct findings *findings)
{
	findings_clear(findings);
	keeper_done(&findings->keeper);
	vec_done(&findings->entries);
	vec_done(&findings->unseen);
}

static struct finding_entry *find_entry(const struct findings *findings, uint32_t netns,
					const struct finding_record *finding)
{
	vec_each(&findings->entries, at) {
		struct finding_entry *entry = *at;

		if (entry->netns == netns && entry->span.phase == FINDING_ACTIVE &&
		    strcmp(entry->finding.cause, finding->cause) == 0 &&
		    strcmp(entry->finding.module, finding->module) == 0)
			return entry;
	}
	return NULL;
}

/* The oldest one that is over makes room. */
static void make_room(struct findings *findings)
{
	size_t at = 0;

	if (findings->entries.count < ENTRIES_MAX)
		return;
	for (size_t i = 0; i < findings->entries.count; i++)
		if (findings->entries.items[i]->span.phase == FINDING_OVER) {
			at = i;
			break;
		}
	free_entry(findings->entries.items[at]);
	memmove(findings->entries.items + at, findings->entries.items + at + 1,
		(findings->entries.count - at - 1) * sizeof(*findings->entries.items));
	findings->entries.count--;
	findings->dropped++;
}

static struct finding_entry *add_entry(struct findings *findings, uint32_t netns, uint64_t now_ns)
{
	struct finding_entry *entry = xzalloc(sizeof(*entry));

	make_room(findings);
	keeper_init(&entry->keeper);
	entry->netns = netns;
	entry->span = (struct finding_span){.begin_ns = now_ns, .change_ns = now_ns, .end_ns = UINT64_MAX};
	vec_push(&findings->entries, entry);
	return entry;
}

static void update(struct finding_entry *entry, const struct diagnosis_record *record,
		   const struct finding_record *finding, uint64_t now_ns)
{
	struct finding_span *span = &entry->span;
	struct keeper old = entry->keeper;

	if (fabs(entry->finding.certainty - finding->certainty) >= STEP && entry->finding.cause)
		span->change_ns = now_ns;
	span->peak = max_of(span->peak, finding->certainty);
	entry->finding = *finding;
	/* Several namespaces stand side by side here, each with a diagnosis of its own. */
	if (!finding->netns_name)
		entry->finding.netns_name = record->netns_name;
	entry->finding.accused = entry->finding.summary = NULL;
	keeper_init(&entry->keeper);
	keeper_own(&entry->keeper, &finding_type, &entry->finding);
	keeper_own(&entry->keeper, &finding_span_type, span);
	keeper_done(&old);
	entry->missed = 0;
}

static void end_missing(struct findings *findings, uint32_t netns, uint64_t now_ns, uint64_t window_ns)
{
	vec_each(&findings->entries, at) {
		struct finding_entry *entry = *at;

		if (entry->netns != netns || entry->span.phase == FINDING_OVER || entry->missed++ == 0)
			continue;
		if (entry->missed <= MISSES)
			continue;
		entry->span.phase = FINDING_OVER;
		entry->span.end_ns = max_of(entry->span.begin_ns, now_ns - MISSES * window_ns);
	}
}

static void note_times(struct findings *findings, const struct diagnosis_record *record)
{
	const struct time_record *times = record->time.items;

	for (uint32_t i = 0; i < record->time.count; i++) {
		const struct share_record *shares = times[i].shares.items, *most = NULL;
		struct share_record *kept;
		uint64_t pid;

		if (strncmp(times[i].module, "app:", 4) != 0 || parse_u64(times[i].module + 4, 1, UINT32_MAX, &pid) < 0)
			continue;
		for (uint32_t k = 0; k < times[i].shares.count; k++)
			if (strcmp(shares[k].what, "idle") != 0 && (!most || shares[k].share > most->share))
				most = &shares[k];
		kept = most ? map_put(&findings->times, &(uint32_t){(uint32_t)pid}, NULL) : NULL;
		if (!kept)
			continue;
		*kept = *most;
		kept->program = kept->on_name = NULL;
		keeper_own(&findings->keeper, &share_type, kept);
	}
}

static void note_limits(struct findings *findings, const struct diagnosis_record *record)
{
	const struct module_record *modules = record->modules.items;

	for (uint32_t i = 0; i < record->modules.count; i++) {
		const struct limit_record *limits = modules[i].limited_by.items;
		struct limit_record *kept = limits ? map_put(&findings->modules, modules[i].id, NULL) : NULL;

		if (kept)
			*kept = *limits;
	}
}

static void note_unseen(struct findings *findings, const struct diagnosis_record *record)
{
	const struct unseen_record *items = record->not_seen.items;

	for (uint32_t i = 0; i < record->not_seen.count; i++) {
		struct unseen_record copy = items[i];

		keeper_own(&findings->keeper, &unseen_type, &copy);
		vec_push(&findings->unseen, (struct unseen){copy.what, copy.why});
	}
}

void findings_add(struct findings *findings, const struct diagnosis_record *record)
{
	uint64_t window_ns = record->window_ms * NSEC_PER_MSEC, now_ns = record->start_ns + window_ns;
	const struct finding_record *items = record->findings.items;
	uint32_t netns = (uint32_t)record->netns;

	/* Namespaces of one window come one after the other, in the same second. */
	if (now_ns > findings->now_ns + NSEC_PER_SEC / 2)
		forget_last(findings);
	findings->now_ns = now_ns;
	findings->windows++;
	findings->baseline_s = record->baseline_s;
	end_missing(findings, netns, now_ns, NSEC_PER_SEC);
	for (uint32_t i = 0; i < record->findings.count; i++) {
		struct finding_entry *entry = items[i].over ? NULL : find_entry(findings, netns, &items[i]);

		if (!entry && !items[i].over)
			entry = add_entry(findings, netns, now_ns);
		if (entry)
			update(entry, record, &items[i], now_ns);
	}
	note_times(findings, record);
	note_limits(findings, record);
	note_unseen(findings, record);
}

size_t findings_active(const struct findings *findings)
{
	size_t count = 0;

	vec_each(&findings->entries, entry)
		count += (*entry)->span.phase == FINDING_ACTIVE;
	return count;
}

const struct limit_record *findings_limits(const struct findings *findings, const char *module)
{
	return map_get(&findings->modules, module);
}

const struct share_record *findings_time(const struct findings *findings, uint32_t pid)
{
	return map_get(&findings->times, &pid);
}
