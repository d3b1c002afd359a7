/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once
/*
 * What the small servers of the laboratory do with a request, whichever thread or process does it. A fault is switched
 * on by the request that suffers from it: GET /page?slow=40 takes 40 ms longer in one step. lab/flows declares which
 * function is the right answer.
 */
#include <stdbool.h>
#include <stddef.h>

#define WORK_HEAD_MAX    8192
#define WORK_REQUEST_MAX (WORK_HEAD_MAX + 65536)

struct work_request {
	char page[64];
	char account[64]; /* ?account=NAME: the file lock to take; empty: none */
	bool last;        /* the client asks to close the connection */
	int slow_ms;      /* ?slow: computation in one step */
	int upstream_ms;  /* ?up: what the upstream server is asked to wait; -1: no upstream call */
	int skip_ms;      /* ?skip: rows stay unsorted, and the search takes this much longer; -1: sorted */
	int error_ms;     /* ?error: fails, and writes a report for so long; -1: does not */
	int cold_ms;      /* ?cold: the first access to a page takes this long */
};

struct work_answer {
	char head[256];
	size_t head_size;
	const char *body;
	size_t body_size;
	bool last;
};

struct work_config {
	int port;
	int upstream_port;
	const char *room; /* directory of the lock files */
};

/* PORT UPSTREAM-PORT ROOM; returns the listening socket, ends the program when it cannot. */
int work_begin(int argc, char **argv);

/* Size of the first request in the text with its body, 0 while it is incomplete. */
size_t work_request_size(const char *text, size_t size);
void work_parse(const char *text, struct work_request *ret_request);
void work_serve(const struct work_request *request, struct work_answer *ret_answer);

/* Blocking: serves a connection until one side closes it. */
void work_connection(int fd);
int work_write(int fd, const struct work_answer *answer);
