/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process that is probed does to its sockets, from the tracepoints of system calls. Which connection a
 * descriptor stands for is known for certain in three cases only: it was there before and stayed, it is closed or
 * connected (the kernel tells the connection's ends in the midst of the call), or it is still open at the end. In all
 * others it stays unknown.
 */
#pragma once

#include "base/map.h"
#include "flow/trace/trace_writer.h"
#include "probe/probe_text.h"

struct probe_sockets {
	uint32_t pid;
	int pidfd;
	struct trace_writer *writer;
	struct map fds;     /* descriptor -> struct probe_fd */
	struct map pending; /* tid -> struct probe_call */
	uint32_t last_thread;
	uint64_t last_ticks;
};

/* tracefs events to enable, NULL-terminated. */
extern const char *const probe_socket_events[];

void probe_sockets_init(struct probe_sockets *sockets, uint32_t pid);
/* Which descriptors are sockets: called before and after tracing begins; those that stay the same are known. */
void probe_sockets_look(struct probe_sockets *sockets);
/* A line of a system call or state change, of this thread of the trace. */
void probe_sockets_take(struct probe_sockets *sockets, uint32_t thread, const struct probe_line *line);
/* Events were lost: pending calls and the sockets of descriptors become unknown. */
void probe_sockets_lost(struct probe_sockets *sockets);
/* Describes the sockets still open. */
void probe_sockets_end(struct probe_sockets *sockets);
void probe_sockets_done(struct probe_sockets *sockets);
