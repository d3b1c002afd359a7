/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is served: what a trace says about its sockets, and which functions serve one connection and which go from one to
 * the next. A call that works for two connections is a dispatcher's (main, an event loop, a worker's loop), and since
 * functions are written for one purpose, one such call makes the function a dispatcher wherever it is called. What a
 * dispatcher calls is a *segment*: a call that works for one connection, or for none. Found from the socket operations
 * alone, no mark set by hand.
 */
#pragma once

#include "base/map.h"
#include "base/spill.h"
#include "flow/trace/trace.h"
#include "record/expr.h"

enum demux_by { DEMUX_CONNECTION, DEMUX_REQUEST, DEMUX_THREAD, DEMUX_SIGNATURE };

/* For OPTION of kind CHOICE, in the order of the enum; the last one is chosen by giving a signature. */
extern const char *const demux_by_names[];

enum demux_role {
	DEMUX_OTHER,     /* no connection of a client: a datagram socket, a pipe, a pair */
	DEMUX_SERVED,    /* accepted, or already there when the recording began */
	DEMUX_MADE,      /* by connect: to another server */
	DEMUX_LISTENING, /* takes connections */
};

#define DEMUX_NONE UINT32_MAX

/* There is one for every connection of the trace: kept small. */
struct demux_socket {
	uint64_t cookie;
	uint64_t birth_ticks; /* when it was accepted or connected; 0: before the recording */
	uint32_t socket;      /* number in the trace */
	int32_t fd;
	uint32_t laddr, raddr; /* in demux.addrs: demux_local, demux_remote */
	uint16_t lport, rport;
	uint32_t owner;    /* index of the socket whose session this one belongs to: itself, or its client's */
	uint32_t thread;   /* the first that exchanged data on it; DEMUX_NONE: none did */
	uint32_t session;  /* number of its first session, DEMUX_NONE: not met */
	uint32_t recent;   /* and of the one that was asked for last, where each request is one */
	uint32_t requests; /* index in demux.requests; 0 unless several threads served the connection */
	uint8_t role;      /* enum demux_role */
	bool many_threads; /* that exchanged data on it */
};

/* Ends of the reads that begin a request, in demux.request_ticks. */
struct demux_requests {
	size_t first;
	size_t count;
};

/* What a session begins at, given by the user: a call that matches. Fields: call_type (demux.c). */
struct demux_call {
	const char *function;
	const char *module;
	const char *caller; /* "" at the bottom of the stack */
	const char *after;  /* the call before it in the same caller, "" when it is the first */
	uint32_t depth;
	uint32_t tid;
	const char *comm;
	uint64_t arg0, arg1, arg2, arg3; /* all bits set: not recorded */
};

struct demux_options {
	enum demux_by by;
	const char *signature; /* an expression over demux_call; NULL: none */
	const char *key;       /* the argument that names the session ("arg0" ..), "tid"; NULL: each such call is one */
};

/* An open call, as a walk over a thread's events sees it. */
struct walk_frame {
	uint32_t fn;
	uint32_t session; /* of a dispatcher: whose operation was the last one in this very function */
	uint32_t after;   /* function called before, 0: none */
	uint32_t touched; /* index of the socket it worked for last; DEMUX_NONE, DEMUX_WAITED: none so far */
	uint64_t ticks;   /* when it was entered; where it waited for its segment's connection: when that came */
};

/* For something to happen, before it touched any socket. */
#define DEMUX_WAITED (DEMUX_NONE - 1)

/* A value that was handed on for a session. */
struct demux_push {
	uint64_t value;
	uint64_t ticks;
	uint32_t session;
};

typedef SPILL(struct demux_push) demux_pushes;

/* What a session is known by; which of these says something depends on demux.by. */
struct demux_session {
	uint32_t socket;  /* index of the connection, DEMUX_NONE */
	uint32_t request; /* of the connection, from 0 */
	uint32_t thread;  /* where it was seen first */
	uint32_t next;    /* of the same connection, a later request; DEMUX_NONE: none */
};

struct demux {
	const struct flow_trace *trace;
	enum demux_by by;
	SPILL(struct demux_socket) sockets;
	SPILL(struct demux_requests) requests; /* [0]: none */
	SPILL(uint64_t) request_ticks;
	VEC(struct addr) addrs; /* each once; [0] is not known */
	struct map addr_index;
	struct map socket_index;           /* number in the trace -> index, where it is large */
	SPILL(uint32_t) sockets_by_number; /* the same where it is small, as most are: index plus 1 */
	bool *is_dispatcher;               /* by function */
	bool is_sure;                      /* the whole trace was looked at for them, not only its beginning */
	struct expr *signature;
	struct field_ref key;
	bool has_key;
	/* Sessions get their numbers when they are met first; the same in every walk over the trace. */
	SPILL(struct demux_session) sessions;
	struct map session_index;       /* of threads, and of arguments that name one: key -> number */
	SPILL(uint32_t) thread_session; /* by thread: number of the first that a signature began there, plus 1 */
	bool has_values;                /* values are handed from thread to thread */
	demux_pushes pushes;            /* by value, then time; demux_learn_pushes */
};

/*
 * Reads the trace once for its sockets, and its beginning for dispatchers: they are found there, nearly always. Unless
 * it is_sure, whoever walks over the trace first shows each operation to demux_see_operation; when a function turns out
 * to be a dispatcher that was not known, demux_learn_all looks at the whole trace, and the walk has to begin again.
 * -EINVAL with a sentence when the signature is wrong.
 */
int demux_new(const struct flow_trace *trace, const struct demux_options *options, struct demux **ret_demux,
	      struct why *why) _must_check_;
void demux_free(struct demux *demux);
void demux_learn_all(struct demux *demux);
/* True when a function became a dispatcher by this operation in these open calls. */
bool demux_see_operation(struct demux *demux, struct walk_frame *frames, size_t count,
			 const struct flow_operation *operation);

static inline void demux_freep(struct demux **demux)
{
	demux_free(*demux);
}

/*
 * Who was handed what (demux.pushes) is known better than before: what fetches values for two sessions is a dispatcher,
 * too. True when one was found.
 */
bool demux_learn_pops(struct demux *demux);
/* Whose value this is, popped at that time: the last push before it; DEMUX_NONE. */
uint32_t demux_push_find(const struct demux *demux, uint64_t value, uint64_t ticks);
void demux_pushes_sort(struct demux *demux);

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

/* The number of the session with this key, a new one with that description when it was not met before. */
uint32_t demux_session_of(struct demux *demux, uint64_t key, const struct demux_session *session);
/* The same for a request of a connection. They are asked for in the order of their numbers, or nearly so. */
uint32_t demux_request_of(struct demux *demux, const struct demux_session *session);
/* And for a call of a thread that begins a session, from 0: in order, thread after thread. */
uint32_t demux_call_of(struct demux *demux, uint32_t call, const struct demux_session *session);

static inline bool demux_is_data(const struct flow_operation *operation)
{
	return operation->result > 0 &&
	       (operation->op == FLOW_OP_READ || operation->op == FLOW_OP_WRITE || operation->op == FLOW_OP_SENDFILE);
}
