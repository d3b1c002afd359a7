/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/netlink/conntrack.h"

#define COLUMNS_MAX 64

#define C           struct conntrack_record
static const struct field conntrack_fields[] = {
	FIELD(C, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(C, entries, COUNT, "tracked connections"),
	FIELD(C, entries_max, COUNT, "limit of tracked connections (nf_conntrack_max)"),
	FIELD(C, buckets, COUNT, "hash table size", .hidden = true),
	FIELD(C, found, COUNT, "lookups that found an entry", .hidden = true),
	FIELD(C, invalid, COUNT, "invalid packets: not trackable"),
	FIELD(C, insert_count, COUNT, "entries inserted", .hidden = true),
	FIELD(C, insert_failed, COUNT, "failed insertions"),
	FIELD(C, dropped, COUNT, "packets dropped: insertion failed, mostly table full"),
	FIELD(C, early_drop, COUNT, "entries dropped early to make room: table full"),
	FIELD(C, icmp_error, COUNT, "ICMP errors that could not be tracked", .hidden = true),
	FIELD(C, search_restart, COUNT, "lookups restarted after a hash resize", .hidden = true),
	FIELD(C, clash_resolve, COUNT, "insertion clashes resolved", .hidden = true),
	FIELD(C, chain_too_long, COUNT, "insertions refused: hash chain too long", .hidden = true),
};
#undef C
RECORD_TYPE(conntrack_type, "conntrack", struct conntrack_record, conntrack_fields,
	    "connection tracking (conntrack) of a namespace");

/* Member of a column. Names and positions of columns differ between kernels. */
static uint64_t *member_of(struct conntrack_record *conntrack, const char *name, size_t n)
{
	const struct {
		const char *name;
		uint64_t *member;
	} columns[] = {
		{"found", &conntrack->found},
		{"invalid", &conntrack->invalid},
		{"insert", &conntrack->insert_count},
		{"insert_failed", &conntrack->insert_failed},
		{"drop", &conntrack->dropped},
		{"early_drop", &conntrack->early_drop},
		{"icmp_error", &conntrack->icmp_error},
		{"search_restart", &conntrack->search_restart},
		{"clashres", &conntrack->clash_resolve},
		{"chainlength", &conntrack->chain_too_long},
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (strlen(columns[i].name) == n && memcmp(columns[i].name, name, n) == 0)
			return columns[i].member;
	return NULL;
}

void conntrack_parse(struct conntrack_record *conntrack, const char *text)
{
	uint64_t *members[COLUMNS_MAX];
	const char *names = text, *name;
	size_t count = 0, n;

	while (count < COLUMNS_MAX && scan_word(&names, &name, &n))
		members[count++] = member_of(conntrack, name, n);
	while (scan_next_line(&text)) {
		const char *line = text;
		uint64_t value;

		for (size_t i = 0; i < count && scan_hex(&line, &value); i++) {
			if (!members[i])
				continue;
			*members[i] = (*members[i] == UINT64_MAX ? 0 : *members[i]) + value;
		}
	}
}

#define PATH "/proc/sys/net/netfilter/nf_conntrack_"

/* Of a file just read, or not (r < 0). */
static int take_number(struct snapshot *snapshot, int r, uint64_t *value)
{
	const char *text;

	if (r < 0)
		return r;
	text = buf_text(&snapshot->text);
	return scan_u64(&text, value) ? 0 : -EBADMSG;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct snapshot_table *table = snapshot_table(snapshot, &conntrack_type);
	struct conntrack_record *conntrack = snapshot_table_add(table);
	int r;

	(void)request;
	if (!conntrack)
		return -E2BIG;
	conntrack->netns = snapshot->netns;
	r = take_number(snapshot, snapshot_read(snapshot, PATH "count"), &conntrack->entries);
	if (r < 0)
		snapshot_table_drop(table);
	/* Module not loaded: no conntrack, no gap. */
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return why_set(why, r, "cannot read nf_conntrack_count: %s", strerror(-r));
	(void)take_number(snapshot, snapshot_read_setting(snapshot, PATH "max"), &conntrack->entries_max);
	(void)take_number(snapshot, snapshot_read_setting(snapshot, PATH "buckets"), &conntrack->buckets);
	/* Without CONFIG_NF_CONNTRACK_PROCFS only the counts exist. */
	if (snapshot_read(snapshot, "/proc/thread-self/net/stat/nf_conntrack") == 0)
		conntrack_parse(conntrack, buf_text(&snapshot->text));
	else
		snapshot_gap(snapshot, "conntrack drops", "no /proc/net/stat/nf_conntrack on this kernel");
	return 0;
}

static const struct record_type *const types[] = {&conntrack_type, NULL};

static const struct snapshot_source conntrack_source = {
	.name = "conntrack",
	.lost = "use of the conntrack table",
	.types = types,
	.stage = STAGE_COUNTERS,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(conntrack_source);
