/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/map.h"
#include "base/text.h"
#include "path/draw/trace_event.h"
#include "path/journey/journey_words.h"
#include "view/json.h"

/* Two pseudo-processes group the tracks. */
#define CPUS_PID  1
#define WAITS_PID 2

/* Tracks of a CPU: slices on one track nest or follow each other; a slice that overlaps goes to the next track. */
#define LANES_MAX 64
/* CPU at the end of the stage unknown. */
#define NO_CPU UINT16_MAX

void trace_events_add(struct trace_events *trace, const struct journey *journey)
{
	if (trace->journeys.count == TRACE_JOURNEYS_MAX)
		trace->left_out++;
	else
		vec_push(&trace->journeys, *journey);
}

void trace_events_done(struct trace_events *trace)
{
	vec_done(&trace->journeys);
}

struct slice {
	uint64_t begin_ns, end_ns;
	uint32_t journey; /* index */
	uint16_t stage;   /* index within the journey */
	uint16_t cpu;
	uint16_t lane;
	bool placed;
	bool mark; /* end of a wait: no work, but an arrow passes through it */
};

/* Open slices of a lane, innermost last. */
struct lane {
	VEC(uint64_t) ends;
};

struct lanes {
	struct lane items[LANES_MAX];
	unsigned used;
};

struct writer {
	const struct trace_events *trace;
	struct out *out;
	VEC(struct slice) slices;
	struct map cpus;   /* uint16_t -> struct lanes * */
	uint64_t begin_ns; /* origin of all times: viewers store floating point */
	uint64_t undrawn;  /* slices without a free track */
	bool any;
};

/* --- which track -------------------------------------------------------------------------------------------------- */

static int compare_slices(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	/* The longer slice is the outer one. */
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->journey != b->journey)
		return a->journey < b->journey ? -1 : 1;
	return (a->stage > b->stage) - (a->stage < b->stage);
}

static bool lane_take(struct lane *lane, const struct slice *slice)
{
	while (lane->ends.count && lane->ends.items[lane->ends.count - 1] <= slice->begin_ns)
		lane->ends.count--;
	if (lane->ends.count && lane->ends.items[lane->ends.count - 1] < slice->end_ns)
		return false;
	vec_push(&lane->ends, slice->end_ns);
	return true;
}

static void place_slice(struct writer *w, struct slice *slice)
{
	struct lanes **lanes = map_put(&w->cpus, &slice->cpu, NULL);

	if (!*lanes)
		*lanes = xzalloc(sizeof(**lanes));
	for (unsigned i = 0; i < LANES_MAX && !slice->placed; i++)
		if (lane_take(&(*lanes)->items[i], slice)) {
			slice->lane = (uint16_t)i;
			slice->placed = true;
			(*lanes)->used = max_of((*lanes)->used, i + 1);
		}
}

/* Slices without a track are omitted and counted. */
static void keep_placed(struct writer *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->slices.count; i++)
		if (w->slices.items[i].placed)
			w->slices.items[kept++] = w->slices.items[i];
	w->undrawn = w->slices.count - kept;
	w->slices.count = kept;
}

/*
 * Work becomes a slice. A wait becomes a mark at its end, on the CPU that ended it, unless work follows there at once:
 * so the arrows connect the whole path.
 */
static void add_stage_slice(struct writer *w, uint32_t number, uint32_t s)
{
	const struct journey *journey = &w->trace->journeys.items[number];
	const struct journey_stage *stage = &journey->stages[s];
	struct slice slice = {.begin_ns = stage->start_ns,
			      .end_ns = stage->start_ns + stage->ns,
			      .journey = number,
			      .stage = (uint16_t)s,
			      .cpu = stage->cpu};

	if (stage_kind(stage) == STAGE_WAITS) {
		bool taken_on = s + 1 < journey->stage_count && stage_kind(&stage[1]) != STAGE_WAITS;

		if (taken_on || stage->cpu == NO_CPU)
			return;
		slice.begin_ns = slice.end_ns;
		slice.end_ns++;
		slice.mark = true;
	}
	vec_push(&w->slices, slice);
}

