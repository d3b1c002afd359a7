/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of a function trace, described byte by byte in docs/flow-format.md. Shared by the runtime inside the observed
 * program, which writes it, and the reader, hence only the compiler's own headers.
 *
 * A trace is a sequence of chunks. Each has a header with a checksum and belongs to one thread; its events are 32-bit
 * words, little endian:
 *
 *  call, short   00 | fn 12 bits | ticks 17 bits | 0
 *                00 | fn 12 bits | returns 17 bits | 1    N returns, then the call, all without time
 *  return        01 | ticks 29 bits | 0
 *                01 | returns 29 bits | 1                 N returns without time
 *  call, long    10 | ticks 29 bits | 0     followed by the function's number
 *  again         10 | words 16 bits | times 13 bits | 1   and a position: repeats N words from there
 *  anything else 11 | kind 6 | words 8 | argument 16   followed by N words, the first two are ticks
 *
 * where ticks is the time since the previous event. A zero word is never written (no function has number 0).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FLOW_MAGIC   0x3143464eu /* "NFC1" */
#define FLOW_VERSION 1
/* Payloads are whole words; a reader rejects longer ones before it trusts anything else in the header. */
#define FLOW_CHUNK_MAX (16u << 20)
#define FLOW_STACK_MAX 4096u /* deeper calls are not recorded */

enum flow_chunk_kind {
	FLOW_CHUNK_FILE = 1,    /* first chunk: lines "key value" */
	FLOW_CHUNK_META = 2,    /* modules and functions */
	FLOW_CHUNK_EVENTS = 3,  /* events of one thread */
	FLOW_CHUNK_END = 4,     /* regular end of the recording */
	FLOW_CHUNK_SUMMARY = 5, /* call trees built while the program ran */
	FLOW_CHUNK_LATE = 6,    /* scheduling delays of the recorder: struct flow_late */
};

enum flow_chunk_flag {
	FLOW_UNTIMED = 1 << 0, /* only some events carry time; ticks of the others are 0 */
	FLOW_PACKED = 1 << 1,  /* words may repeat earlier ones */
};

struct flow_chunk {
	uint32_t magic;
	uint16_t kind;   /* enum flow_chunk_kind */
	uint16_t flags;  /* enum flow_chunk_flag */
	uint32_t bytes;  /* of the payload that follows this header */
	uint32_t thread; /* thread number in this trace, from 1; never reused */
	uint32_t pid;
	uint32_t tid;
	uint32_t seq;         /* 0, 1, 2 ... per thread: a gap is a lost chunk */
	uint32_t depth;       /* calls open before the first event */
	uint64_t start_ticks; /* origin of the first event's ticks */
	uint64_t end_ticks;   /* time of the last event */
	uint64_t clock_ticks; /* read together when the chunk was written: */
	uint64_t clock_ns;    /* CLOCK_REALTIME */
	uint32_t events;
	uint32_t calls;
	uint64_t lost;     /* events lost in this thread since its previous chunk */
	uint64_t torn;     /* END: bytes before it that are torn chunks */
	uint64_t checksum; /* XXH64, seed 0, of header (this field 0) and payload */
};
_Static_assert(sizeof(struct flow_chunk) == 96, "a chunk header is 96 bytes");

/* The recorder was to wake up, and did. */
struct flow_late {
	uint64_t due_ticks, awake_ticks;
};

/* --- words of an event chunk --- */

enum flow_tag { FLOW_TAG_CALL = 0, FLOW_TAG_RETURN = 1, FLOW_TAG_CALL_LONG = 2, FLOW_TAG_OTHER = 3 };

#define FLOW_SHORT_FN    (1u << 12)
#define FLOW_SHORT_TICKS (1u << 17)
#define FLOW_LONG_TICKS  (1u << 29)
#define FLOW_MANY        (1u << 31) /* in a short call or a return: a count of returns instead of ticks */
#define FLOW_MANY_MAX    65535u     /* per word */
/* Repeated words are of the first two forms. */
#define FLOW_AGAIN           (FLOW_TAG_CALL_LONG | FLOW_MANY)
#define FLOW_AGAIN_MASK      (3u | FLOW_MANY)
#define FLOW_AGAIN_WORDS_MAX 65535u
#define FLOW_AGAIN_TIMES_MAX 8191u
/* A reader rejects a chunk that expands to more repeated events: no recorder writes that. */
#define FLOW_AGAIN_MAX (1u << 17)

/* Kinds of the fourth form. Readers skip unknown kinds. */
enum flow_other {
	FLOW_O_TIME = 1,      /* only time passed */
	FLOW_O_LOST = 2,      /* count (2 words); the open calls are unknown until a STACK */
	FLOW_O_STACK = 3,     /* open calls: functions, outermost first; argument 1: continues the previous record */
	FLOW_O_UNWIND = 4,    /* count (1): calls that ended without returning, by longjmp or the like */
	FLOW_O_START = 5,     /* the thread starts: its name (4 words, padded with NUL) */
	FLOW_O_END = 6,       /* the thread ends */
	FLOW_O_PROCESS = 7,   /* argument: enum flow_process; pid (1), thread (1) of the parent or 0 */
	FLOW_O_SOCKET = 8,    /* struct flow_socket_words: a new socket, or more details of a known one */
	FLOW_O_OPERATION = 9, /* argument: enum flow_op; struct flow_op_words, then words of the operation */
	FLOW_O_VALUE = 10,    /* argument: enum flow_value; value (2): passed between threads */
	FLOW_O_ARGS = 11,     /* arguments of the preceding call: 2 words each */
	/* Since the last: argument: enum flow_delay; ns on the run queue (2 words), runs (1), ns on a CPU (2) */
	FLOW_O_DELAY = 12,
};

