/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as a record: JSON, and the page on which a journey is chosen and everything says what it is. */
#include "base/text.h"
#include "path/draw/picture.h"
#include "path/journey/journey_words.h"
#include "record/bare.h"
#include "view/format.h"
#include "view/json.h"
#include "view/page.h"

#define TEXT_MAX 65536

struct drawn_stage {
	const char *stage;
	uint64_t at_ns;
	uint64_t ns;
	uint16_t cpu;
	const char *kind;
	const char *context;
	bool widest;
	const char *gap;
};

static const struct field stage_fields[] = {
	FIELD(struct drawn_stage, stage, TEXT, "stage of the path"),
	FIELD(struct drawn_stage, at_ns, DURATION, "time since the start of the journey"),
	FIELD(struct drawn_stage, ns, DURATION, "duration of the stage"),
	FIELD(struct drawn_stage, cpu, ID, "CPU at the end of the stage"),
	FIELD(struct drawn_stage, kind, TEXT, "what happened: wait, hardirq, softirq, process"),
	FIELD(struct drawn_stage, context, TEXT, "execution context"),
	FIELD(struct drawn_stage, widest, BOOL, "whether this is the longest stage"),
	FIELD(struct drawn_stage, gap, TEXT, "where the time went, in words"),
};
static RECORD_TYPE(drawn_stage_type, "path_drawn_stage", struct drawn_stage, stage_fields, "a stage of a waterfall");

struct drawn_journey {
	uint64_t time_ns;
	uint64_t total_ns;
	const char *dir;
	const char *title;
	const char *words;
	const char *hidden;
	struct list stages;
};

static const struct field journey_fields[] = {
	FIELD(struct drawn_journey, time_ns, TIME, "start of the journey"),
	FIELD(struct drawn_journey, total_ns, DURATION, "sum of the stages"),
	FIELD(struct drawn_journey, dir, TEXT, "rx or tx"),
	FIELD(struct drawn_journey, title, TEXT, "packet, process, device, end"),
	FIELD(struct drawn_journey, words, TEXT, "the longest stage, in words"),
	FIELD(struct drawn_journey, hidden, TEXT, "stages that are not visible, in words"),
	FIELD(struct drawn_journey, stages, LIST, "in order of time", .element = &drawn_stage_type),
};
static RECORD_TYPE(drawn_journey_type, "path_drawn_journey", struct drawn_journey, journey_fields, "a waterfall");

struct drawn_group {
	const char *title;
	const char *tail;
	bool owned;
	const char *unseen;
	struct list rows;
};

static const struct field group_fields[] = {
	FIELD(struct drawn_group, title, TEXT, "direction, group, number of journeys and their ends"),
	FIELD(struct drawn_group, tail, TEXT, "what makes the slowest 1 % slow, in words"),
	FIELD(struct drawn_group, owned, BOOL, "whether one stage is the main cause of the tail"),
	FIELD(struct drawn_group, unseen, TEXT, "stages that are not visible, in words"),
	FIELD(struct drawn_group, rows, LIST, "stages", .element = &stage_row_type),
};
static RECORD_TYPE(drawn_group_type, "path_drawn_group", struct drawn_group, group_fields, "stages of many journeys");

/* Row 0 is zero where the map has it; the others start at first_ns and double. */
struct drawn_map {
	const char *dir;
	const char *stage;
	bool zero;
	uint64_t first_ns;
	uint64_t rows;
	uint64_t most;
	struct list column, row, count;
};

static const struct field map_fields[] = {
	FIELD(struct drawn_map, dir, TEXT, "rx or tx"),
	FIELD(struct drawn_map, stage, TEXT, "stage"),
	FIELD(struct drawn_map, zero, BOOL, "whether the lowest row is for durations of 0"),
	FIELD(struct drawn_map, first_ns, DURATION, "shortest duration of the next row; each further row doubles it"),
	FIELD(struct drawn_map, rows, COUNT, "rows"),
	FIELD(struct drawn_map, most, COUNT, "largest count of a cell"),
	FIELD(struct drawn_map, column, LIST, "of each cell that is not empty: its column, 0 is the earliest",
	      .element = &bare_number_type),
	FIELD(struct drawn_map, row, LIST, "its row, 0 is the shortest", .element = &bare_number_type),
	FIELD(struct drawn_map, count, LIST, "its journeys", .element = &bare_number_type),
};
static RECORD_TYPE(drawn_map_type, "path_drawn_map", struct drawn_map, map_fields, "durations of a stage over time");

struct stage_help {
	const char *stage;
	const char *help;
};

