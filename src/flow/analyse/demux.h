/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attribution of work to sessions: the sockets of a trace, and which functions serve one connection and which dispatch.
 * A call that works for two connections is a dispatcher's (main, an event loop, a worker loop), and since functions
 * have one purpose, one such call makes the function a dispatcher everywhere. A dispatcher's callee is a *segment*: a
 * call that works for one connection, or for none. Derived from the socket operations alone, without markers.
 */
#pragma once

#include "base/map.h"
#include "base/spill.h"
#include "flow/trace/trace.h"
#include "record/expr.h"

enum demux_by { DEMUX_CONNECTION, DEMUX_REQUEST, DEMUX_THREAD, DEMUX_SIGNATURE };

/* For OPTION of kind CHOICE, in order of the enum; the last one is selected by a signature. */
extern const char *const demux_by_names[];

enum demux_role {
	DEMUX_OTHER,     /* not a client connection: datagram socket, socketpair */
	DEMUX_SERVED,    /* accepted, or older than the recording */
	DEMUX_MADE,      /* outgoing connection */
	DEMUX_LISTENING, /* listener */
};

#define DEMUX_NONE UINT32_MAX

/* One per connection of the trace: kept small. */
struct demux_socket {
	uint64_t cookie;
	uint64_t birth_ticks; /* accept or connect time; 0: before the recording */
	uint32_t socket;      /* number in the trace */
	int32_t fd;
	uint32_t laddr, raddr; /* in demux.addrs: demux_local, demux_remote */
	uint16_t lport, rport;
	uint32_t owner;    /* index of the socket whose session it belongs to: itself, or its client's */
	uint32_t thread;   /* first thread that exchanged data on it; DEMUX_NONE: none */
	uint32_t session;  /* number of its first session; DEMUX_NONE: none yet */
	uint32_t recent;   /* last session looked up, if split by request */
	uint32_t requests; /* index in demux.requests; 0 unless several threads served the connection */
	uint8_t role;      /* enum demux_role */
	bool many_threads; /* data was exchanged by several threads */
	bool is_taken;     /* received from another process */
	bool is_new;       /* the program created it, for TCP */
	bool is_joined;    /* the same as one that another process accepted: no number leads here */
};

/* End times of the reads that start a request, in demux.request_ticks. */
struct demux_requests {
	size_t first;
	size_t count;
};

/* User-defined start of a session: a matching call. Fields: call_type (demux.c). */
struct demux_call {
	const char *function;
	const char *module;
	const char *caller; /* "" at the bottom of the stack */
	const char *after;  /* previous call of the same caller; "": first */
	uint32_t depth;
	uint32_t tid;
	const char *comm;
	uint64_t arg0, arg1, arg2, arg3; /* all bits set: not recorded */
};

struct demux_options {
	enum demux_by by;
	const char *signature; /* expression over demux_call; NULL: none */
	const char *key; /* argument that identifies the session ("arg0" ..), or "tid"; NULL: one session per call */
};

/* An open call during a walk over a thread's events. */
struct walk_frame {
	uint32_t fn;
	uint32_t session; /* dispatcher: socket of the last operation in this function itself */
	uint32_t after;   /* previous callee; 0: none */
	uint32_t touched; /* index of the socket it served last; DEMUX_NONE, DEMUX_WAITED: none so far */
	uint64_t ticks;   /* entry time; arrival of the connection if it waited for it */
};

/* Waited before it touched any socket. */
#define DEMUX_WAITED (DEMUX_NONE - 1)

/* A value passed on for a session. */
struct demux_push {
	uint64_t value;
	uint64_t ticks;
	uint32_t session;
};

typedef SPILL(struct demux_push) demux_pushes;

/* A call touched an outgoing connection and a client's: it was used for that client. */
struct demux_tie {
	uint64_t ticks;
	uint32_t made, client; /* indices of the sockets */
};

typedef SPILL(struct demux_tie) demux_ties;

/* End of a process: none of its calls lasts longer. */
struct demux_exit {
	uint64_t ticks;
	uint32_t pid;
};

/* Identity of a session; which fields apply depends on demux.by. */
struct demux_session {
	uint32_t socket;  /* index of the connection, DEMUX_NONE */
	uint32_t request; /* of the connection, from 0 */
	uint32_t thread;  /* first seen there */
	uint32_t next;    /* next request of the same connection; DEMUX_NONE: none */
};

