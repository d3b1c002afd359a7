/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manual page of a cause, made from the knowledge, in a form that a terminal and Markdown share. */
#pragma once

#include "diagnose/rules/knowledge.h"

struct cause_page_section {
	char *heading;
	VEC(char *) paragraphs;
	VEC(char *) items; /* a list below the paragraphs */
};

struct cause_page {
	char *title; /* "path-loss: loses packets" */
	VEC(struct cause_page_section) sections;
};

struct cause_page *cause_page_new(const struct knowledge *knowledge, const struct cause *cause);
void cause_page_free(struct cause_page *page);
static inline void cause_page_freep(struct cause_page **page)
{
	cause_page_free(*page);
}

void cause_page_add_markdown(const struct cause_page *page, struct buf *out);
