/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as a page of one file that fetches nothing: choose a journey, point at what you want to know. */
#include <inttypes.h>

#include "path/picture.h"
#include "path/waterfall.h"
#include "view/format.h"
#include "view/page.h"

static void add_member(struct out *out, const char *name, const struct buf *text)
{
	buf_add_format(&out->pending, "\"%s\":", name);
	page_add_text(out, buf_text(text));
}

static void add_stage(struct out *out, const struct journey *journey, const struct journey_stage *stage)
{
	_cleanup_buf_ struct buf gap = BUF_INIT(4096), cpu = BUF_INIT(16);

	buf_add_format(&out->pending,
		       "{\"stage\":\"%s\",\"at\":%" PRIu64 ",\"ns\":%" PRIu64
		       ",\"kind\":\"%s\",\"context\":\"%s\",\"widest\":%s,",
		       stage_name(stage), stage_offset(journey, stage), stage->ns, stage_kind_names[stage_kind(stage)],
		       stage_context(stage), stage == journey_widest(journey) ? "true" : "false");
	stage_add_cpu(&cpu, stage);
	add_member(out, "cpu", &cpu);
	journey_add_gap(&gap, journey, stage);
	buf_add_text(&out->pending, ",\"gap\":");
	page_add_text(out, buf_text(&gap));
	buf_add_text(&out->pending, ",\"help\":");
	page_add_text(out, stage->stage < PATH_STAGES && path_stages[stage->stage].help ? path_stages[stage->stage].help
											: "");
	buf_add_char(&out->pending, '}');
}

static void add_journey(struct out *out, const struct journey *journey)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), words = BUF_INIT(4096), hidden = BUF_INIT(4096),
				 name = BUF_INIT(64);
	const struct journey_stage *widest = journey_widest(journey);

	journey_add_title(&title, journey);
	buf_add_text(&title, ", ");
	format_add_time(&title, journey->time_ns);
	journey_add_widest(&words, journey);
	journey_add_hidden(&hidden, journey);
	buf_add_format(&name, "%s %s", journey->dir == PACKET_TX ? "tx" : "rx", widest ? stage_name(widest) : "-");
	buf_add_format(&out->pending, "{\"total\":%" PRIu64 ",", journey->total_ns);
	add_member(out, "name", &name);
	buf_add_char(&out->pending, ',');
	add_member(out, "title", &title);
	buf_add_char(&out->pending, ',');
	add_member(out, "words", &words);
	buf_add_char(&out->pending, ',');
	add_member(out, "hidden", &hidden);
	buf_add_text(&out->pending, ",\"stages\":[");
	for (uint32_t i = 0; i < journey->stage_count; i++) {
		buf_add_text(&out->pending, i ? "," : "");
		add_stage(out, journey, &journey->stages[i]);
	}
	buf_add_text(&out->pending, "]}");
	out_end_line(out);
}

static void add_row(struct out *out, const struct stage_row *row, uint8_t owner)
{
	const struct hist_slot *slots = row->hist.items;

	buf_add_format(&out->pending,
		       "{\"stage\":\"%s\",\"help\":", row->stage ? path_stages[row->stage].name : "total");
	page_add_text(out, row->stage ? path_stages[row->stage].help : "the whole journey");
	if (row->count == UINT64_MAX) {
		buf_add_text(&out->pending, ",\"count\":null}");
		return;
	}
	buf_add_format(&out->pending, ",\"count\":%" PRIu64 ",\"owner\":%s,\"share\":", row->count,
		       owner && row->stage == owner ? "true" : "false");
	if (isnan(row->share))
		buf_add_text(&out->pending, "null");
	else
		buf_add_format(&out->pending, "%.5f", row->share);
	buf_add_format(&out->pending,
		       ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 ",\"hist\":[",
		       row->p50_ns, row->p90_ns, row->p99_ns, row->max_ns);
	for (uint32_t i = 0; i < row->hist.count; i++)
		buf_add_format(&out->pending, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", slots[i].lo, slots[i].count);
	buf_add_text(&out->pending, "]}");
}

static void add_group(struct out *out, const struct summary *summary, const struct summary_group *group)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), words = BUF_INIT(4096);
	struct tail_verdict verdict;
	struct stage_rows rows;
	uint8_t owner = tail_judge(&group->tail, &verdict) ? verdict.owner : 0;

	summary_add_title(summary, group, &title);
	buf_add_format(&title, ": %" PRIu64 " journeys (", group->total.count);
	summary_add_ends(group->ends, &title);
	buf_add_char(&title, ')');
	tail_add_words(&words, &group->tail);
	buf_add_char(&out->pending, '{');
	add_member(out, "title", &title);
	buf_add_char(&out->pending, ',');
	add_member(out, "tail", &words);
	buf_add_text(&out->pending, ",\"rows\":[");
	summary_rows(group, &(struct stage_look){.utf8 = true}, &rows);
	for (size_t i = 0; i < rows.rows.count; i++) {
		buf_add_text(&out->pending, i ? "," : "");
		add_row(out, &rows.rows.items[i], owner);
	}
	stage_rows_done(&rows);
	buf_add_text(&out->pending, "]}");
	out_end_line(out);
}

static void add_layer(struct out *out, const struct heat *heat, unsigned layer, bool *any)
{
	_cleanup_buf_ struct buf name = BUF_INIT(64);
	unsigned low, high;
	bool comma = false;

	if (!path_layer_rows(heat, layer, &low, &high))
		return;
	path_layer_add_name(&name, layer);
	buf_add_format(&out->pending, "%s{\"stage\":\"%s\",\"low\":%u,\"high\":%u,\"most\":%u,\"cells\":[",
		       *any ? "," : "", buf_text(&name), low, high, heat_most(heat, layer));
	*any = true;
	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = low; row <= high; row++) {
			uint32_t count = heat_get(heat, layer, column, row);

			if (count == 0)
				continue;
			buf_add_format(&out->pending, "%s[%u,%u,%u]", comma ? "," : "", column, row, count);
			comma = true;
		}
	buf_add_text(&out->pending, "]}");
	out_end_line(out);
}

static void add_heat(struct out *out, const struct heat *heat)
{
	bool any = false;

	/* Milliseconds, as a browser counts them. */
	buf_add_format(&out->pending, "{\"begin\":%.3f,\"column\":%.6f,\"columns\":%u,\"layers\":[",
		       (double)(heat->first << heat->shift) / 1e6, (double)(UINT64_C(1) << heat->shift) / 1e6,
		       heat_columns(heat));
	for (unsigned layer = 0; layer < PATH_LAYERS; layer++)
		add_layer(out, heat, layer, &any);
	buf_add_text(&out->pending, "]}");
}

void picture_write_page(const struct path_picture *picture, struct out *out)
{
	const struct summary *summary = picture->summary;
	struct page page;

	page_begin(&page, "path.html", out);
	buf_add_text(&out->pending, "{\"note\":");
	page_add_text(out, picture->note);
	buf_add_text(&out->pending, ",\"journeys\":[");
	vec_each(&picture->slowest->journeys, journey) {
		buf_add_text(&out->pending, journey > picture->slowest->journeys.items ? "," : "");
		add_journey(out, journey);
	}
	buf_add_text(&out->pending, "],\"groups\":[");
	vec_each(&summary->groups, group) {
		buf_add_text(&out->pending, group > summary->groups.items ? "," : "");
		add_group(out, summary, *group);
	}
	buf_add_text(&out->pending, "],\"heat\":");
	add_heat(out, picture->heat);
	buf_add_char(&out->pending, '}');
	page_end(&page, out);
}
