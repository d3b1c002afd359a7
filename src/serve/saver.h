/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A running tool as a recording: from the moment somebody asks for it, a second process of the same words writes what
 * the tool sees into a file of --save-in. It ends with the tool, or when somebody says so, or when the file is large.
 */
#pragma once

#include "base/why.h"
#include "show/nest_process.h"

struct serve;
struct tool_run;

struct saver {
	struct serve *serve;
	struct nest_process *process; /* NULL: it has ended */
	uint64_t run;                 /* id of the tool's */
	char *what;
	char *name; /* of the file */
	char *path;
	uint64_t start_ns;
	bool is_ending;
	bool is_full; /* it was ended because the file had become too large */
	char *error;  /* NULL: none */
};

/*
 * name: without .nest, letters, digits, dot, dash and underscore. -EINVAL: another name, -ENOTSUP: there is no
 * --save-in, -EEXIST: there is such a file, or the tool is saved already; with a sentence.
 */
int saver_start(struct tool_run *run, const char *name, struct saver **ret_saver, struct why *why) _must_check_;
/* Of a tool that is being saved: its file becomes whole soon after. False: it is not. */
bool saver_end(struct serve *serve, uint64_t run);
/* Every second: those whose file is too large. */
void saver_sweep(struct serve *serve);
/* The server ends: waits until their files are whole. */
void saver_finish_all(struct serve *serve);
