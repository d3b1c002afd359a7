/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * External text (process, interface, host and file names) is untrusted until escaped for its destination. There is one
 * function per destination, and each accepts any bytes.
 */
#pragma once

#include "base/buf.h"

/* Length of the valid UTF-8 sequence at s (of n bytes), or 0 when there is none; ret_code may be NULL. */
unsigned text_decode_utf8(const char *s, size_t n, uint32_t *ret_code);
/* Width of valid UTF-8 on a terminal, in columns. */
size_t text_columns(const char *s, size_t n);

/* Length of the first sentences that are at most max bytes long together; the first one always counts. */
size_t text_first_sentences(const char *text, size_t max);

/* Control characters, invisible direction marks and invalid bytes become \xNN or \u{NNNN}; a backslash is doubled. */
void text_add_terminal(struct buf *out, const char *s, size_t n);
/*
 * The same for a message, parts of which are escaped already: backslashes stay as they are, and newlines before an
 * indented line. Any other newline comes from a name, and would forge a message.
 */
void text_add_message(struct buf *out, const char *s, size_t n);
/* The inside of a JSON string; an invalid byte becomes U+FFFD, what a terminal would obey \uNNNN. */
void text_add_json(struct buf *out, const char *s, size_t n);
/* Text or an attribute of HTML and SVG; what a terminal would obey and invalid bytes become U+FFFD. */
void text_add_html(struct buf *out, const char *s, size_t n);
/*
 * One RFC 4180 cell. A cell that a spreadsheet would run as a formula gets a leading apostrophe; what a terminal would
 * obey, but tabs and ends of lines, and invalid bytes become U+FFFD.
 */
void text_add_csv(struct buf *out, const char *s, size_t n);

/* A frame of a folded stack: semicolons, what a terminal would obey and invalid bytes become _. */
void text_add_folded(struct buf *out, const char *s, size_t n);
/* The inside of a quoted DOT string (s ends with a NUL); what a terminal would obey and invalid bytes become blanks. */
void text_add_dot(struct buf *out, const char *s, size_t n);

/* The ending of a noun beside its number: 1 row, 2 rows; "%u row%s". */
static inline const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Shell-like pattern over the whole text: * any run, ? one character, \ quotes. Linear, no recursion. */
bool text_glob_match(const char *pattern, const char *text);
/* Edit distance (a swap of neighbours counts one); capped, for short words. */
unsigned text_distance(const char *a, const char *b);

/* Collects the names nearest to a mistyped word, best first. */
#define NEAR_MAX 3
struct near {
	const char *word;
	const char *prefix; /* what is typed in front of a name, or NULL */
	unsigned count;
	const char *names[NEAR_MAX];
	unsigned scores[NEAR_MAX];
};

void near_consider(struct near *near, const char *name);
/* "; did you mean a, b or c?" or nothing. */
void near_add_text(const struct near *near, struct buf *out);
