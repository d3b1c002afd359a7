/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "base/embed.h"
#include "base/text.h"
#include "view/json.h"
#include "view/page.h"

#define TEMPLATE_MAX ((size_t)16 << 20)
#define DATA_MAX     ((size_t)200 << 20)

/* Adds the template up to the mark, and goes behind it. */
static void add_until(struct buf *page, const char **at, const char *mark)
{
	const char *found = strstr(*at, mark);

	if (!found)
		return;
	buf_add(page, *at, (size_t)(found - *at));
	*at = found + strlen(mark);
}

/* Inside a script element: < stands only in strings. */
static void add_data(struct buf *page, const struct record_type *type, const void *data)
{
	_cleanup_buf_ struct buf json = BUF_INIT(DATA_MAX);
	const char *at, *less;

	json_add_object(&json, type, data);
	for (at = buf_text(&json); (less = strchr(at, '<')); at = less + 1) {
		buf_add(page, at, (size_t)(less - at));
		buf_add_text(page, "\\u003c");
	}
	buf_add_text(page, at);
	/* The page is not whole: the output fails. */
	page->over = page->over || json.over;
}

/* Seconds east of UTC: readers elsewhere see times of this host. */
static long zone_s(void)
{
	time_t now = time(NULL);
	struct tm local;

	return localtime_r(&now, &local) ? local.tm_gmtoff : 0;
}

bool page_write(struct out *out, const char *kind, const struct record_type *type, const void *data)
{
	_cleanup_buf_ struct buf template = BUF_INIT(TEMPLATE_MAX);
	struct buf *page = &out->pending;
	const char *at;

	/* Written by web/bundle.mjs; empty where it was not. */
	if (embed_unpack("export.html.gz", &template) < 0 || !strstr(buf_text(&template), "PAGE_DATA"))
		return false;
	at = buf_text(&template);
	add_until(page, &at, "PAGE_KIND");
	buf_add_text(page, kind);
	add_until(page, &at, "PAGE_ZONE");
	buf_add_format(page, "%ld", zone_s());
	add_until(page, &at, "PAGE_DATA");
	add_data(page, type, data);
	buf_add_text(page, at);
	/* out_end_line adds the newline. */
	if (page->len > 0 && page->data[page->len - 1] == '\n')
		buf_truncate(page, page->len - 1);
	out_end_line(out);
	return true;
}

void page_begin_plain(struct out *out, const char *title)
{
	buf_add_text(&out->pending,
		     "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
		     "'unsafe-inline'\"><title>");
	text_add_html(&out->pending, title, strlen(title));
	buf_add_text(&out->pending, "</title></head><body>");
	out_end_line(out);
}

void page_end_plain(struct out *out)
{
	buf_add_text(&out->pending, "</body>\n</html>");
	out_end_line(out);
}
