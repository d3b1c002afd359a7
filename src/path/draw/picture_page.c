/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as a self-contained page: select a journey, hover for details. */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "path/draw/picture.h"
#include "path/journey/journey_words.h"
#include "view/format.h"
#include "view/page.h"

static void add_member(struct out *out, const char *name, const struct buf *text)
{
	buf_add_format(&out->pending, "\"%s\":", name);
	page_add_text(out, buf_text(text));
}

/* The same for untrusted text, without characters that hide or reverse others. */
static void add_foreign(struct out *out, const char *name, const struct buf *text)
{
	_cleanup_buf_ struct buf plain = BUF_INIT((size_t)1 << 20);

	text_add_terminal(&plain, buf_text(text), text->len);
	add_member(out, name, &plain);
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
	add_foreign(out, "title", &title);
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

static void add_share(struct out *out, const char *name, double share)
{
	if (isnan(share))
		buf_add_format(&out->pending, ",\"%s\":null", name);
	else
		buf_add_format(&out->pending, ",\"%s\":%.5f", name, share);
}

static void add_row(struct out *out, const struct stage_row *row)
{
	const struct hist_slot *slots = row->hist.items;

	buf_add_format(&out->pending,
		       "{\"stage\":\"%s\",\"help\":", row->stage ? path_stages[row->stage].name : "total");
	page_add_text(out, row->stage ? path_stages[row->stage].help : "the whole journey");
	if (row->count == UINT64_MAX) {
		buf_add_text(&out->pending, ",\"count\":null}");
		return;
	}
	buf_add_format(&out->pending, ",\"count\":%" PRIu64 ",\"owner\":%s", row->count, row->owner ? "true" : "false");
	add_share(out, "share", row->share);
	add_share(out, "tail", row->tail_share);
	buf_add_format(&out->pending,
		       ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 ",\"hist\":[",
		       row->p50_ns, row->p90_ns, row->p99_ns, row->max_ns);
	for (uint32_t i = 0; i < row->hist.count; i++)
		buf_add_format(&out->pending, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", slots[i].lo, slots[i].count);
	buf_add_text(&out->pending, "]}");
}

static void add_group(struct out *out, const struct summary *summary, const struct summary_group *group)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), words = BUF_INIT(4096), unseen = BUF_INIT(4096);
	struct tail_verdict verdict;
	struct stage_rows rows;
	bool owned = tail_judge(&group->tail, &verdict) && verdict.owner;

	summary_add_heading(summary, group, &title);
	tail_add_words(&words, &group->tail);
	summary_add_unseen(group, &unseen);
	buf_add_format(&out->pending, "{\"owned\":%s,", owned ? "true" : "false");
	add_member(out, "title", &title);
	buf_add_char(&out->pending, ',');
	add_member(out, "tail", &words);
	buf_add_char(&out->pending, ',');
	add_member(out, "unseen", &unseen);
	buf_add_text(&out->pending, ",\"rows\":[");
	summary_rows(group, &(struct stage_look){.utf8 = true}, &rows);
	for (size_t i = 0; i < rows.rows.count; i++) {
		buf_add_text(&out->pending, i ? "," : "");
		add_row(out, &rows.rows.items[i]);
	}
	stage_rows_done(&rows);
	buf_add_text(&out->pending, "]}");
	out_end_line(out);
}

/* Cells: column, row from the bottom, count. Row 0 is zero if present; the others start at first_ns and double. */
static void add_map(struct out *out, const struct heat *heat, unsigned number, bool *any)
{
	_cleanup_buf_ struct buf name = BUF_INIT(64), low = BUF_INIT(64), high = BUF_INIT(64);
	struct path_map map;
	bool comma = false;

	if (!path_map_get(heat, number, &map))
		return;
	path_map_add_name(&name, &map);
	path_map_add_low(&low, &map);
	path_map_add_high(&high, &map);
	buf_add_format(&out->pending,
		       "%s{\"stage\":\"%s\",\"low\":\"%s\",\"high\":\"%s\",\"zero\":%s,\"first_ns\":%" PRIu64
		       ",\"rows\":%u,\"most\":%u,\"cells\":[",
		       *any ? "," : "", buf_text(&name), buf_text(&low), buf_text(&high), map.zero ? "true" : "false",
		       map.low ? heat_row_first(map.low) : 0, path_map_rows(&map), heat_most(heat, map.layer));
	*any = true;
	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = 0; row < HEAT_ROWS; row++) {
			uint32_t count = heat_get(heat, map.layer, column, row);
			unsigned place = path_map_place(&map, row);

			if (count == 0 || place == PATH_NO_ROW)
				continue;
			buf_add_format(&out->pending, "%s[%u,%u,%u]", comma ? "," : "", column, place, count);
			comma = true;
		}
	buf_add_text(&out->pending, "]}");
	out_end_line(out);
}

/* The reader may be in another time zone: show times of this host. */
static double utc_offset_ms(uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm local;

	return localtime_r(&seconds, &local) ? 1e3 * (double)local.tm_gmtoff : 0;
}

static void add_heat(struct out *out, const struct heat *heat)
{
	uint64_t begin_ns = heat->first << heat->shift;
	bool any = false;

	/* Milliseconds, as JavaScript counts. */
	buf_add_format(&out->pending, "{\"begin\":%.3f,\"column\":%.6f,\"columns\":%u,\"layers\":[",
		       (double)begin_ns / 1e6 + utc_offset_ms(begin_ns), (double)(UINT64_C(1) << heat->shift) / 1e6,
		       heat_columns(heat));
	for (unsigned number = 0; number < PATH_MAPS; number++)
		add_map(out, heat, number, &any);
	buf_add_text(&out->pending, "]}");
}

void picture_write_page(const struct path_picture *picture, struct out *out)
{
	_cleanup_buf_ struct buf heading = BUF_INIT(256), note = BUF_INIT(65536);
	const struct summary *summary = picture->summary;
	struct page page;

	page_begin(&page, "path.html", out);
	buf_add_text(&note, picture->note);
	buf_add_char(&out->pending, '{');
	add_foreign(out, "note", &note);
	buf_add_char(&out->pending, ',');
	picture_add_heading(&heading, picture);
	add_member(out, "heading", &heading);
	buf_add_format(&out->pending, ",\"ungrouped\":%" PRIu64, summary->ungrouped);
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