struct demux {
	const struct flow_trace *trace;
	enum demux_by by;
	SPILL(struct demux_socket) sockets;
	SPILL(struct demux_requests) requests; /* [0]: none */
	SPILL(uint64_t) request_ticks;
	VEC(struct addr) addrs; /* unique; [0] is unknown */
	struct map addr_index;
	struct map socket_index;           /* number in the trace -> index, for large numbers */
	SPILL(uint32_t) sockets_by_number; /* the same for small numbers, which are most: index plus 1 */
	bool *is_dispatcher;               /* by function */
	bool *is_handler;                  /* by function: of signals */
	bool is_sure;                      /* the entire trace was searched for them, not only its start */
	struct expr *signature;
	struct field_ref key;
	bool has_key;
	/* Sessions are numbered at first sight, identically in every walk over the trace. */
	SPILL(struct demux_session) sessions;
	struct map session_index;       /* threads and identifying arguments: key -> number */
	SPILL(uint32_t) thread_session; /* by thread: number of its first session from a signature, plus 1 */
	bool has_values;                /* values are passed between threads */
	demux_pushes pushes;            /* by value, then time; demux_learn_pushes */
	VEC(struct demux_exit) exits;   /* of processes that ended by themselves, by process */
	bool has_strays;                /* connections are used by calls that serve no client */
	demux_ties ties;                /* by outgoing connection, then time */
};

/*
 * Reads the trace once for its sockets, and its start for dispatchers, which nearly always show there. Unless is_sure,
 * the first walk passes each operation to demux_see_operation; when it reveals a new dispatcher, demux_learn_all reads
 * the entire trace, and the walk restarts. -EINVAL with a reason when the signature is invalid.
 */
int demux_new(const struct flow_trace *trace, const struct demux_options *options, struct demux **ret_demux,
	      struct why *why) _must_check_;
void demux_free(struct demux *demux);
void demux_learn_all(struct demux *demux);
/* True when this operation made one of the open calls a dispatcher. */
bool demux_see_operation(struct demux *demux, struct walk_frame *frames, size_t count,
			 const struct flow_operation *operation);

static inline void demux_freep(struct demux **demux)
{
	demux_free(*demux);
}

/*
 * More pushes are known: a function that pops values of two sessions is a dispatcher as well. True when one was found.
 */
bool demux_learn_pops(struct demux *demux);
/*
 * The operation follows a call of that function, which returned at that time. An operation that a signal interrupts
 * begins, in the trace, when the handler has returned: the clock of the thread stands there. True when this is new.
 */
bool demux_see_interrupt(struct demux *demux, const struct flow_operation *operation, uint32_t fn, uint64_t ticks);
/* Session of a value popped at that time: the last push before it; DEMUX_NONE. */
uint32_t demux_push_find(const struct demux *demux, uint64_t value, uint64_t ticks);
void demux_pushes_sort(struct demux *demux);
/* Client for which an outgoing connection is used from that time on, by its first tie after it; DEMUX_NONE. */
uint32_t demux_tie_find(const struct demux *demux, uint32_t made, uint64_t ticks);
void demux_ties_sort(struct demux *demux);

uint32_t demux_socket_find_large(const struct demux *demux, uint32_t socket);

static inline struct endpoint demux_local(const struct demux *demux, const struct demux_socket *socket)
{
	return (struct endpoint){.addr = demux->addrs.items[socket->laddr], .port = socket->lport};
}

static inline struct endpoint demux_remote(const struct demux *demux, const struct demux_socket *socket)
{
	return (struct endpoint){.addr = demux->addrs.items[socket->raddr], .port = socket->rport};
}

/* Index of a socket of the trace, or DEMUX_NONE. */
static inline uint32_t demux_socket_find(const struct demux *demux, uint32_t socket)
{
	if (likely(socket < demux->sockets_by_number.count))
		return demux->sockets_by_number.items[socket] - 1;
	return demux_socket_find_large(demux, socket);
}

/* Session number of this key; a new one with that description at first sight. */
uint32_t demux_session_of(struct demux *demux, uint64_t key, const struct demux_session *session);
/* The same for a request of a connection. Calls come roughly in order of numbers. */
uint32_t demux_request_of(struct demux *demux, const struct demux_session *session);
/* The same for a call that starts a session, from 0: in order, thread by thread. */
uint32_t demux_call_of(struct demux *demux, uint32_t call, const struct demux_session *session);

static inline bool demux_is_data(const struct flow_operation *operation)
{
	return operation->result > 0 &&
	       (operation->op == FLOW_OP_READ || operation->op == FLOW_OP_WRITE || operation->op == FLOW_OP_SENDFILE);
}
