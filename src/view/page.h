/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self-contained HTML pages: a record as data, and the components of web/ that show it, in one file that asks for
 * nothing else. A program that was built without node has no components: then a page is plain, a picture or a text.
 *
 *	if (!page_write(out, "flame", &flame_type, &data)) {
 *		page_begin_plain(out, title);
 *		flame_write_svg(flame, out);
 *		page_end_plain(out);
 *	}
 */
#pragma once

#include "base/out.h"
#include "record/field.h"

/* kind: which component (web/src/export.tsx). False: there are none, and nothing was written. */
bool page_write(struct out *out, const char *kind, const struct record_type *type, const void *data) _must_check_;

void page_begin_plain(struct out *out, const char *title);
void page_end_plain(struct out *out);
