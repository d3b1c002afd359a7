/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sequence diagram: lifelines, and messages between them from top to bottom. The caller adds the calls; the writers
 * (text, SVG, page, Mermaid, PlantUML, JSON) only draw. Loops are frames with a count, never cut.
 */
#pragma once

#include "base/buf.h"
#include "base/out.h"
#include "base/vec.h"

enum sequence_kind {
	SEQUENCE_CALL,
	SEQUENCE_RETURN,
	SEQUENCE_LOOP, /* the items up to its end occurred `times` times */
	SEQUENCE_LOOP_END,
	SEQUENCE_GAP,   /* nothing happened for ns */
	SEQUENCE_VALUE, /* a value is handed over */
	SEQUENCE_BOX,   /* the items up to its end are the subject of the diagram */
	SEQUENCE_BOX_END,
};

struct sequence_item {
	uint8_t kind;      /* enum sequence_kind */
	uint32_t from, to; /* lifelines */
	uint32_t depth;
	uint32_t times;    /* of a loop; of a call: repetitions in a row */
	uint32_t folded;   /* nested calls not drawn */
	uint64_t start_ns; /* since the start of the diagram */
	uint64_t ns;       /* duration */
	const char *label; /* owned by the diagram */
};

struct sequence {
	char *title;
	char *note; /* one sentence below the title; NULL: none */
	VEC(char *) lines;
	VEC(struct sequence_item) items;
	VEC(char *) texts;
	uint64_t folded; /* total of calls not drawn */
};

void sequence_done(struct sequence *sequence);
/* A copy of the text, owned by the diagram. */
const char *sequence_text(struct sequence *sequence, const char *text);

enum sequence_format {
	SEQUENCE_AS_TEXT,
	SEQUENCE_AS_SVG,
	SEQUENCE_AS_HTML,
	SEQUENCE_AS_MERMAID,
	SEQUENCE_AS_PLANTUML,
	SEQUENCE_AS_JSON,
};

/* For OPTION of kind CHOICE, in the order of the enum. */
extern const char *const sequence_format_names[];

void sequence_write(const struct sequence *sequence, enum sequence_format format, struct out *out);

/* The writers. A page is plain, with the SVG picture, in a program without components of pages (page.h). */
void sequence_write_text(const struct sequence *sequence, struct out *out);
void sequence_write_svg(const struct sequence *sequence, struct out *out);
void sequence_write_html(const struct sequence *sequence, struct out *out);
void sequence_write_json(const struct sequence *sequence, struct out *out);
void sequence_write_mermaid(const struct sequence *sequence, struct out *out);
void sequence_write_plantuml(const struct sequence *sequence, struct out *out);
