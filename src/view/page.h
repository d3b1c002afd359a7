/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that are one file: a template inside the program with a place for data, which the caller writes as JSON. */
#pragma once

#include "base/out.h"

struct page {
	const char *rest; /* of the template, behind the data */
	size_t rest_size;
};

/* Writes the template up to its data. */
void page_begin(struct page *page, const char *name, struct out *out);
void page_end(const struct page *page, struct out *out);
/* A JSON string that no script element ends at. */
void page_add_text(struct out *out, const char *text);
