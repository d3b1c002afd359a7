/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to ClickHouse, read-only; each waits for its answer. */
#pragma once

#include "base/option.h"
#include "fleet/answer.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_url.h"

/* Options of the commands that ask the fleet. */
struct fleet_options {
	const char *url;
	const char *ca_file;
};
extern const struct option_spec fleet_option_table[];

struct fleet_link {
	struct fleet_url url;
	const char *ca_file;
	uint64_t timeout_ns; /* of a question; 0: five minutes */
	struct clickhouse_version version;
	uint64_t unfit;        /* values that did not fit their columns */
	struct answer *answer; /* the last one: its type is valid until the next question */
};

/* Asks the server for its version. */
int fleet_link_open(const struct fleet_options *options, struct fleet_link *ret_link, struct why *why) _must_check_;
void fleet_link_close(struct fleet_link *link);
/* -EINVAL: the server refuses the question; -ECANCELED: a callback has had enough. */
int fleet_query(struct fleet_link *link, const char *sql, const struct answer_ops *ops, struct why *why) _must_check_;
