/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One picture of the host's network, or of some of its network namespaces: a table of records for every record type
 *that was asked for. Sources (one file each) fill the tables and register themselves; a source that fails becomes a row
 *of the table "gap", never a failed snapshot.
 *
 *	struct snapshot *snapshot = snapshot_new();
 *	r = snapshot_take(snapshot, &(struct snapshot_request){.types = wanted}, &why);
 *	snapshot_each(snapshot, socket, struct socket_record, s)
 *		...
 *	r = snapshot_take(...);       the same memory, filled again
 *	snapshot_free(snapshot);
 */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "record/value.h"
#include "snapshot/core/netns.h"

/* Records of one type lie one after the other, as struct list wants them. */
struct snapshot_table {
	const struct record_type *type;
	uint8_t *items;
	size_t count;
	size_t room;
	size_t cap;
	uint64_t refused;          /* records that would have passed the cap */
	bool on_demand;            /* by its source */
	bool wanted;               /* in the taking under way */
	void *blank;               /* a record in which every field is unknown */
	struct table_share *share; /* of a view that several threads fill (table_share.h); else NULL */
};

struct snapshot_request {
	/* NULL: the namespace that the caller is in. */
	const struct netns_list *namespaces;
	/* Record types, NULL at the end; NULL: everything that is not on demand. */
	const struct record_type *const *types;
	/*
	 * With repeated: of TCP only listeners and connections on which something happens (sock_watch.h). A connection
	 * that is missing in such a sample and there in the ones around it was idle. Threads come without their numbers
	 * of switches.
	 */
	bool active_only;
	/* Do not load BPF programs. */
	bool no_bpf;
	/* More samples will follow: what costs at first and pays off later is worth it. */
	bool repeated;
	/* Send nothing, not even a question whether a silent peer is there (keepalive.h). */
	bool passive;
};

struct snapshot {
	uint64_t begin_boot_ns, begin_time_ns;
	uint64_t end_boot_ns, end_time_ns;
	uint64_t sockets_boot_ns; /* when the sockets were read, which may be later than the begin; 0: they were not */
	struct snapshot_table *tables;
	size_t table_count;
	struct snapshot_memory *memory;
	/* For sources while they collect. */
	uint32_t netns; /* inode number of the namespace that the thread is in */
	const struct snapshot_source *source;
	struct buf text;  /* the last file read */
	uint8_t *message; /* netlink messages are received here */
};

/* The kernel never fills more than this at a time. */
#define SNAPSHOT_MESSAGE_MAX 32768

/* When a source runs: later ones look at what earlier ones found. */
enum snapshot_stage {
	STAGE_COUNTERS, /* figures that move by the looking itself come first */
	STAGE_SOCKETS,
	STAGE_OWNERS,
	STAGE_PROCESSES,
	STAGE_REST,
	STAGE_END,
};

struct snapshot_source {
	const char *name;
	const char *lost;                       /* what nobody can know when this source fails */
	const struct record_type *const *types; /* what it fills; NULL at the end */
	const struct record_type *const *needs; /* what it looks at, filled in earlier stages; may be NULL */
	bool any_need; /* what is wanted of these anyway will do; the first one where nothing is */
	enum snapshot_stage stage;
	bool on_demand;    /* only where its types are asked for by name */
	bool per_netns;    /* called once a namespace, from inside it; else once a snapshot */
	size_t state_size; /* zeroed memory that stays from one taking to the next */
	/* May be NULL. Called before any source collects, to begin what can go on beside the others. */
	void (*begin)(struct snapshot *snapshot, const struct snapshot_request *request);
	/* A negative errno, with a sentence where the code alone says too little, becomes a gap. */
	int (*collect)(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why);
	void (*release)(void *state);
};

REGISTRY(snapshot_source, struct snapshot_source);

#define SNAPSHOT_SOURCE(object) REGISTER(snapshot_source, struct snapshot_source, object)

struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot);
static inline void snapshot_freep(struct snapshot **snapshot)
{
	snapshot_free(*snapshot);
}

#define _cleanup_snapshot_ _cleanup_(snapshot_freep)

/* Empties all tables; their memory stays. */
void snapshot_clear(struct snapshot *snapshot);
/* Clears and fills. Fails only when not even a namespace could be entered; all else are gaps. */
int snapshot_take(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why) _must_check_;

/* The table of a type that some source fills, else NULL. */
struct snapshot_table *snapshot_table(const struct snapshot *snapshot, const struct record_type *type);

#define snapshot_each(snapshot, type_object, c_type, item)                                                             \
	for (c_type *item = snapshot_first((snapshot), &(type_object)),                                                \
		    *item##_end_ = snapshot_last((snapshot), &(type_object));                                          \
	     item < item##_end_; item++)

void *snapshot_first(const struct snapshot *snapshot, const struct record_type *type);
void *snapshot_last(const struct snapshot *snapshot, const struct record_type *type);

/* Records lost at the caps of tables, all together. */
uint64_t snapshot_refused(const struct snapshot *snapshot);

/* --- for sources --- */

/* Whether records of the type are wanted, by the caller or by a source that needs them. */
bool snapshot_wants(const struct snapshot *snapshot, const struct record_type *type);
/* A new record in which everything is unknown; NULL when the table is full. Valid until the next one. */
void *snapshot_table_add(struct snapshot_table *table);
/* Takes the last one back. */
void snapshot_table_drop(struct snapshot_table *table);
/* A copy that lives until the next taking; "" when there is no more room. */
const char *snapshot_text(struct snapshot *snapshot, const char *text, size_t len);
/* The zeroed memory of the source that is collecting. */
void *snapshot_state(struct snapshot *snapshot);
/* Notes what could not be seen; lost NULL: what the source says. */
void snapshot_gap(struct snapshot *snapshot, const char *lost, const char *format, ...) _printf_(3, 4);
/* Room for so many records altogether. */
void snapshot_table_reserve(struct snapshot_table *table, size_t room);
/* Reads a whole file into snapshot->text. */
int snapshot_read(struct snapshot *snapshot, const char *path) _must_check_;

/* What could not be seen, and why. */
struct gap_record {
	uint32_t netns;
	const char *source;
	const char *lost;
	const char *why;
};
extern const struct record_type gap_type;
