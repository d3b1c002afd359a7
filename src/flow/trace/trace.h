/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a function trace. The file is mapped; opening it only scans the chunk headers, and a cursor then reads each
 * thread's events in order, at a few nanoseconds per event and without allocation:
 *
 *   r = flow_trace_open("server.trace", &trace, &why);
 *   for (size_t i = 0; i < trace->thread_count; i++) {
 *           struct flow_cursor cursor;
 *           struct flow_event event;
 *
 *           flow_cursor_begin(&cursor, trace, i);
 *           while (flow_cursor_next(&cursor, &event))
 *                   if (event.kind == FLOW_CALL)
 *                           count(trace->functions[event.fn].name);
 *   }
 *   flow_trace_close(trace);
 *
 * The first cursor that reaches a chunk verifies it. Damaged or missing parts appear as FLOW_LOST events, never
 * silently. All threads in order of time: flow_merge_next.
 */
#pragma once

#include "base/addr.h"
#include "base/why.h"
#include "flow/trace/trace_format.h"

/* Events from a cursor. */
enum flow_kind {
	FLOW_CALL,         /* fn */
	FLOW_RETURN,       /* of the innermost open call */
	FLOW_UNWIND,       /* value: number of innermost calls that ended without returning */
	FLOW_LOST,         /* value: events missing here (0: unknown number); all open calls are void */
	FLOW_STACK,        /* words: open functions, outermost first (flow_event_stack) */
	FLOW_THREAD_START, /* flow_event_name */
	FLOW_THREAD_END,
	FLOW_PROCESS,   /* arg: enum flow_process; words: parent's pid and thread */
	FLOW_SOCKET,    /* flow_event_socket */
	FLOW_OPERATION, /* flow_event_operation */
	FLOW_VALUE,     /* arg: enum flow_value; value */
	FLOW_ARGS,      /* of the preceding call: flow_event_argument */
	FLOW_DELAY,     /* arg: enum flow_delay; value: nanoseconds on the run queue; flow_event_look */
	FLOW_UNKNOWN,   /* kind unknown to this reader */
};

struct flow_event {
	uint64_t ticks; /* converted by flow_ns */
	uint32_t kind;  /* enum flow_kind */
	uint32_t fn;    /* FLOW_CALL: index into flow_trace.functions */
	uint64_t value;
	uint32_t arg;
	uint32_t word_count;
	const uint32_t *words; /* payload of the kind; points into the trace */
};

/* A socket operation; see docs/flow-format.md for unknown and missing values. */
struct flow_operation {
	enum flow_op op;
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint32_t socket; /* number of the socket in the trace, the same across dup and fork; 0: unknown or none */
	int32_t fd;
	int64_t result; /* bytes, descriptor or count; negative errno */
	uint64_t aux;
	const uint32_t *extra; /* FLOW_OP_WAIT: ready descriptors (flow_operation_ready) */
	uint32_t extra_count;
};

/* One ready descriptor. */
struct flow_ready {
	uint64_t data;   /* epoll_ctl data (aux of FLOW_OP_WATCH), or the descriptor for poll and select */
	uint32_t events; /* EPOLLIN ... */
};

struct flow_socket {
	uint32_t socket; /* number in this trace */
	int32_t fd;
	uint64_t cookie; /* kernel cookie, the same in every process; 0: unknown */
	uint16_t family;
	uint16_t type;
	struct endpoint local; /* family ADDR_UNKNOWN: unknown */
	struct endpoint remote;
};

struct flow_module {
	uint32_t id;
	const char *path;
	const char *name;     /* last part of the path */
	const char *build_id; /* hexadecimal; "": none */
	uint64_t bias;
	uint64_t begin, end;
};

struct flow_function {
	uint32_t id;      /* as in the file; several ids may map to one function */
	const char *name; /* never NULL; "module+0x1234" without a symbol */
	bool named;       /* the name is a symbol */
	const char *file; /* source file; NULL: unknown */
	uint32_t line;    /* 0: unknown */
	uint32_t module;  /* index into flow_trace.modules */
	uint64_t offset;  /* module-relative address */
};

struct flow_chunk_ref {
	struct flow_chunk header;
	const uint32_t *words;
	uint32_t word_count;
	bool verified; /* already checked, or from the live buffers */
};

struct digest_row;

struct flow_thread {
	uint32_t id; /* number in this trace */
	uint32_t pid, tid;
	char name[17]; /* "": unknown */
	uint64_t start_ticks, end_ticks;
	uint64_t events, calls; /* from the chunk headers */
	uint64_t lost;
	size_t chunk_count;
	struct flow_chunk_ref *chunks;
	/* Set for a summarised session that stands for many (flow/trace/digest.h); NULL: a real thread. */
	const struct digest_row *summary;
};

