/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request that a command of nest answers: its output is the answer, and the server goes on meanwhile. */
#pragma once

#include "http/http_server.h"
#include "show/nest_process.h"

struct serve;

struct ask {
	struct serve *serve;
	struct http_request *request;
	struct nest_process *process;
	struct buf output;
	unsigned wrong; /* status where the command refuses its words */
	/* Answers the request from the output of a command that ended well. */
	void (*answer)(struct ask *ask);
};

/*
 * Starts it; a request that cannot be asked is refused. words: behind `nest`, ends with NULL. wrong: the status where
 * the command refuses them, 400 or 404.
 */
void ask_start(struct http_request *request, const char *const *words, unsigned wrong, void (*answer)(struct ask *ask));
/* JSON lines become {"rows":[..]}. */
void ask_answer_rows(struct ask *ask);
/* The last line is the answer. */
void ask_answer_object(struct ask *ask);
/* The server ends: they are not answered. */
void ask_stop_all(struct serve *serve);
