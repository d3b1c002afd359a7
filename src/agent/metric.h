/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as declarations: which rows of which table of the snapshot, which of their fields are labels, what is added
 * up. A file that declares one registers it.
 *
 *	static const struct metric listener_queue = {
 *		.family = {"nest_listener_queue", OPENMETRICS_GAUGE, NULL, "connections in the accept queue"},
 *		.type = &socket_type, .where = "state == LISTEN", .value = "backlog", .add = METRIC_MAX,
 *		.labels = {{"port", "lport", METRIC_PORT}},
 *	};
 *	METRIC(listener_queue);
 *
 * A label is never an address, a process or an ephemeral port: a series must live as long as the host.
 */
#pragma once

#include "base/why.h"
#include "record/field.h"
#include "snapshot/core/snapshot.h"
#include "view/openmetrics.h"

enum metric_add { METRIC_SUM, METRIC_MAX };

enum metric_label_kind {
	METRIC_PLAIN,
	METRIC_PORT, /* a port that clients are not given by the kernel; the others are "other" */
};

/* Ports from here on are given to clients (net.ipv4.ip_local_port_range). */
#define METRIC_EPHEMERAL 32768

struct metric_label {
	const char *name; /* NULL: no more */
	const char *field;
	enum metric_label_kind kind;
};

struct metric {
	struct openmetrics_family family;
	const struct record_type *type;
	const char *where; /* NULL: all rows */
	const char *value; /* a field; NULL: 1 for each row */
	enum metric_add add;
	struct metric_label labels[3];
	double scale;      /* of the value: 1e-9 for seconds; 0: 1 */
	bool without_rows; /* 0 where there is no row, instead of no series; has no labels */
};

REGISTRY(metric, struct metric);

#define METRIC(object) REGISTER(metric, struct metric, object)

/* Whether the declarations hold: fields exist, labels are allowed. -EINVAL: a bug. */
int metric_check_all(struct why *why) _must_check_;
/* The record types that some metric needs; NULL at the end, to be freed. */
const struct record_type **metric_types(void);
/* All registered metrics, of a snapshot. */
void metric_write_all(struct openmetrics *out, const struct snapshot *snapshot);
