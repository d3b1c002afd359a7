/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/moment.h"

#include <string.h>

#include "base/clock.h"
#include "store/sql.h"

/* Two ticks of the kernel's clock at 100 Hz, which it counts these durations in, and a little. */
#define TOLERANCE_NS     (25 * NSEC_PER_MSEC)
#define TOLERANCE_MAX_NS (250 * NSEC_PER_MSEC)
/* Longest duration that is kept: 73 years. Longer ones are not durations. */
#define DURATION_MAX (INT64_MAX / 4)

/* The rows of a sample are not read at one time. */
int64_t moment_tolerance(const struct snapshot *snapshot)
{
	uint64_t took_ns =
		snapshot->end_boot_ns > snapshot->begin_boot_ns ? snapshot->end_boot_ns - snapshot->begin_boot_ns : 0;

	return (int64_t)min_of(TOLERANCE_NS + took_ns, TOLERANCE_MAX_NS);
}

char *moment_column(const struct field *field)
{
	size_t len = strlen(field->name), unit = len > 3 && strcmp(field->name + len - 3, "_ns") == 0 ? 3 : 0;

	return xasprintf("%.*s_boot_ns", (int)(len - unit), field->name);
}

bool moment_get(const struct field *field, const void *data, int64_t reference_ns, int64_t *ret_moment_ns)
{
	struct value value = value_get(field, data);

	if (value.class != VALUE_UINT || value.uint > DURATION_MAX)
		return false;
	*ret_moment_ns =
		field->moment == MOMENT_UNTIL ? reference_ns + (int64_t)value.uint : reference_ns - (int64_t)value.uint;
	return true;
}

static int64_t duration(const struct field *field, int64_t reference_ns, int64_t moment_ns)
{
	int64_t ns;

	if (field->moment == MOMENT_UNTIL ? __builtin_sub_overflow(moment_ns, reference_ns, &ns)
					  : __builtin_sub_overflow(reference_ns, moment_ns, &ns))
		return -1;
	return max_of(ns, INT64_C(0));
}

void moment_set(const struct field *field, void *data, int64_t reference_ns, int64_t moment_ns)
{
	int64_t ns = duration(field, reference_ns, moment_ns);
	uint64_t known = (uint64_t)ns;

	if (ns < 0)
		value_set_unknown(field, data);
	else
		memcpy((char *)data + field->offset, &known, sizeof(known));
}

bool moment_holds(const struct field *field, int64_t held_ns, int64_t now_ns, int64_t reference_ns,
		  int64_t tolerance_ns)
{
	int64_t apart = now_ns > held_ns ? now_ns - held_ns : held_ns - now_ns;

	if (field->moment == MOMENT_UNTIL && now_ns == reference_ns && held_ns <= reference_ns)
		return true;
	return apart <= tolerance_ns;
}

void moment_add_readable(const struct field *field, struct buf *sql)
{
	_cleanup_free_ char *column = moment_column(field);
	bool until = field->moment == MOMENT_UNTIL;

	/* NULL stays NULL. */
	buf_add_text(sql, until ? "max(0, t." : "max(0, ifnull(s.sockets_boot_ns, s.begin_boot_ns) - t.");
	sql_add_name(sql, column);
	buf_add_text(sql, until ? " - ifnull(s.sockets_boot_ns, s.begin_boot_ns))" : ")");
}
