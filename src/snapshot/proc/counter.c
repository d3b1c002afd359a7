/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/proc/counter.h"

#define NAME_MAX_LEN 96
#define COLUMNS_MAX  64

static const struct field counter_fields[] = {
	FIELD(struct counter_record, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(struct counter_record, counter, TEXT, "counter name, as nstat prints it"),
	FIELD(struct counter_record, value, COUNT, "current value"),
	FIELD(struct counter_record, gauge, BOOL, "gauge or setting: may decrease", .hidden = true),
};
RECORD_TYPE(counter_type, "counter", struct counter_record, counter_fields, "a protocol counter (SNMP)");

static bool is_gauge(const char *name)
{
	static const char *const gauges[] = {"IpForwarding", "IpDefaultTTL",      "TcpRtoAlgorithm",
					     "TcpRtoMin",    "TcpRtoMax",         "TcpMaxConn",
					     "TcpCurrEstab", "arp_cache.entries", "ndisc_cache.entries"};

	for (size_t i = 0; i < ARRAY_SIZE(gauges); i++)
		if (strcmp(gauges[i], name) == 0)
			return true;
	return false;
}

/* A negative value means "no limit" and stays unknown. */
static void add(struct snapshot *snapshot, const char *name, size_t len, int64_t value)
{
	struct counter_record *counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));

	if (!counter)
		return;
	counter->netns = snapshot->netns;
	counter->counter = snapshot_text(snapshot, name, len);
	counter->gauge = is_gauge(counter->counter);
	if (value >= 0)
		counter->value = (uint64_t)value;
}

void counter_parse_pairs(struct snapshot *snapshot, const char *text)
{
	do {
		const char *names = text, *values, *group, *check;
		char name[NAME_MAX_LEN];
		size_t group_len, check_len;

		if (!scan_next_line(&text))
			return;
		values = text;
		if (!scan_word(&names, &group, &group_len) || !scan_word(&values, &check, &check_len))
			continue;
		/* Both lines of a pair begin with the same "Tcp:". */
		if (group_len < 2 || group_len != check_len || memcmp(group, check, group_len) != 0 ||
		    group[group_len - 1] != ':' || group_len > 32)
			return;
		group_len--;
		memcpy(name, group, group_len);
		for (;;) {
			const char *word;
			int64_t value;
			size_t n;

			if (!scan_word(&names, &word, &n) || !scan_i64(&values, &value))
				break;
			if (group_len + n >= sizeof(name))
				continue;
			memcpy(name + group_len, word, n);
			name[group_len + n] = '\0';
			add(snapshot, name, group_len + n, value);
		}
	} while (scan_next_line(&text));
}

void counter_parse_lines(struct snapshot *snapshot, const char *text)
{
	do {
		const char *line = text, *word;
		int64_t value;
		size_t n;

		if (scan_word(&line, &word, &n) && n < NAME_MAX_LEN && scan_i64(&line, &value))
			add(snapshot, word, n, value);
	} while (scan_next_line(&text));
}

void counter_parse_columns(struct snapshot *snapshot, const char *group, const char *text)
{
	uint64_t sums[COLUMNS_MAX] = {}, first = 0;
	const char *names = text, *word;
	char name[NAME_MAX_LEN];
	bool any = false;
	size_t n;

	while (scan_next_line(&text)) {
		const char *line = text;
		uint64_t value;

		for (size_t i = 0; i < COLUMNS_MAX && scan_hex(&line, &value); i++) {
			sums[i] += value;
			any = true;
			/* Every line repeats the total number of entries: do not sum it. */
			if (i == 0)
				first = value;
		}
	}
	if (!any)
		return;
	sums[0] = first;
	for (size_t i = 0; i < COLUMNS_MAX && scan_word(&names, &word, &n); i++) {
		int len = snprintf(name, sizeof(name), "%s%.*s", group, (int)min_of(n, (size_t)64), word);

		add(snapshot, name, (size_t)len, (int64_t)min_of(sums[i], (uint64_t)INT64_MAX));
	}
}

/* The first counter of another namespace: those of one mostly stand together, some hundreds of them. */
static const struct counter_record *next_netns(const struct counter_record *counter, const struct counter_record *end)
{
	uint32_t netns = counter->netns;
	size_t step = 256;

	for (; step; step /= 2)
		while ((size_t)(end - counter) > step && counter[step].netns == netns)
			counter += step;
	return counter + 1;
}

uint64_t counter_find(const struct snapshot *snapshot, uint32_t netns, const char *name)
{
	const struct counter_record *counter = snapshot_first(snapshot, &counter_type),
				    *end = snapshot_last(snapshot, &counter_type);

	while (counter < end) {
		if (counter->netns != netns)
			counter = next_netns(counter, end);
		else if (strcmp(counter->counter, name) == 0)
			return counter->value;
		else
			counter++;
	}
	return UINT64_MAX;
}

/* 0: read; 1: this kernel does not have the file and it is optional. */
static int read_optional(struct snapshot *snapshot, const char *path, bool must)
{
	int r = snapshot_read(snapshot, path);

	return r == -ENOENT && !must ? 1 : r;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	static const struct {
		const char *path;
		const char *group; /* prefix of column names */
		bool pairs;
		bool must;
	} files[] = {
		{"/proc/thread-self/net/snmp", NULL, true, true},
		{"/proc/thread-self/net/netstat", NULL, true, true},
		{"/proc/thread-self/net/snmp6", NULL, false, false},
		{"/proc/thread-self/net/xfrm_stat", NULL, false, false},
		{"/proc/thread-self/net/stat/arp_cache", "arp_cache.", false, false},
		{"/proc/thread-self/net/stat/ndisc_cache", "ndisc_cache.", false, false},
	};

	(void)request;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r = read_optional(snapshot, files[i].path, files[i].must);

		if (r < 0)
			return why_set(why, r, "cannot read %s: %s", files[i].path, strerror(-r));
		if (r > 0)
			continue;
		if (files[i].group)
			counter_parse_columns(snapshot, files[i].group, buf_text(&snapshot->text));
		else if (files[i].pairs)
			counter_parse_pairs(snapshot, buf_text(&snapshot->text));
		else
			counter_parse_lines(snapshot, buf_text(&snapshot->text));
	}
	return 0;
}

static const struct record_type *const types[] = {&counter_type, NULL};

static const struct snapshot_source counter_source = {
	.name = "counter",
	.lost = "protocol counters",
	.types = types,
	.stage = STAGE_COUNTERS,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(counter_source);
