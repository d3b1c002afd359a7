/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of its own for the part of the work that needs privilege: it is started early, keeps what this process then
 * gives up (confine.h), and answers requests on a connection. It runs no other program, so that both sides
 * know the same types. It ends when the connection is closed, and with this process.
 *
 *	r = helper_start(&helper, "nest-sampler", serve_requests, context, &why);
 *	r = helper_write(helper.fd, &request, sizeof(request));
 *	r = helper_read(helper.fd, &reply, sizeof(reply));
 *	helper_stop(&helper, false);
 */
#pragma once

#include <sys/types.h>

#include "base/why.h"

struct helper {
	pid_t pid; /* 0: none */
	int fd;
};

#define HELPER_FDS 3

/*
 * In the new process, run is called with its end of the connection; it returns when the other end is closed. Standard
 * input and output are those of nobody there. To be called before threads are started and files are opened.
 */
int helper_start(struct helper *helper, const char *name, void (*run)(int fd, void *context), void *context,
		 struct why *why) _must_check_;
/*
 * Closes the connection and waits for its end, at most for a moment: it is killed with this process. One that is busy
 * with a request gets less time, because nobody will read its reply.
 */
void helper_stop(struct helper *helper, bool busy);

/* All of it; -EPIPE: the other end is closed. */
int helper_read(int fd, void *bytes, size_t size) _must_check_;
int helper_write(int fd, const void *bytes, size_t size) _must_check_;
/* A message together with descriptors, which the receiver owns; fewer than asked for: -EBADMSG. */
int helper_send(int fd, const void *bytes, size_t size, const int fds[HELPER_FDS]) _must_check_;
int helper_receive(int fd, void *bytes, size_t size, int ret_fds[HELPER_FDS]) _must_check_;
