/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sequence diagram as a self-contained HTML page: zoom, fold, search, hover. */
#include "base/map.h"
#include "view/page.h"
#include "view/sequence.h"

#define PITCH_MIN 110
#define PITCH_MAX 230

/* Each name is written once: many calls share few names. */
struct labels {
	struct map index;
	VEC(const char *) all;
};

static uint32_t label_of(struct labels *l, const char *text)
{
	uint32_t *at;
	bool is_new;

	at = map_put(&l->index, text, &is_new);
	if (is_new) {
		*at = (uint32_t)l->all.count;
		vec_push(&l->all, text);
	}
	return *at;
}

static void add_items(const struct sequence *s, struct labels *labels, struct out *out)
{
	buf_add_text(&out->pending, "\"items\":[");
	for (size_t i = 0; i < s->items.count; i++) {
		const struct sequence_item *item = &s->items.items[i];

		buf_add_format(&out->pending, "%s[%u,%u,%u,%u,%u,%u,%llu,%llu,%u]", i ? "," : "", item->kind,
			       item->from, item->to, item->depth, item->times, item->folded,
			       (unsigned long long)item->start_ns, (unsigned long long)item->ns,
			       label_of(labels, item->label ? item->label : ""));
		/* Flush long pages in pieces. */
		if (i % 256 == 255)
			out_end_line(out);
	}
	buf_add_text(&out->pending, "],");
}

void sequence_write_html(const struct sequence *s, struct out *out)
{
	struct labels labels = {.index = MAP_INIT(0, sizeof(uint32_t), 0)};
	struct page page;
	unsigned pitch = PITCH_MIN;

	vec_each(&s->lines, line)
		pitch = max_of(pitch, min_of((unsigned)strlen(*line) * 7 + 24, (unsigned)PITCH_MAX));
	page_begin(&page, "sequence.html", out);
	buf_add_format(&out->pending, "{\"pitch\":%u,\"folded\":%llu,\"title\":", pitch, (unsigned long long)s->folded);
	page_add_text(out, s->title ? s->title : "");
	buf_add_text(&out->pending, ",\"note\":");
	page_add_text(out, s->note ? s->note : "");
	buf_add_text(&out->pending, ",\"lines\":[");
	for (size_t i = 0; i < s->lines.count; i++) {
		buf_add_text(&out->pending, i ? "," : "");
		page_add_text(out, s->lines.items[i]);
	}
	buf_add_text(&out->pending, "],");
	add_items(s, &labels, out);
	buf_add_text(&out->pending, "\"labels\":[");
	for (size_t i = 0; i < labels.all.count; i++) {
		buf_add_text(&out->pending, i ? "," : "");
		page_add_text(out, labels.all.items[i]);
	}
	buf_add_text(&out->pending, "]}");
	page_end(&page, out);
	vec_done(&labels.all);
	map_done(&labels.index);
}
