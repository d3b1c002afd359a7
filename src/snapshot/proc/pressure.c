/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/pressure.h"

#define P struct pressure_record
static const struct field pressure_fields[] = {
	FIELD(P, resource, TEXT, "resource: cpu, memory or io"),
	FIELD(P, full, BOOL, "all tasks were stalled (full); otherwise at least one (some)"),
	FIELD(P, avg10, RATIO, "share of the last 10 s", .unit = "%", .drift = DRIFTS),
	FIELD(P, avg60, RATIO, "share of the last 60 s", .unit = "%", .drift = DRIFTS),
	FIELD(P, avg300, RATIO, "share of the last 300 s", .unit = "%", .hidden = true, .drift = DRIFTS),
	FIELD(P, total_ns, DURATION, "stall time since boot", .drift = DRIFTS),
};
#undef P
RECORD_TYPE(pressure_type, "pressure", struct pressure_record, pressure_fields,
	    "pressure stall information (PSI) of a resource");

/* "avg10=12.34" in percent, stored as a share. */
static bool scan_share(const char **text, const char *key, double *ret_share)
{
	size_t len = strlen(key), n;
	const char *word;
	char number[32];
	double percent;

	if (!scan_word(text, &word, &n) || n <= len || n - len >= sizeof(number) || memcmp(word, key, len) != 0)
		return false;
	memcpy(number, word + len, n - len);
	number[n - len] = '\0';
	if (parse_double(number, 0, 100, &percent) < 0)
		return false;
	*ret_share = percent / 100;
	return true;
}

int pressure_parse_line(const char *line, struct pressure_record *pressure)
{
	const char *word;
	uint64_t total;
	size_t n;

	if (!scan_word(&line, &word, &n) || n != 4 || (memcmp(word, "some", 4) != 0 && memcmp(word, "full", 4) != 0))
		return -EBADMSG;
	pressure->full = word[0] == 'f';
	if (!scan_share(&line, "avg10=", &pressure->avg10) || !scan_share(&line, "avg60=", &pressure->avg60) ||
	    !scan_share(&line, "avg300=", &pressure->avg300))
		return -EBADMSG;
	line += strspn(line, " ");
	if (strncmp(line, "total=", 6) != 0)
		return -EBADMSG;
	line += 6;
	if (!scan_u64(&line, &total))
		return -EBADMSG;
	pressure->total_ns = total > UINT64_MAX / 1000 ? UINT64_MAX : total * 1000;
	return 0;
}

void pressure_parse(struct snapshot *snapshot, const char *resource, const char *text)
{
	struct snapshot_table *table = snapshot_table(snapshot, &pressure_type);

	do {
		struct pressure_record *pressure = snapshot_table_add(table);

		if (!pressure)
			return;
		if (pressure_parse_line(text, pressure) < 0)
			snapshot_table_drop(table);
		else
			snprintf(pressure->resource, sizeof(pressure->resource), "%s", resource);
	} while (scan_next_line(&text));
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	static const char *const resources[] = {"cpu", "memory", "io"};

	(void)request;
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		char path[40];
		int r;

		snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
		r = snapshot_read(snapshot, path);
		if (r == -ENOENT || r == -EOPNOTSUPP)
			return why_set(why, r,
				       "no pressure stall information on this kernel (needs CONFIG_PSI and boot "
				       "parameter psi=1)");
		if (r < 0)
			return why_set(why, r, "cannot read %s: %s", path, strerror(-r));
		pressure_parse(snapshot, resources[i], buf_text(&snapshot->text));
	}
	return 0;
}

static const struct record_type *const types[] = {&pressure_type, NULL};

static const struct snapshot_source pressure_source = {
	.name = "pressure",
	.lost = "CPU, memory and I/O pressure",
	.types = types,
	.stage = STAGE_COUNTERS,
	.collect = collect,
};
SNAPSHOT_SOURCE(pressure_source);
