/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL for ClickHouse, made from the field tables; nothing here talks to a server. The oldest server that is served is
 * 18.16 (Debian); what it lacks is left out by version.
 */
#pragma once

#include "fleet/batch.h"

struct clickhouse_version {
	unsigned major, minor;
};

/* "24.8.4.13\n"; -EINVAL. */
int clickhouse_parse_version(const char *text, struct clickhouse_version *ret_version) _must_check_;
/* Whether the setting `final` counts rows that arrived twice once; otherwise FINAL behind the table does. */
bool clickhouse_has_final(struct clickhouse_version version);
/* `name`, with its backticks. */
void clickhouse_add_name(struct buf *sql, const char *name);
/* 'text', escaped. */
void clickhouse_add_text(struct buf *sql, const char *text);
/* LowCardinality(Nullable(String)) */
void clickhouse_add_type(struct buf *sql, const struct field *field, struct clickhouse_version version);

void clickhouse_add_create(struct buf *sql, const char *database, const struct fleet_table *table,
			   struct clickhouse_version version);
/* Statement that lists the columns of a table, one name per line. */
void clickhouse_add_list_columns(struct buf *sql, const char *database, const char *table);
/* The statement that adds the columns the server's table does not have; false: there is none to add. */
bool clickhouse_add_alter(struct buf *sql, const char *database, const struct fleet_table *table, const char *columns,
			  struct clickhouse_version version);
/* Statement that answers with the batches that are stored: host, boot, stream and first row, tab-separated. */
void clickhouse_add_find(struct buf *sql, const char *database, const char *table, const struct batch *batches,
			 size_t count);
/* Whether such an answer names the batch. */
bool clickhouse_found(const char *answer, size_t len, const struct batch *batch);
/* The path of a request that writes; statement NULL: it is in the body. */
void clickhouse_add_path(struct buf *path, const char *statement);
/* The path of a question, with the statement or for one in the body; nothing on the server changes. */
void clickhouse_add_query(struct buf *path, const char *database, struct clickhouse_version version,
			  const char *statement);
void clickhouse_add_insert(struct buf *sql, const char *database, const char *table);
/* Whether the server refuses the rows themselves, so that sending them again is useless. */
bool clickhouse_refuses_rows(long status, const char *body, size_t len);
