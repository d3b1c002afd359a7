/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as text: OpenMetrics, or the older text format of Prometheus, which names the family of a counter with its
 * suffix. The number of series is bounded; what is beyond the bound is counted, not written.
 */
#pragma once

#include "base/buf.h"

enum openmetrics_kind { OPENMETRICS_GAUGE, OPENMETRICS_COUNTER, OPENMETRICS_HISTOGRAM };

struct openmetrics_family {
	const char *name; /* with its unit, without _total */
	enum openmetrics_kind kind;
	const char *unit; /* seconds, bytes; NULL: none */
	const char *help;
};

struct openmetrics_label {
	const char *name;
	const char *value;
};

#define OPENMETRICS_LABELS 4

struct openmetrics {
	struct buf *out;
	bool old_format;
	uint64_t series_max;
	uint64_t series, dropped;
	const struct openmetrics_family *family;
};

/* All samples of a family follow. */
void openmetrics_begin(struct openmetrics *metrics, const struct openmetrics_family *family);
/* A label without a value is left out. */
void openmetrics_add(struct openmetrics *metrics, const struct openmetrics_label *labels, size_t count, double value);
/* counts: of each bucket, the last one of what is beyond the last bound; not cumulative. */
void openmetrics_add_histogram(struct openmetrics *metrics, const struct openmetrics_label *labels, size_t label_count,
			       const double *bounds, size_t bound_count, const uint64_t *counts, double sum);
void openmetrics_end(struct openmetrics *metrics);
