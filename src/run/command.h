/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command is one file in cmd/ that declares this and registers it; main finds it, parses its options, hands over.
 * Help, man page and completion come from the declaration.
 */
#pragma once

#include "base/exit_code.h"
#include "base/log.h"
#include "base/option.h"

struct command {
	const char *name;                  /* one word, or the word of a family and another: "flow record" */
	const char *summary;               /* one line, no full stop */
	const char *description;           /* paragraphs for help and man page, separated by blank lines; may be NULL */
	void (*describe)(struct buf *out); /* appends more paragraphs, made from tables; may be NULL */
	const char *const *examples;       /* "command line", "what it does", ..., NULL; may be NULL */
	const struct option_spec *options; /* may be NULL */
	size_t config_size;
	const void *defaults; /* of config_size bytes; NULL = all zero */
	/* Returns an exit code. */
	int (*run)(const void *config);
	/* Instead of run, where one function serves many commands: subject says which. */
	int (*run_subject)(const void *subject, const void *config);
	const void *subject;
	unsigned reader_may; /* enum confine_may: what it does beside reading when it reads files */
	bool looks;          /* shows what it observes, and changes nothing (command_only_looks) */
	bool starts;         /* commands of nest, as processes of their own (starter.h) */
};

REGISTRY(command, struct command);

#define COMMAND(object) REGISTER(command, struct command, object)

/* Options of every command. */
extern const struct option_spec command_common_options[];
/* All commands, sorted by name; the array is the caller's to free, the commands are not. Tools are left out. */
const struct command **command_list(size_t *ret_count);
/* The same with tools: everything that can stand behind `nest`. */
const struct command **command_list_all(size_t *ret_count);
/* A command or a tool. */
const struct command *command_find(const char *name);
bool command_exists(const char *name);
/* Whether this kernel can run it: what cannot run is not recommended. */
bool command_runs_here(const char *name);
/* Whether it has the option -N NETNS. */
bool command_takes_netns(const char *name);
/* The command that the first one or two words name, and how many they were; NULL when there is none. */
const struct command *command_find_words(int argc, char **argv, int *ret_words);
/* The second word of a command's name when the first is the family's, otherwise NULL. */
const char *command_in_family(const struct command *command, const char *family);
/* Whether the name is one of two words: such commands are listed by their family. */
bool command_is_member(const struct command *command);
/* Parses the words after the command's name and runs it. */
int command_run(const struct command *command, int argc, char **argv);
/*
 * Whether these words (behind `nest`) run a command that only looks: they name no server, no program to run and no
 * file, unless it is one to be written in the directory itself (NULL: none), or standard output. Words that are wrong
 * do not.
 */
bool command_only_looks(int argc, char **argv, const char *directory);
/* "nest: NAME: what is wrong (nest NAME --help)"; the excerpt of an expression follows below. Returns EXIT_USAGE. */
int command_refuse(const char *name, const struct why *why);
/* No such command, or with a family no such member of it; names the nearest. Returns EXIT_USAGE. */
int command_unknown(const char *family, const char *word);
/* Says what is wrong; returns the exit code, so that `return command_fail(EXIT_USAGE, ...)` reads well. */
#define command_fail(code, ...) (log_error(__VA_ARGS__), (code))
/* The description, paragraph by paragraph. */
void command_add_paragraphs(const struct command *command, struct buf *out,
			    void (*add)(struct buf *out, const char *paragraph));
/* The text of `nest CMD --help`. */
void command_add_help(const struct command *command, struct buf *out);
/* A command's name as its manual page has it: nest-flow-record(8). */
void command_add_man_name(struct buf *out, const char *name);
/* The same as a manual page in mdoc. */
void command_add_man(const struct command *command, struct buf *out);
