/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the diagnosis knows, as data: causes (whom they accuse, what they mean, what to do) and rules (which measures
 * are evidence for or against a cause). Both are readable text, one paragraph each:
 *
 *	cause peer-not-reading
 *	layer: peer
 *	accuses: peer
 *	severity: high
 *	summary: the program at the other end does not read what arrives
 *	means: Its receive buffer is full, so its kernel ...
 *	advice: Look at the program on the other host ...
 *	next: nest tcpwin --where 'raddr == {raddr}'
 *	next: [app_writing_share > 0] nest netcalls -p {pid}
 *
 *	rule window-closed
 *	about: conn
 *	when: rwnd_share > 50% and snd_wnd_min == 0B
 *	suggests: peer-not-reading
 *	certainty: 0.9
 *	family: window
 *	because: {raddr} kept its receive window closed for {rwnd_share} of the time
 *
 *	page peer-not-reading
 *	blind: Heavy loss hides it ...
 *	lab: F18
 *	explains: connect-dropped, peer-slow
 *
 * A page adds to a cause that stands before it. What a cause explains are its consequences: they are no findings where
 * everything that they affect depends on the module that it accuses. A line that begins with a blank continues the one
 * before. A negative certainty is evidence against; `suggests` may name several causes, separated by commas. Of the
 * rules of one family that fire for one cause, only the strongest counts: they see the same thing. {field} is a measure
 * of the module; a condition in brackets before a command is over those measures as well.
 */
#pragma once

#include "base/why.h"
#include "diagnose/graph/module.h"
#include "record/expr.h"

/* Info is of notes, no cause has it. */
enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_INFO };

/* A command with {field}s, for findings whose strongest evidence meets the condition. */
struct next_step {
	char *when; /* NULL: always */
	char *command;
};

struct cause {
	char *name;
	char *layer;
	enum module_kind accuses;
	enum severity severity;
	char *summary;
	char *means;
	char *advice;
	VEC(struct next_step) next;
	char *blind;                        /* where the diagnosis of it is blind; NULL: not written down */
	char *lab;                          /* scenarios of the laboratory, separated by blanks; NULL: none */
	VEC(const struct cause *) explains; /* its consequences */
	char *origin;                       /* file:line */
};

struct rule {
	char *name;
	const struct module_scope *about;
	char *when_text;
	struct expr *when;
	VEC(const struct cause *) suggests; /* one or more: evidence against one may count against others */
	double certainty;
	bool leaves_note; /* of evidence against: without it, the cause is reported as a note */
	char *family;
	char *because;
	char *origin;
};

struct knowledge {
	VEC(struct cause *) causes;
	VEC(struct rule *) rules;
	/* Whether the command or tool of that name runs here: `next` names no other. NULL: all do. */
	bool (*is_command)(const char *name);
	/* Whether it has an option -N. NULL: none has. */
	bool (*takes_netns)(const char *name);
};

/* What is compiled into the program. A mistake in it is a bug: the error says where. */
int knowledge_load(struct knowledge **ret_knowledge, struct why *why) _must_check_;
/* Adds a site's own files (*.rules), in the order of their names. */
int knowledge_add_dir(struct knowledge *knowledge, const char *dir, struct why *why) _must_check_;
/* One text; name is for messages. */
int knowledge_add_text(struct knowledge *knowledge, const char *name, const char *text, struct why *why) _must_check_;
void knowledge_free(struct knowledge *knowledge);
static inline void knowledge_freep(struct knowledge **knowledge)
{
	knowledge_free(*knowledge);
}

const struct cause *knowledge_find_cause(const struct knowledge *knowledge, const char *name);
const struct rule *knowledge_find_rule(const struct knowledge *knowledge, const char *name);
/* Whether a line of `next` can be run here. */
bool knowledge_can_run(const struct knowledge *knowledge, const char *command);
/* The same command with -N NETNS, where it has that option and netns is not NULL; to be freed. */
char *knowledge_in_netns(const struct knowledge *knowledge, const char *command, const char *netns);
bool rule_suggests(const struct rule *rule, const struct cause *cause);
bool cause_explains(const struct cause *cause, const struct cause *other);
/* "path-loss, path-congestion"; to be freed. */
char *rule_causes(const struct rule *rule);
const char *severity_name(enum severity severity);

/*
 * Fills the {field}s of a template from a module's measures, as people read values. Returns false when one of them is
 * unknown or not measured there (a `-` stands in its place).
 */
bool knowledge_fill(const char *template, const struct shape *shape, const struct record *record, struct buf *out);
/* The same for advice: PID, DEV, PORT, ADDR stand for what is unknown. shape NULL: nothing is known. */
void knowledge_fill_words(const char *template, const struct shape *shape, const struct record *record,
			  struct buf *out);