static const struct field help_fields[] = {
	FIELD(struct stage_help, stage, TEXT, "stage of the path"),
	FIELD(struct stage_help, help, TEXT, "meaning"),
};
static RECORD_TYPE(stage_help_type, "path_stage_help", struct stage_help, help_fields, "meaning of a stage");

struct document {
	const char *note;
	const char *heading;
	uint64_t journeys;
	uint64_t ungrouped;
	struct list slowest;
	struct list groups;
	uint64_t begin_ns;
	uint64_t column_ns;
	uint64_t columns;
	struct list maps;
	struct list stages;
};

#define D struct document
static const struct field document_fields[] = {
	FIELD(D, note, TEXT, "scope of the run, and losses"),
	FIELD(D, heading, TEXT, "which journeys are drawn"),
	FIELD(D, journeys, COUNT, "journeys in total"),
	FIELD(D, ungrouped, COUNT, "journeys of groups beyond the limit"),
	FIELD(D, slowest, LIST, "slowest first", .element = &drawn_journey_type),
	FIELD(D, groups, LIST, "per direction and group", .element = &drawn_group_type),
	FIELD(D, begin_ns, TIME, "start of the first column of the maps", .zero_is_unknown = true),
	FIELD(D, column_ns, DURATION, "width of a column"),
	FIELD(D, columns, COUNT, "columns of the maps"),
	FIELD(D, maps, LIST, "a map per stage and direction", .element = &drawn_map_type),
	FIELD(D, stages, LIST, "all stages", .element = &stage_help_type),
};
#undef D
static RECORD_TYPE(document_type, "path_picture", struct document, document_fields,
		   "waterfalls, stages and maps of journeys");

/* What the document points to. */
struct content {
	VEC(char *) texts;
	VEC(struct drawn_journey) journeys;
	VEC(struct drawn_group) groups;
	VEC(struct stage_rows) rows;
	VEC(struct drawn_map) maps;
	VEC(bare_numbers) cells;
	VEC(struct stage_help) stages;
};

/* NULL for an empty text, which is unknown. */
static const char *keep(struct content *content, const struct buf *text)
{
	if (text->len == 0)
		return NULL;
	vec_push(&content->texts, xstrdup(buf_text(text)));
	return content->texts.items[content->texts.count - 1];
}

/* The same for untrusted text, without characters that hide or reverse others. */
static const char *keep_foreign(struct content *content, const struct buf *text)
{
	_cleanup_buf_ struct buf plain = BUF_INIT((size_t)1 << 20);

	text_add_terminal(&plain, buf_text(text), text->len);
	return keep(content, &plain);
}

static struct drawn_stage draw_stage(struct content *content, const struct journey *journey,
				     const struct journey_stage *stage)
{
	_cleanup_buf_ struct buf gap = BUF_INIT(TEXT_MAX);

	journey_add_gap(&gap, journey, stage);
	return (struct drawn_stage){.stage = stage_name(stage),
				    .at_ns = stage_offset(journey, stage),
				    .ns = stage->ns,
				    .cpu = stage->cpu,
				    .kind = stage_kind_names[stage_kind(stage)],
				    .context = stage_context(stage),
				    .widest = stage == journey_widest(journey),
				    .gap = keep(content, &gap)};
}

static void draw_journey(struct content *content, const struct journey *journey)
{
	_cleanup_buf_ struct buf title = BUF_INIT(TEXT_MAX), words = BUF_INIT(TEXT_MAX), hidden = BUF_INIT(TEXT_MAX);
	struct drawn_stage *stages = xzalloc((journey->stage_count + 1) * sizeof(*stages));

	for (uint32_t i = 0; i < journey->stage_count; i++)
		stages[i] = draw_stage(content, journey, &journey->stages[i]);
	journey_add_title(&title, journey);
	journey_add_widest(&words, journey);
	journey_add_hidden(&hidden, journey);
	vec_push(&content->journeys, (struct drawn_journey){.time_ns = journey->time_ns,
							    .total_ns = journey->total_ns,
							    .dir = journey->dir == PACKET_TX ? "tx" : "rx",
							    .title = keep_foreign(content, &title),
							    .words = keep(content, &words),
							    .hidden = keep(content, &hidden),
							    .stages = {stages, journey->stage_count}});
}

