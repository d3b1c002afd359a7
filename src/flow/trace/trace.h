/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a function trace. The file is mapped; opening it looks at the headers of its chunks, which is quick, and
 * after that each thread's events are read in order by a cursor, a few nanoseconds an event, without memory:
 *
 *	r = flow_trace_open("server.trace", &trace, &why);
 *	for (size_t i = 0; i < trace->thread_count; i++) {
 *		struct flow_cursor cursor;
 *		struct flow_event event;
 *
 *		flow_cursor_begin(&cursor, trace, i);
 *		while (flow_cursor_next(&cursor, &event))
 *			if (event.kind == FLOW_CALL)
 *				count(trace->functions[event.fn].name);
 *	}
 *	flow_trace_close(trace);
 *
 * A chunk is verified when the first cursor comes to it. What is damaged or missing shows as an event of kind
 * FLOW_LOST, never as silence. All threads in the order of time: flow_merge_next.
 */
#pragma once

#include "base/addr.h"
#include "base/why.h"
#include "flow/trace/trace_format.h"

/* What a cursor gives. */
enum flow_kind {
	FLOW_CALL,   /* fn */
	FLOW_RETURN, /* of the innermost open call */
	FLOW_UNWIND, /* value: so many innermost calls ended without returning */
	FLOW_LOST,   /* value: so many events are missing here (0: not known how many); calls open so far are no more */
	FLOW_STACK,  /* words: these functions are open now, outermost first (flow_event_stack) */
	FLOW_THREAD_START, /* flow_event_name */
	FLOW_THREAD_END,
	FLOW_PROCESS,   /* arg: enum flow_process; words: parent's pid and thread */
	FLOW_SOCKET,    /* flow_event_socket */
	FLOW_OPERATION, /* flow_event_operation */
	FLOW_VALUE,     /* arg: enum flow_value; value */
	FLOW_ARGS,      /* of the call before: flow_event_argument */
	FLOW_UNKNOWN,   /* a kind that this reader does not know */
};

struct flow_event {
	uint64_t ticks; /* flow_ns makes nanoseconds of them */
	uint32_t kind;  /* enum flow_kind */
	uint32_t fn;    /* of FLOW_CALL: index into flow_trace.functions */
	uint64_t value;
	uint32_t arg;
	uint32_t word_count;
	const uint32_t *words; /* what the kind has beyond that; inside the trace */
};

/* A socket operation; unknown and missing as docs/flow-format.md says. */
struct flow_operation {
	enum flow_op op;
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint32_t socket; /* number of the socket in the trace, the same after dup and fork; 0: none that is known */
	int32_t fd;
	int64_t result; /* bytes, descriptor or count; negative errno */
	uint64_t aux;
	const uint32_t *extra; /* of FLOW_OP_WAIT: what became ready (flow_operation_ready) */
	uint32_t extra_count;
};

/* One descriptor of a wait's answer. */
struct flow_ready {
	uint64_t data;   /* given to epoll_ctl (FLOW_OP_WATCH has it in aux), or the descriptor of poll and select */
	uint32_t events; /* EPOLLIN ... */
};

struct flow_socket {
	uint32_t socket; /* number in this trace */
	int32_t fd;
	uint64_t cookie; /* the kernel's number, the same in every process; 0: not known */
	uint16_t family;
	uint16_t type;
	struct endpoint local; /* family ADDR_UNKNOWN when not known */
	struct endpoint remote;
};

struct flow_module {
	uint32_t id;
	const char *path;
	const char *name;     /* last part of the path */
	const char *build_id; /* hexadecimal; "" when there is none */
	uint64_t bias;
	uint64_t begin, end;
};

struct flow_function {
	uint32_t id;      /* as in the file; several ids may lead to one function */
	const char *name; /* never NULL; "module+0x1234" where no symbol is known */
	bool named;       /* the name is a symbol's */
	const char *file; /* source, NULL: not known */
	uint32_t line;    /* 0: not known */
	uint32_t module;  /* index into flow_trace.modules */
	uint64_t offset;  /* address in the module's own terms */
};

struct flow_chunk_ref {
	struct flow_chunk header;
	const uint32_t *words;
	uint32_t word_count;
	bool verified; /* nothing to check: it came from the live buffers, or a cursor has done so */
};

struct digest_row;

struct flow_thread {
	uint32_t id; /* number in this trace */
	uint32_t pid, tid;
	char name[17]; /* "" when not known */
	uint64_t start_ticks, end_ticks;
	uint64_t events, calls; /* as the chunk headers say */
	uint64_t lost;
	size_t chunk_count;
	struct flow_chunk_ref *chunks;
	/* Not a thread, but a session that stands for many (flow/trace/digest.h); NULL: a thread. */
	const struct digest_row *summary;
};

struct flow_trace {
	size_t thread_count;
	struct flow_thread *threads; /* in the order of their first event */
	size_t function_count;
	struct flow_function *functions; /* [0] stands for functions that the trace does not describe */
	size_t module_count;
	struct flow_module *modules; /* [0] stands for those that it does not describe */
	uint64_t events, calls, lost;
	uint64_t bytes;         /* of the file */
	uint64_t damaged_bytes; /* of the file, that are no chunk (a torn end, a bad header) */
	uint64_t torn_bytes;    /* the same, but what they held stands elsewhere or is counted as lost */
	uint64_t first_ticks, last_ticks;
	uint64_t ticks_per_second; /* 1,000,000,000 when ticks are nanoseconds */
	bool complete;             /* the recording was ended in order and nothing of the file is damaged */
	bool untimed;              /* some chunks carry the time at few events only */
	bool summarised;           /* while the program ran: what is here are kinds of sessions, with average times */
	uint64_t cut;              /* calls that a summary had no room for; they are counted, and in no tree */
	uint64_t dispatched;       /* calls of a summary that go from session to session: in no tree either */
	uint64_t recorded_threads; /* all of them, when they are not listed one by one */

