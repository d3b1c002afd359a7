/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command-line options as data. A table maps each option to a member of a configuration struct; the parser, the help
 * text, the man page and the shell completions all read that table:
 *
 *	struct config { bool all; uint64_t wait_ns; struct output_options output; };
 *	static const struct option_spec options[] = {
 *		OPTION(struct config, all, FLAG, "all", 'a', NULL, "show also healthy modules"),
 *		OPTION(struct config, wait_ns, SECONDS, "duration", 'd', "SECONDS", "stop after this time"),
 *		OPTION_GROUP(struct config, output, output_option_table),
 *		OPTION_END,
 *	};
 *
 * A member whose type does not fit the kind does not compile.
 */
#pragma once

#include "base/addr.h"
#include "base/vec.h"
#include "base/why.h"

enum option_kind {
	OPT_END,
	OPT_FLAG,     /* bool; takes no argument */
	OPT_UINT,     /* uint64_t within min..max */
	OPT_RATIO,    /* double */
	OPT_SECONDS,  /* uint64_t nanoseconds, above 0; a bare number is seconds */
	OPT_DURATION, /* uint64_t nanoseconds; needs a unit */
	OPT_SIZE,     /* uint64_t bytes */
	OPT_TEXT,     /* const char * into argv */
	OPT_TEXTS,    /* struct text_list; may be repeated */
	OPT_NAMES,    /* struct text_list; comma-separated, may be repeated */
	OPT_PORTS,    /* struct port_list; comma-separated */
	OPT_CHOICE,   /* unsigned: index into choices */
	OPT_COMMAND,  /* struct command_line: everything after -- */
	OPT_GROUP,    /* another table, filling a nested struct */
};

/* What a text names, for those that name a file: what a command may open follows from it (run/command_confine.h). */
enum option_file {
	FILE_NONE,
	FILE_INPUT,       /* read instead of the live host: with it, a command is a reader */
	FILE_READ,        /* a file or directory that is read as well */
	FILE_WRITE,       /* a file */
	FILE_TREE,        /* a directory into which files are written */
	FILE_FOR_STARTED, /* the same, by commands that this one starts (run/starter.h); itself it writes none */
	FILE_SERVER,      /* no file, but an address: the command connects to it */
	FILE_LISTEN,      /* the same: it listens there; unix:PATH is made and removed */
};

struct text_list {
	size_t count;
	char **items;
};

struct port_list {
	size_t count;
	uint16_t items[64];
};

struct command_line {
	int argc;
	char **argv; /* NULL-terminated; argc 0 when there was no -- */
};

struct option_spec {
	enum option_kind kind;
	const char *name; /* without the dashes; NULL for a positional */
	char letter;      /* 0: none */
	const char *arg;  /* name of its argument in help */
	const char *help;
	size_t offset;     /* of the member in the configuration */
	uint64_t min, max; /* of OPT_UINT; max also of OPT_RATIO; max 0: no limit */
	const char *const *choices;
	const struct option_spec *group;
	bool required;         /* of a positional */
	size_t second;         /* of OPT_TEXT: offset of the member for a second value; 0: the last one counts */
	enum option_file file; /* of OPT_TEXT and OPT_TEXTS */
	const char *needs;     /* what the command's subject must have, such as a field of its events; NULL: nothing */
	bool unfit;            /* the subject lacks it: not listed, and refused with the reason by the command */
};

/* The member must have the type of the kind. */
#define OPTION_TYPE_FLAG     bool
#define OPTION_TYPE_UINT     uint64_t
#define OPTION_TYPE_RATIO    double
#define OPTION_TYPE_SECONDS  uint64_t
#define OPTION_TYPE_DURATION uint64_t
#define OPTION_TYPE_SIZE     uint64_t
#define OPTION_TYPE_TEXT     const char *
#define OPTION_TYPE_TEXTS    struct text_list
#define OPTION_TYPE_NAMES    struct text_list
#define OPTION_TYPE_PORTS    struct port_list
#define OPTION_TYPE_CHOICE   unsigned
#define OPTION_TYPE_COMMAND  struct command_line

#define OPTION_OFFSET(type, member, kind)                                                                              \
	(offsetof(type, member) +                                                                                      \
	 0 * sizeof(struct {                                                                                           \
		 _Static_assert(_Generic(((type *)0)->member, OPTION_TYPE_##kind : 1, default : 0),                    \
				"option member " #member " does not have the type of OPT_" #kind);                     \
		 int dummy;                                                                                            \
	 }))

#define OPTION(type, member, opt_kind, long_name, short_letter, arg_name, help_text, ...)                              \
	{                                                                                                              \
		.kind = OPT_##opt_kind, .name = (long_name), .letter = (short_letter), .arg = (arg_name),              \
		.help = (help_text), .offset = OPTION_OFFSET(type, member, opt_kind), __VA_ARGS__                      \
	}

/* Arguments without dashes, in the order of the table; .required = true for a mandatory one. */
#define POSITIONAL(type, member, opt_kind, arg_name, help_text, ...)                                                   \
	{                                                                                                              \
		.kind = OPT_##opt_kind, .arg = (arg_name), .help = (help_text),                                        \
		.offset = OPTION_OFFSET(type, member, opt_kind), __VA_ARGS__                                           \
	}

#define OPTION_GROUP(type, member, table)                                                                              \
	{                                                                                                              \
		.kind = OPT_GROUP, .offset = offsetof(type, member), .group = (table)                                  \
	}

/* Another table of the same struct. */
#define OPTION_TABLE(table)                                                                                            \
	{                                                                                                              \
		.kind = OPT_GROUP, .group = (table)                                                                    \
	}

#define OPTION_END                                                                                                     \
	{                                                                                                              \
		.kind = OPT_END                                                                                        \
	}

/* Calls fn for every fit option of the table and of its groups, with the final offset, until it returns false. */
void option_each(const struct option_spec *table, bool (*fn)(const struct option_spec *spec, void *context),
		 void *context);

/* A table of the same options, those unfit that need what has() denies. The caller frees it. */
struct option_spec *option_fit(const struct option_spec *table, bool (*has)(const char *needs, const void *subject),
			       const void *subject);

/*
 * Fills config from the arguments (argv[0] is the first word after the command's name). -EINVAL and why for invalid
 * arguments. Unique abbreviations of long names are accepted.
 */
int option_parse(const struct option_spec *table, int argc, char **argv, void *config, struct why *why) _must_check_;
/* Whether the option takes this value; -EINVAL and why if it does not. */
int option_check(const struct option_spec *spec, const char *value, struct why *why) _must_check_;
/* Frees memory that parsing allocated inside config. */
void option_done(const struct option_spec *table, void *config);

static inline bool option_is_positional(const struct option_spec *spec)
{
	return !spec->name && spec->kind != OPT_COMMAND && spec->kind != OPT_GROUP;
}

/* "-d, --duration SECONDS" */
void option_add_usage(const struct option_spec *spec, struct buf *out);
/* "[INTERVAL] [COUNT] [-- COMMAND ...]" for the positionals of a table. */
void option_add_synopsis(const struct option_spec *table, struct buf *out);