enum flow_delay { FLOW_DELAY_RUNNING = 0, FLOW_DELAY_OPERATION = 1 /* in the preceding operation */ };

/* What a thread did with its time since the last such record; the rest of it, it was blocked. */
struct flow_look {
	uint64_t delay_ns; /* on the run queue */
	uint64_t cpu_ns;   /* on a CPU, if known */
	uint32_t runs;     /* times that it was given one */
	bool has_cpu;
};

enum flow_process { FLOW_PROCESS_EXEC = 1, FLOW_PROCESS_FORK = 2, FLOW_PROCESS_EXIT = 3 };
enum flow_value { FLOW_VALUE_SEEN = 0, FLOW_VALUE_PUSH = 1, FLOW_VALUE_POP = 2 };
enum flow_lost {
	FLOW_LOST_OTHER = 0,
	FLOW_LOST_FULL = 1,   /* the file cannot grow */
	FLOW_LOST_SIGNAL = 2, /* a signal handler interrupted the recorder itself */
	FLOW_LOST_PAUSED = 3, /* recording was paused */
	FLOW_LOST_COUNT,
};

#define FLOW_OPS(x)                                                                                                    \
	x(ACCEPT, "accept") x(CONNECT, "connect") x(READ, "read") x(WRITE, "write") x(CLOSE, "close")                  \
		x(SHUTDOWN, "shutdown") x(SENDFILE, "sendfile") x(WAIT, "wait") x(WATCH, "watch") x(DUP, "dup")        \
			x(SOCKET, "socket") x(BIND, "bind") x(LISTEN, "listen") x(PASS, "pass") x(TAKE, "take")

enum flow_op {
	FLOW_OP_NONE,
#define FLOW_OP_ENUM(id, name) FLOW_OP_##id,
	FLOW_OPS(FLOW_OP_ENUM)
#undef FLOW_OP_ENUM
		FLOW_OP_COUNT
};

/* Payload of FLOW_O_OPERATION, after the two words of ticks, which give its start. */
struct flow_op_words {
	uint32_t duration[2]; /* ticks; the thread's clock then stands at its end */
	uint32_t socket;      /* socket number in this trace; 0: none or unknown */
	int32_t fd;
	int32_t result;  /* bytes, descriptor or count; -errno */
	uint32_t aux[2]; /* by operation, see docs/flow-format.md */
};

struct flow_socket_words {
	uint32_t socket;
	int32_t fd;
	uint32_t cookie[2]; /* 0: unknown */
	uint16_t family;    /* AF_INET, ... */
	uint16_t type;      /* SOCK_STREAM, ... */
	uint16_t lport;     /* host order */
	uint16_t rport;
	uint8_t laddr[16]; /* IPv4 as v4-mapped; all zero: unknown */
	uint8_t raddr[16];
};

#define FLOW_WORDS(type) (sizeof(type) / sizeof(uint32_t))

static inline uint32_t flow_word_call(uint32_t fn, uint32_t ticks)
{
	return fn << 2 | ticks << 14;
}

static inline uint32_t flow_word_return(uint32_t ticks)
{
	return FLOW_TAG_RETURN | ticks << 2;
}

static inline uint32_t flow_word_call_long(uint32_t ticks)
{
	return FLOW_TAG_CALL_LONG | ticks << 2;
}

static inline uint32_t flow_word_again(uint32_t words, uint32_t times)
{
	return FLOW_AGAIN | words << 2 | times << 18;
}

/* words: those after the two words of ticks. */
static inline uint32_t flow_word_other(uint32_t kind, uint32_t words, uint32_t argument)
{
	return FLOW_TAG_OTHER | kind << 2 | (words + 2) << 8 | argument << 16;
}

#define FLOW_OTHER_WORDS_MAX 253 /* after the ticks */

static inline uint64_t flow_u64(const uint32_t *words)
{
	return words[0] | (uint64_t)words[1] << 32;
}

static inline void flow_put_u64(uint32_t *words, uint64_t value)
{
	words[0] = (uint32_t)value;
	words[1] = (uint32_t)(value >> 32);
}

/* --- records of a META chunk: header, body, zero padding to 8 bytes --- */

enum flow_meta_kind { FLOW_META_MODULE = 1, FLOW_META_FUNCTION = 2, FLOW_META_THREAD = 3 };

struct flow_meta {
	uint32_t kind;
	uint32_t bytes; /* of the body, without header and padding */
};

/* Followed by build ID and path. */
struct flow_meta_module {
	uint32_t module; /* number in this trace, from 1 */
	uint32_t pid;    /* process with this mapping */
	uint64_t bias;   /* load address minus link address */
	uint64_t begin;  /* of its mapping */
	uint64_t end;
	uint32_t build_id_bytes;
	uint32_t path_bytes;
};

/* Followed by name and source file. Several numbers may denote the same function: readers unify them. */
struct flow_meta_function {
	uint32_t fn; /* number in this trace, from 1 */
	uint32_t module;
	uint64_t offset; /* module-relative address */
	uint32_t line;   /* source line; 0: unknown */
	uint16_t name_bytes;
	uint16_t file_bytes;
};

/* A thread's name when it differs from its first record; the last such record wins. */
struct flow_meta_thread {
	uint32_t thread; /* number in this trace */
	char name[16];   /* padded with NUL */
};
