/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>

#include "base/embed.h"
#include "base/text.h"
#include "view/page.h"

#define MARK "/*DATA*/null"

void page_begin(struct page *page, const char *name, struct out *out)
{
	const struct embedded_file *file = embed_find(name);
	const char *text, *mark;
	size_t size;

	assert(file);
	text = (const char *)file->begin;
	size = (size_t)(file->end - file->begin);
	mark = memmem(text, size, MARK, strlen(MARK));
	assert(mark);
	buf_add(&out->pending, text, (size_t)(mark - text));
	page->rest = mark + strlen(MARK);
	page->rest_size = size - (size_t)(page->rest - text);
}

void page_end(const struct page *page, struct out *out)
{
	size_t n = page->rest_size;

	/* out_end_line adds the newline. */
	buf_add(&out->pending, page->rest, n && page->rest[n - 1] == '\n' ? n - 1 : n);
	out_end_line(out);
}

void page_add_text(struct out *out, const char *text)
{
	_cleanup_buf_ struct buf json = BUF_INIT(1 << 20);

	text_add_json(&json, text, strlen(text));
	buf_add_char(&out->pending, '"');
	for (size_t i = 0; i < json.len; i++)
		if (json.data[i] == '<')
			buf_add_text(&out->pending, "\\u003c");
		else
			buf_add_char(&out->pending, json.data[i]);
	buf_add_char(&out->pending, '"');
}