struct flow_trace {
	size_t thread_count;
	struct flow_thread *threads; /* ordered by first event */
	size_t function_count;
	struct flow_function *functions; /* [0] stands for functions not described in the trace */
	size_t module_count;
	struct flow_module *modules; /* [0] stands for modules not described in the trace */
	uint64_t events, calls, lost;
	uint64_t bytes;         /* of the file */
	uint64_t damaged_bytes; /* bytes of the file outside any chunk (torn end, bad header) */
	uint64_t torn_bytes;    /* of these, bytes whose contents are stored elsewhere or counted as lost */
	size_t late_count;
	struct flow_late *late; /* scheduling delays of the recorder: in order of time, apart */
	uint64_t first_ticks, last_ticks;
	uint64_t ticks_per_second; /* 1,000,000,000: ticks are nanoseconds */
	bool complete;             /* ended regularly and undamaged */
	bool untimed;              /* some chunks have time only on few events */
	bool summarised;           /* summarised while recording: kinds of sessions with average times */
	uint64_t cut;              /* calls that did not fit into a summary: counted, in no tree */
	uint64_t dispatched;       /* calls of dispatcher functions in a summary: also in no tree */
	uint64_t recorded_threads; /* total, when they are not listed individually */

	/* Private to the reader. */
	struct flow_trace_file *file;
	const uint32_t *fn_index; /* id -> function; at least FLOW_SHORT_FN entries */
	uint32_t fn_index_count;
	uint64_t clock_ticks, clock_ns; /* the same moment in both clocks */
	uint64_t ns_per_tick;           /* fixed point, 2^48 = 1 */
};

/* -EBADMSG with a reason when it is not a trace; damaged parts are skipped and counted. */
int flow_trace_open(const char *path, struct flow_trace **ret_trace, struct why *why) _must_check_;
/* The same for bytes in memory, which must outlive the trace. */
int flow_trace_open_memory(const void *data, size_t size, struct flow_trace **ret_trace, struct why *why) _must_check_;
void flow_trace_close(struct flow_trace *trace);
/* The bytes may leave memory; reading them again faults them back in. */
void flow_trace_release(const struct flow_trace *trace, const void *words, size_t bytes);
/* Prefetches the bytes. */
void flow_trace_want(const struct flow_trace *trace, const void *words, size_t bytes);
static inline void flow_trace_closep(struct flow_trace **trace)
{
	flow_trace_close(*trace);
}
#define _cleanup_flow_trace_ _cleanup_(flow_trace_closep)

/* A property written by the recorder ("host", "command", "kernel", ...), or NULL. */
const char *flow_trace_property(const struct flow_trace *trace, const char *key);

/* Of a FLOW_DELAY. */
static inline struct flow_look flow_event_look(const struct flow_event *event)
{
	bool has_cpu = event->word_count >= 5;

	return (struct flow_look){
		.delay_ns = event->value,
		.cpu_ns = has_cpu ? flow_u64(event->words + 3) : 0,
		.runs = event->word_count >= 3 && event->words[2] ? event->words[2] : 1,
		.has_cpu = has_cpu,
	};
}

static inline uint64_t flow_span_ns(const struct flow_trace *trace, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * trace->ns_per_tick >> 48);
}

/* CLOCK_REALTIME of a tick value. */
static inline uint64_t flow_ns(const struct flow_trace *trace, uint64_t ticks)
{
	return ticks >= trace->clock_ticks ? trace->clock_ns + flow_span_ns(trace, ticks - trace->clock_ticks)
					   : trace->clock_ns - flow_span_ns(trace, trace->clock_ticks - ticks);
}

/* --- one thread's events --- */

struct flow_cursor {
	const uint32_t *at, *end;
	uint64_t ticks;
	const uint32_t *fn_index;
	const struct flow_trace *trace;
	const struct flow_thread *thread;
	size_t chunk; /* the next one */
	/* Chunks prefetched together, up to this one. */
	size_t window_end;
	const void *window;
	size_t window_bytes;
	uint32_t windows;  /* windows left behind */
	uint32_t next_seq; /* expected number of the next chunk */
	uint32_t returns;  /* pending returns of the current word, plus 1 */
	/* During a repeat: its words, remaining repeats, and where to continue. */
	const uint32_t *again, *then, *then_end;
	uint32_t again_left;
	uint32_t again_total; /* approximate number of repeated events in this chunk */
	uint64_t many_total;  /* counted returns in this chunk */
	uint64_t damaged;     /* chunks with a bad checksum or invalid words */
};

