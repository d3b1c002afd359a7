/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ships rows: records become rows of batches (10,000 rows, or what 5 seconds brought), batches go through the spool to
 * the server (sender.h). Rows are accepted without waiting; what the spool cannot hold is dropped, oldest first, and
 * counted.
 *
 *	r = shipper_new(loop, &options, &origin, &shipper, &why);
 *	shipper_add(shipper, "tcp.close", row_number, &shape, &record);     as often as it happens
 *	shipper_finish(shipper);                                            at the end
 */
#pragma once

#include "base/option.h"
#include "fleet/sender.h"

/* Options of the commands that ship; for OPTION_GROUP. */
struct ship_options {
	const char *url;
	const char *spool;
	uint64_t spool_size;
	const char *token_file;
	const char *ca_file;
	bool may_be_there; /* the rows may have been shipped before: look for them first */
};

/* Without --token-file, for commands that have it for other uses as well. */
extern const struct option_spec ship_option_table[];
#define SHIP_TOKEN_OPTION(type, member)                                                                                \
	OPTION(type, member, TEXT, "token-file", 0, "FILE",                                                            \
	       "the token of the collector is the first line of this file", .file = FILE_READ)
#define SHIP_SPOOL_SIZE ((uint64_t)256 << 20)

struct shipper;

struct shipper_figures {
	uint64_t rows;    /* given to it */
	uint64_t lost;    /* that will not arrive: dropped, refused, or not written to the spool */
	uint64_t waiting; /* not yet sent, in memory or in the spool */
	struct sender_figures sender;
};

/* The origin of rows of this host, from now on. */
void shipper_origin_here(struct fleet_origin *origin, uint64_t stream);

/* report: as in sender_options; may be NULL. Options stay the caller's. */
int shipper_new(struct loop *loop, const struct ship_options *options, const struct fleet_origin *origin,
		void (*report)(void *context, const char *text), void *context, struct shipper **ret_shipper,
		struct why *why) _must_check_;
void shipper_free(struct shipper *shipper);
static inline void shipper_freep(struct shipper **shipper)
{
	shipper_free(*shipper);
}

/* Rows of tables that are not the fleet's are ignored. row: its number in the table. */
void shipper_add(struct shipper *shipper, const char *table, uint64_t row, const struct shape *shape,
		 const struct record *record);
/* The same of a row that cells() writes as fleet_row_add_cells does. */
typedef uint64_t shipper_cells_fn(struct buf *out, const void *context);
void shipper_add_cells(struct shipper *shipper, const char *table, uint64_t row, shipper_cells_fn *cells,
		       const void *context);
/* Moves what was added to the spool. */
void shipper_flush(struct shipper *shipper);
/* Called when everything was sent. */
void shipper_on_idle(struct shipper *shipper, void (*fn)(void *context), void *context);
/* Flushes, and sends what it can within this time; the rest waits in the spool for the next process. */
void shipper_finish(struct shipper *shipper, uint64_t limit_ns);
/* Bytes that wait: a reader of a file pauses while it is much. */
uint64_t shipper_waiting_bytes(const struct shipper *shipper);
struct shipper_figures shipper_look(const struct shipper *shipper);
/* Why the last request failed; "" while it works. */
const char *shipper_why(const struct shipper *shipper);
