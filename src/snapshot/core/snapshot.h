/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot is one sample of the network state of the host or of some network namespaces: a table of records for every
 * requested record type. Sources (one file each) register themselves and fill the tables; a source that fails becomes a
 * row of table "gap", never a failed snapshot.
 *
 *	struct snapshot *snapshot = snapshot_new();
 *	r = snapshot_take(snapshot, &(struct snapshot_request){.types = wanted}, &why);
 *	snapshot_each(snapshot, socket, struct socket_record, s)
 *		...
 *	r = snapshot_take(...);       the next sample, in the same memory
 *	snapshot_free(snapshot);
 */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "record/value.h"
#include "snapshot/core/netns.h"

/* Records of one type, contiguous as struct list expects them. */
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
	struct table_share *share; /* of a table filled by two threads (table_share.h); otherwise NULL */
};

/* What the caller leaves out on purpose. */
struct snapshot_left_out {
	const char *lost, *why;
};

struct snapshot_request {
	/* NULL: the current namespace. */
	const struct netns_list *namespaces;
	/* Record types, NULL at the end; NULL: everything that is not on demand. */
	const struct record_type *const *types;
	/*
	 * With repeated: of TCP only listeners and active connections (sock_watch.h). A connection that is missing in
	 * one sample and present in those around it was idle. Threads come without context switch counts.
	 */
	bool active_only;
	/*
	 * With active_only: follow about this many connections that wait and this many that move at most, the same ones
	 * from sample to sample (sock_watch.h); 0: all active ones.
	 */
	size_t followed_max;
	/* Of those that move, only about this many; 0: as many as of the others. */
	size_t moving_max;
	/* active_only where there are very many connections (run/sampler.h). */
	bool thrifty;
	/* Do not load BPF programs. */
	bool no_bpf;
	/* More samples follow: sources may cache and keep state. */
	bool repeated;
	/* Send nothing, not even keep-alive segments (keepalive.h). */
	bool passive;
	/* Gaps of every sample. */
	const struct snapshot_left_out *left_out;
	size_t left_out_count;
	/* The process that the sample is for, where that is another one (run/sampler.h); 0: this one. */
	uint32_t asker;
};

struct snapshot {
	uint64_t begin_boot_ns, begin_time_ns;
	uint64_t end_boot_ns, end_time_ns;
	uint64_t sockets_boot_ns; /* when the sockets were read; 0: not read */
	uint64_t pace_ns;         /* set by the caller: how far apart samples are meant to be; 0: unknown */
	struct snapshot_table *tables;
	size_t table_count;
	struct snapshot_memory *memory;
	/* For sources, during collect(). */
	uint32_t netns; /* inode number of the current namespace */
	const struct snapshot_source *source;
	struct buf text;  /* content of the last file read */
	uint8_t *message; /* receive buffer for netlink */
};

/* The kernel returns at most this much per read. */
#define SNAPSHOT_MESSAGE_MAX 32768

/* Run order: later sources use the tables of earlier ones. */
enum snapshot_stage {
	STAGE_COUNTERS, /* first: sampling itself moves the counters */
	STAGE_SOCKETS,
	STAGE_OWNERS,
	STAGE_PROCESSES,
	STAGE_REST,
	STAGE_LAST, /* questions about what earlier stages found */
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
	/* A negative errno becomes a gap; why: the reason, if errno alone is not clear. */
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

/* Empties all tables; keeps their memory. */
void snapshot_clear(struct snapshot *snapshot);
/* Takes a sample. Fails only if no namespace can be entered; all other failures are gaps. */
int snapshot_take(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why) _must_check_;

/* The table of a type; NULL: no source fills it. */
struct snapshot_table *snapshot_table(const struct snapshot *snapshot, const struct record_type *type);

#define snapshot_each(snapshot, type_object, c_type, item)                                                             \
	for (c_type *item = snapshot_first((snapshot), &(type_object)),                                                \
		    *item##_end_ = snapshot_last((snapshot), &(type_object));                                          \
	     item < item##_end_; item++)

void *snapshot_first(const struct snapshot *snapshot, const struct record_type *type);
void *snapshot_last(const struct snapshot *snapshot, const struct record_type *type);

/* Records lost to the caps of all tables. */
uint64_t snapshot_refused(const struct snapshot *snapshot);

/* --- for sources --- */

/* Whether the caller or a dependent source wants the type. */
bool snapshot_wants(const struct snapshot *snapshot, const struct record_type *type);
/* A new record with all fields unknown, valid until the next call; NULL: table full. */
void *snapshot_table_add(struct snapshot_table *table);
/* Removes the last record. */
void snapshot_table_drop(struct snapshot_table *table);
/* A copy, valid until the next sample; "": out of room. */
const char *snapshot_text(struct snapshot *snapshot, const char *text, size_t len);
/* Room for texts of this many bytes, valid until the next sample; NULL: out of room. */
char *snapshot_text_room(struct snapshot *snapshot, size_t size);
/* Texts that did not fit, and more of them that another process knows of. */
uint64_t snapshot_texts_refused(const struct snapshot *snapshot);
void snapshot_refuse_texts(struct snapshot *snapshot, uint64_t count);
/* State of the source in collect(); zeroed at first. */
void *snapshot_state(struct snapshot *snapshot);
/* Notes a gap; lost NULL: that of the source. */
void snapshot_gap(struct snapshot *snapshot, const char *lost, const char *format, ...) _printf_(3, 4);
/* Ensures room for ROOM records in total. */
void snapshot_table_reserve(struct snapshot_table *table, size_t room);
/* Reads a whole file into snapshot->text. */
int snapshot_read(struct snapshot *snapshot, const char *path) _must_check_;
/* The same for a setting, up to one second old (settings.h); path must be a constant. */
int snapshot_read_setting(struct snapshot *snapshot, const char *path) _must_check_;

/* Missing data, and why: type "gap". */
struct gap_record {
	uint32_t netns;
	const char *source;
	const char *lost;
	const char *why;
};
extern const struct record_type gap_type;