static void draw_group(struct content *content, const struct summary *summary, const struct summary_group *group)
{
	_cleanup_buf_ struct buf title = BUF_INIT(TEXT_MAX), tail = BUF_INIT(TEXT_MAX), unseen = BUF_INIT(TEXT_MAX);
	struct stage_rows *rows = vec_add(&content->rows);
	struct tail_verdict verdict;

	summary_rows(group, &(struct stage_look){.utf8 = true}, rows);
	summary_add_heading(summary, group, &title);
	tail_add_words(&tail, &group->tail);
	summary_add_unseen(group, &unseen);
	vec_push(&content->groups, (struct drawn_group){.title = keep(content, &title),
							.tail = keep(content, &tail),
							.owned = tail_judge(&group->tail, &verdict) && verdict.owner,
							.unseen = keep(content, &unseen),
							.rows = {rows->rows.items, (uint32_t)rows->rows.count}});
}

static void draw_cells(const struct heat *heat, const struct path_map *map, bare_numbers *columns)
{
	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = 0; row < HEAT_ROWS; row++) {
			uint32_t count = heat_get(heat, map->layer, column, row);
			unsigned place = path_map_place(map, row);

			if (count == 0 || place == PATH_NO_ROW)
				continue;
			vec_push(&columns[0], column);
			vec_push(&columns[1], place);
			vec_push(&columns[2], count);
		}
}

static void draw_map(struct content *content, const struct heat *heat, const struct path_map *map)
{
	bare_numbers columns[3] = {};

	draw_cells(heat, map, columns);
	vec_push(&content->maps, (struct drawn_map){.dir = map->layer >= PATH_STAGES ? "tx" : "rx",
						    .stage = path_stages[map->layer % PATH_STAGES].name,
						    .zero = map->zero,
						    .first_ns = map->low ? heat_row_first(map->low) : 0,
						    .rows = path_map_rows(map),
						    .most = heat_most(heat, map->layer),
						    .column = BARE_LIST(&columns[0]),
						    .row = BARE_LIST(&columns[1]),
						    .count = BARE_LIST(&columns[2])});
	for (unsigned i = 0; i < ARRAY_SIZE(columns); i++)
		vec_push(&content->cells, columns[i]);
}

static void draw_all(struct content *content, const struct path_picture *picture)
{
	struct path_map map;

	vec_each(&picture->slowest->journeys, journey)
		draw_journey(content, journey);
	vec_each(&picture->summary->groups, group)
		draw_group(content, picture->summary, *group);
	for (unsigned number = 0; number < PATH_MAPS; number++)
		if (path_map_get(picture->heat, number, &map))
			draw_map(content, picture->heat, &map);
	for (unsigned i = 1; i < PATH_STAGES; i++)
		if (path_stages[i].help)
			vec_push(&content->stages, (struct stage_help){path_stages[i].name, path_stages[i].help});
}

static struct document make(const struct path_picture *picture, struct content *content)
{
	_cleanup_buf_ struct buf heading = BUF_INIT(TEXT_MAX), note = BUF_INIT(TEXT_MAX);
	const struct heat *heat = picture->heat;

	*content = (struct content){};
	draw_all(content, picture);
	picture_add_heading(&heading, picture);
	buf_add_text(&note, picture->note);
	return (struct document){.note = keep_foreign(content, &note),
				 .heading = keep(content, &heading),
				 .journeys = picture->journeys,
				 .ungrouped = picture->summary->ungrouped,
				 .slowest = BARE_LIST(&content->journeys),
				 .groups = BARE_LIST(&content->groups),
				 .begin_ns = heat->first << heat->shift,
				 .column_ns = UINT64_C(1) << heat->shift,
				 .columns = heat_columns(heat),
				 .maps = BARE_LIST(&content->maps),
				 .stages = BARE_LIST(&content->stages)};
}

static void content_done(struct content *content)
{
	vec_each(&content->texts, text)
		free(*text);
	vec_each(&content->journeys, journey)
		free((void *)journey->stages.items);
	vec_each(&content->rows, rows)
		stage_rows_done(rows);
	vec_each(&content->cells, cells)
		vec_done(cells);
	vec_done(&content->texts);
	vec_done(&content->journeys);
	vec_done(&content->groups);
	vec_done(&content->rows);
	vec_done(&content->maps);
	vec_done(&content->cells);
	vec_done(&content->stages);
}

void picture_write_json(const struct path_picture *picture, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(picture, &content);

	json_add_object(&out->pending, &document_type, &document);
	out_end_line(out);
}

void picture_write_page(const struct path_picture *picture, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(picture, &content);

	if (page_write(out, "path", &document_type, &document))
		return;
	page_begin_plain(out, "nest path");
	picture_write_svg(picture, out);
	page_end_plain(out);
}