static void collect_slices(struct writer *w)
{
	w->begin_ns = w->trace->journeys.count ? UINT64_MAX : 0;
	vec_each(&w->trace->journeys, journey)
		w->begin_ns = min_of(w->begin_ns, journey->time_ns);
	for (size_t i = 0; i < w->trace->journeys.count; i++) {
		const struct journey *journey = &w->trace->journeys.items[i];

		for (uint32_t s = 0; s < journey->stage_count; s++)
			add_stage_slice(w, (uint32_t)i, s);
	}
	vec_sort(&w->slices, compare_slices);
	for (size_t i = 0; i < w->slices.count; i++)
		place_slice(w, &w->slices.items[i]);
	keep_placed(w);
}

static unsigned track_of(const struct slice *slice)
{
	/* Never 0: viewers take it for the idle task. */
	return (unsigned)slice->cpu * LANES_MAX + slice->lane + 1;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static struct buf *begin_event(struct writer *w, char phase, unsigned pid, unsigned tid)
{
	struct buf *line = &w->out->pending;

	buf_add_text(line, w->any ? ",\n" : "\n");
	w->any = true;
	buf_add_format(line, "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", phase, pid, tid);
	return line;
}

static void end_event(struct writer *w)
{
	buf_add_char(&w->out->pending, '}');
	if (w->out->pending.len > (64 << 10))
		(void)out_flush(w->out);
}

/* Microseconds with three decimals. */
static void add_span(struct buf *line, const char *name, uint64_t ns)
{
	buf_add_format(line, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static void add_moment(const struct writer *w, struct buf *line, uint64_t ns)
{
	add_span(line, "ts", ns - w->begin_ns);
}

static void add_name_event(struct writer *w, const char *what, unsigned pid, unsigned tid, const char *name)
{
	struct buf *line = begin_event(w, 'M', pid, tid);

	buf_add_format(line, ",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}", what, name);
	end_event(w);
}

static void add_cpu_tracks(struct writer *w, uint16_t cpu, const struct lanes *lanes)
{
	for (unsigned lane = 0; lane < lanes->used; lane++) {
		_cleanup_buf_ struct buf name = BUF_INIT(64);
		unsigned tid = track_of(&(struct slice){.cpu = cpu, .lane = (uint16_t)lane});
		struct buf *line;

		if (cpu == NO_CPU)
			buf_add_text(&name, "CPU unknown");
		else
			buf_add_format(&name, "CPU %u", cpu);
		if (lane)
			buf_add_format(&name, " (overlapping, %u)", lane + 1);
		add_name_event(w, "thread_name", CPUS_PID, tid, buf_text(&name));
		line = begin_event(w, 'M', CPUS_PID, tid);
		buf_add_format(line, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}", tid);
		end_event(w);
	}
}

static int compare_cpus(const void *left, const void *right)
{
	return (int)*(const uint16_t *)left - (int)*(const uint16_t *)right;
}

static void add_tracks(struct writer *w)
{
	VEC(uint16_t) cpus = {};
	const void *key;
	void *value;
	size_t at = 0;

	add_name_event(w, "process_name", CPUS_PID, 0, "CPUs");
	add_name_event(w, "process_name", WAITS_PID, 0, "packets waiting");
	while (map_next(&w->cpus, &at, &key, &value))
		vec_push(&cpus, *(const uint16_t *)key);
	/* The map's order differs from run to run. */
	vec_sort(&cpus, compare_cpus);
	vec_each(&cpus, cpu)
		add_cpu_tracks(w, *cpu, *(struct lanes **)map_get(&w->cpus, cpu));
	vec_done(&cpus);
}

static void add_text_member(struct buf *line, const char *name, const struct buf *text)
{
	buf_add_format(line, ",\"%s\":\"", name);
	text_add_json(line, buf_text(text), text->len);
	buf_add_char(line, '"');
}

static void add_args(struct buf *line, const struct journey *journey, uint32_t number,
		     const struct journey_stage *stage)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), gap = BUF_INIT(4096);

	journey_add_title(&title, journey);
	journey_add_gap(&gap, journey, stage);
	buf_add_format(line, ",\"args\":{\"journey\":%u,\"total_ns\":%" PRIu64 ",\"context\":\"%s\"", number + 1,
		       journey->total_ns, stage_context(stage));
	add_text_member(line, "packet", &title);
	add_text_member(line, "says", &gap);
	buf_add_char(line, '}');
}

static void add_slice(struct writer *w, const struct slice *slice)
{
	const struct journey *journey = &w->trace->journeys.items[slice->journey];
	const struct journey_stage *stage = &journey->stages[slice->stage];
	struct buf *line = begin_event(w, 'X', CPUS_PID, track_of(slice));

	buf_add_format(line, ",\"cat\":\"%s\",\"name\":\"%s%s\"", stage_kind_names[stage_kind(stage)],
		       slice->mark ? "end of " : "", stage_name(stage));
	add_moment(w, line, slice->begin_ns);
	add_span(line, "dur", slice->end_ns - slice->begin_ns);
	/* Details are attached to the wait itself. */
	if (slice->mark)
		buf_add_format(line, ",\"args\":{\"journey\":%u}", slice->journey + 1);
	else
		add_args(line, journey, slice->journey, stage);
	end_event(w);
}

/* Start and end of a wait: both carry the journey's number; the direction keeps their tracks apart. */
static void add_wait(struct writer *w, uint32_t number, const struct journey_stage *stage)
{
	const struct journey *journey = &w->trace->journeys.items[number];
	const char *dir = journey->dir == PACKET_TX ? "tx" : "rx";

	for (int end = 0; end < 2; end++) {
		struct buf *line = begin_event(w, end ? 'e' : 'b', WAITS_PID, 0);

		buf_add_format(line, ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"0x%x\"", dir, stage_name(stage),
			       number + 1);
		add_moment(w, line, stage->start_ns + (end ? stage->ns : 0));
		if (!end)
			add_args(line, journey, number, stage);
		end_event(w);
	}
}

/* An arrow from slice to slice; each point binds to the slice that encloses its time. */
static void add_arrow(struct writer *w, const struct slice *slice, char phase)
{
	struct buf *line = begin_event(w, phase, CPUS_PID, track_of(slice));

	buf_add_format(line, ",\"cat\":\"packet\",\"name\":\"packet\",\"id\":%u%s", slice->journey + 1,
		       phase == 'f' ? ",\"bp\":\"e\"" : "");
	add_moment(w, line, slice->begin_ns);
	end_event(w);
}

static int compare_by_journey(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;

	if (a->journey != b->journey)
		return a->journey < b->journey ? -1 : 1;
	return (a->stage > b->stage) - (a->stage < b->stage);
}

static void add_arrows(struct writer *w)
{
	const struct slice *all = w->slices.items;

	vec_sort(&w->slices, compare_by_journey);
	for (size_t i = 0; i < w->slices.count; i++) {
		bool first = i == 0 || all[i - 1].journey != all[i].journey;
		bool last = i + 1 == w->slices.count || all[i + 1].journey != all[i].journey;

		if (!(first && last))
			add_arrow(w, &all[i], first ? 's' : last ? 'f' : 't');
	}
}

static void writer_done(struct writer *w)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&w->cpus, &at, &key, &value)) {
		struct lanes *lanes = *(struct lanes **)value;

		for (unsigned i = 0; i < LANES_MAX; i++)
			vec_done(&lanes->items[i].ends);
		free(lanes);
	}
	map_done(&w->cpus);
	vec_done(&w->slices);
}

void trace_events_write(const struct trace_events *trace, struct out *out)
{
	struct writer w = {.trace = trace, .out = out, .cpus = MAP_INIT(sizeof(uint16_t), sizeof(struct lanes *), 0)};

	collect_slices(&w);
	buf_add_text(&out->pending, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	add_tracks(&w);
	vec_each(&w.slices, slice)
		add_slice(&w, slice);
	for (uint32_t i = 0; i < trace->journeys.count; i++)
		for (uint32_t s = 0; s < trace->journeys.items[i].stage_count; s++)
			if (stage_kind(&trace->journeys.items[i].stages[s]) == STAGE_WAITS)
				add_wait(&w, i, &trace->journeys.items[i].stages[s]);
	add_arrows(&w);
	buf_add_format(&out->pending,
		       "\n],\"otherData\":{\"begin_ns\":%" PRIu64 ",\"journeys\":%zu,\"left_out\":%" PRIu64
		       ",\"stages_not_drawn\":%" PRIu64 "}}",
		       w.begin_ns, trace->journeys.count, trace->left_out, w.undrawn);
	out_end_line(out);
	writer_done(&w);
}
