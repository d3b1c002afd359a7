/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of nest in a process of its own, for the screen and for the page: they stay quick while programs are
 * loaded, and what is shown is what the command line shows. Processes end with this one.
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"

struct nest_process;

#define NEST_WORDS_MAX 24

/* Words of a command. Values that a client sends are joined to their option, so that none of them is one. */
struct nest_words {
	char *words[NEST_WORDS_MAX + 1]; /* behind `nest`; ends with NULL */
	unsigned count;
};

void nest_words_add(struct nest_words *words, const char *word);
/* --NAME=VALUE; nothing where the value is NULL or empty. */
void nest_words_option(struct nest_words *words, const char *name, const char *value);
void nest_words_copy(struct nest_words *words, const struct nest_words *from);
void nest_words_done(struct nest_words *words);

struct nest_process_request {
	struct loop *loop;
	char *const *words; /* behind `nest`; ends with NULL */
	unsigned width;     /* of the terminal that the output is for */
	bool apart;         /* standard error is kept for nest_process_errors, not part of the output */
	/* More of its output; any bytes. */
	void (*output)(void *context, const char *bytes, size_t len);
	/* It has ended by itself, with a status as of wait; it is freed after this. */
	void (*ended)(void *context, int status);
	void *context;
};

int nest_process_start(const struct nest_process_request *request, struct nest_process **ret_process,
		       struct why *why) _must_check_;
/* Asks it to end, as Ctrl-C does: `ended` follows. */
void nest_process_interrupt(struct nest_process *process);
/* After that: waits for a few seconds until it has ended, and frees it; `ended` is not called. NULL: nothing. */
void nest_process_finish(struct nest_process *process);
/* Kills and frees it; `ended` is not called. NULL: nothing. */
void nest_process_stop(struct nest_process *process);
/* The last lines of its standard error, where that is apart. */
const char *nest_process_errors(const struct nest_process *process);