	/* The rest is the reader's own. */
	struct flow_trace_file *file;
	const uint32_t *fn_index; /* function of an id; at least FLOW_SHORT_FN of them */
	uint32_t fn_index_count;
	uint64_t clock_ticks, clock_ns; /* one moment in both clocks */
	uint64_t ns_per_tick;           /* 2^48 = 1 */
};

/* -EBADMSG with a sentence when it is no trace; what is damaged inside is left out and counted. */
int flow_trace_open(const char *path, struct flow_trace **ret_trace, struct why *why) _must_check_;
/* The same for bytes in memory, which must stay. */
int flow_trace_open_memory(const void *data, size_t size, struct flow_trace **ret_trace, struct why *why) _must_check_;
void flow_trace_close(struct flow_trace *trace);
/* These bytes of the file are not needed now: they need not stay in memory. Reading them again brings them back. */
void flow_trace_release(const struct flow_trace *trace, const void *words, size_t bytes);
/* These bytes are going to be read, all of them. */
void flow_trace_want(const struct flow_trace *trace, const void *words, size_t bytes);
static inline void flow_trace_closep(struct flow_trace **trace)
{
	flow_trace_close(*trace);
}
#define _cleanup_flow_trace_ _cleanup_(flow_trace_closep)

/* A property that the recorder wrote down ("host", "command", "kernel", ...), or NULL. */
const char *flow_trace_property(const struct flow_trace *trace, const char *key);

static inline uint64_t flow_span_ns(const struct flow_trace *trace, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * trace->ns_per_tick >> 48);
}

/* CLOCK_REALTIME of a moment. */
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
	/* Chunks that are in memory together, up to this one. */
	size_t window_end;
	const void *window;
	size_t window_bytes;
	uint32_t windows;  /* that were left */
	uint32_t next_seq; /* its number, if nothing is missing */
	uint32_t returns;  /* of the word at hand, still to be given, plus 1 */
	/* While words are read again: those, how often still, and what follows. */
	const uint32_t *again, *then, *then_end;
	uint32_t again_left;
	uint32_t again_total; /* events that came so in this chunk, about */
	uint64_t many_total;  /* returns of this chunk that were counted in one word */
	uint64_t damaged;     /* chunks whose checksum does not fit, or whose words make no sense */
};

void flow_cursor_begin(struct flow_cursor *cursor, const struct flow_trace *trace, size_t thread);
/* What the short way does not take: chunk changes and everything but calls and returns. */
bool flow_cursor_next_other(struct flow_cursor *cursor, struct flow_event *ret_event);

/* False at the end of the thread. For calls and returns value, arg and words are not set. */
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

/* Calls and returns in the short form have none of these bits. */
#define FLOW_WORD_NOT_SHORT (FLOW_MANY | 2u)

/* As many words at once as fit, which may stand anywhere. */
typedef uint32_t flow_words __attribute__((vector_size(16), aligned(4), may_alias));

/* Ticks of that many calls and returns in the short form, all added up; false: one of the words is something else. */
static inline bool flow_skim(const uint32_t *at, uint64_t *ticks)
{
	const flow_words *w = (const flow_words *)at;
	flow_words any = w[0] | w[1] | w[2] | w[3], sum = {};

	if (((any[0] | any[1] | any[2] | any[3]) & FLOW_WORD_NOT_SHORT))
		return false;
	for (unsigned i = 0; i < 4; i++) {
		flow_words is_return = -(w[i] & FLOW_TAG_RETURN);

		/* Four times 29 bits at most. */
		sum += (w[i] >> 2 & is_return) | (w[i] >> 14 & ~is_return);
	}
	*ticks += (uint64_t)sum[0] + sum[1] + sum[2] + sum[3];
	return true;
}

/* The next event that is neither a call nor a return: for those who look at sockets alone. */
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

/* --- all threads, in the order of time; threads of the same moment in the order of the list --- */

struct flow_merge;

struct flow_merge *flow_merge_new(const struct flow_trace *trace);
void flow_merge_free(struct flow_merge *merge);
/* Which thread it is (index into flow_trace.threads) goes to ret_thread. */
bool flow_merge_next(struct flow_merge *merge, struct flow_event *ret_event, size_t *ret_thread);

/* --- taking events apart; false when the event is not of that kind --- */

bool flow_event_operation(const struct flow_event *event, struct flow_operation *ret_operation);
bool flow_event_socket(const struct flow_event *event, struct flow_socket *ret_socket);
/* The function at a place of a FLOW_STACK, an index into flow_trace.functions; arg 1 of the event: it goes on. */
uint32_t flow_event_stack(const struct flow_trace *trace, const struct flow_event *event, uint32_t at);
bool flow_event_argument(const struct flow_event *event, uint32_t at, uint64_t *ret_value);
bool flow_operation_ready(const struct flow_operation *operation, uint32_t at, struct flow_ready *ret_ready);
/* "read", "accept" ... */
const char *flow_op_name(enum flow_op op);
/* Why events were lost (enum flow_lost) as text has it; NULL when that is not known. */
const char *flow_lost_name(uint32_t why);
