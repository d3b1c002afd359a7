/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Self-contained HTML pages: an embedded template with a placeholder for data, which the caller writes as JSON. */
#pragma once

#include "base/out.h"

struct page {
	const char *rest; /* of the template, after the data */
	size_t rest_size;
};

/* Writes the template up to its data. */
void page_begin(struct page *page, const char *name, struct out *out);
void page_end(const struct page *page, struct out *out);
/* A JSON string that cannot end a script element. */
void page_add_text(struct out *out, const char *text);