void flow_cursor_begin(struct flow_cursor *cursor, const struct flow_trace *trace, size_t thread);
/* Slow path: chunk changes, and everything except calls and returns. */
bool flow_cursor_next_other(struct flow_cursor *cursor, struct flow_event *ret_event);

/* False at the end of the thread. value, arg and words are not set for calls and returns. */
static inline bool flow_cursor_next(struct flow_cursor *cursor, struct flow_event *ret_event)
{
	uint32_t word;

	if (unlikely(cursor->at == cursor->end))
		return flow_cursor_next_other(cursor, ret_event);
	word = *cursor->at;
	if (unlikely((int32_t)word < 0))
		return flow_cursor_next_other(cursor, ret_event);
	if ((word & 3) == FLOW_TAG_RETURN) {
		cursor->ticks += word >> 2;
		ret_event->kind = FLOW_RETURN;
	} else if ((word & 3) == FLOW_TAG_CALL) {
		cursor->ticks += word >> 14;
		ret_event->kind = FLOW_CALL;
		ret_event->fn = cursor->fn_index[word >> 2 & (FLOW_SHORT_FN - 1)];
	} else {
		return flow_cursor_next_other(cursor, ret_event);
	}
	ret_event->ticks = cursor->ticks;
	cursor->at++;
	return true;
}

/* Clear in short calls and returns. */
#define FLOW_WORD_NOT_SHORT (FLOW_MANY | 2u)

/* Vector of words, unaligned. */
typedef uint32_t flow_words __attribute__((vector_size(16), aligned(4), may_alias));

/* Sums the ticks of a vector of short calls and returns; false: it holds another kind of word. */
static inline bool flow_skim(const uint32_t *at, uint64_t *ticks)
{
	const flow_words *w = (const flow_words *)at;
	flow_words any = w[0] | w[1] | w[2] | w[3], sum = {};

	if (((any[0] | any[1] | any[2] | any[3]) & FLOW_WORD_NOT_SHORT))
		return false;
	for (unsigned i = 0; i < 4; i++) {
		flow_words is_return = -(w[i] & FLOW_TAG_RETURN);

		/* At most four times 29 bits. */
		sum += (w[i] >> 2 & is_return) | (w[i] >> 14 & ~is_return);
	}
	*ticks += (uint64_t)sum[0] + sum[1] + sum[2] + sum[3];
	return true;
}

/* The next event other than a call or return, for socket analyses. */
static inline bool flow_cursor_next_notable(struct flow_cursor *cursor, struct flow_event *ret_event)
{
	do {
		const uint32_t *at = cursor->at, *end = cursor->end;
		uint64_t ticks = cursor->ticks;

		while (end - at >= 16 && flow_skim(at, &ticks))
			at += 16;
		for (; at != end && !(*at & FLOW_WORD_NOT_SHORT); at++)
			ticks += *at >> (*at & FLOW_TAG_RETURN ? 2 : 14);
		cursor->at = at;
		cursor->ticks = ticks;
		if (!flow_cursor_next(cursor, ret_event))
			return false;
	} while (ret_event->kind <= FLOW_RETURN);
	return true;
}

/* --- all threads in order of time; ties in order of the list --- */

struct flow_merge;

struct flow_merge *flow_merge_new(const struct flow_trace *trace);
void flow_merge_free(struct flow_merge *merge);
/* ret_thread: index into flow_trace.threads. */
bool flow_merge_next(struct flow_merge *merge, struct flow_event *ret_event, size_t *ret_thread);

/* --- decoding events; false when the event is of another kind --- */

bool flow_event_operation(const struct flow_event *event, struct flow_operation *ret_operation);
bool flow_event_socket(const struct flow_event *event, struct flow_socket *ret_socket);
/* Function at an index of a FLOW_STACK, as an index into flow_trace.functions; arg 1 of the event: continued. */
uint32_t flow_event_stack(const struct flow_trace *trace, const struct flow_event *event, uint32_t at);
bool flow_event_argument(const struct flow_event *event, uint32_t at, uint64_t *ret_value);
bool flow_operation_ready(const struct flow_operation *operation, uint32_t at, struct flow_ready *ret_ready);
/* "read", "accept" ... */
const char *flow_op_name(enum flow_op op);
/* Reason of lost events (enum flow_lost) as text; NULL: unknown. */
const char *flow_lost_name(uint32_t why);
