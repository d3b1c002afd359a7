/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manual page of a cause, put together from what the knowledge holds; in a form that a terminal and Markdown share. */
#pragma once

#include "diagnose/rules/knowledge.h"

struct page_section {
	char *heading;
	VEC(char *) paragraphs;
	VEC(char *) items; /* a list below the paragraphs */
};

struct page {
	char *title; /* "path-loss: loses packets" */
	VEC(struct page_section) sections;
};

struct page *page_of_cause(const struct knowledge *knowledge, const struct cause *cause);
void page_free(struct page *page);
static inline void page_freep(struct page **page)
{
	page_free(*page);
}

void page_add_markdown(const struct page *page, struct buf *out);
