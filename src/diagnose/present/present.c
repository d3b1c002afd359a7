/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/text.h"
#include "diagnose/measure/far_end.h"
#include "diagnose/measure/unseen.h"
#include "diagnose/present/present.h"
#include "diagnose/present/time_words.h"
#include "view/format.h"
#include "view/tree.h"

/* Of an advice: two lines of 80 columns, less the branches and the word in front of it. */
#define ADVICE_COLUMNS 140

static enum out_style style_of(uint8_t severity)
{
	return severity == SEVERITY_HIGH ? OUT_RED : severity == SEVERITY_MEDIUM ? OUT_YELLOW : OUT_CYAN;
}

static void add_line(struct out *out, const char *text)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(BUF_CAP_DEFAULT);

	text_add_terminal(&shown, text, strlen(text));
	out_add_folded(out, buf_text(&shown), 0, "   ");
	out_end_line(out);
}

/* --- findings --- */

/* The headline gives its own sentence; the line of that rule does not repeat it. */
static void add_evidence(struct tree *tree, struct tree_node *node, const struct list *list, const char *mark,
			 const char *headline)
{
	const struct evidence_record *items = list->items;

	for (uint32_t i = 0; i < list->count; i++) {
		bool said = headline && strcmp(items[i].text, headline) == 0;

		tree_add(tree, node, OUT_DIM, mark, "%s (%.2f)%s%s", items[i].rule, items[i].cf, said ? "" : " ",
			 said ? "" : items[i].text);
	}
}

static void add_advice(struct tree *tree, struct tree_node *node, const struct finding_record *f)
{
	_cleanup_free_ char *more = xasprintf(" (nest explain %s)", f->cause);
	size_t length;

	/* A finding of the fleet may come without. */
	if (!f->advice) {
		tree_add(tree, node, OUT_PLAIN, "advice:", "nest explain %s", f->cause);
		return;
	}
	length = text_first_sentences(f->advice, ADVICE_COLUMNS - strlen(more));
	tree_add(tree, node, OUT_PLAIN, "advice:", "%.*s%s", (int)length, f->advice, more);
}

static bool begins_with(const char *text, const char *start, size_t length)
{
	return strlen(text) >= length && strncmp(text, start, length) == 0;
}

/* What the sentence begins with, when that is the culprit: its name, or as an address (and port) what is its name. */
static size_t culprit_length(const char *accused, const char *sentence)
{
	size_t length = strlen(accused), word = strcspn(sentence, " ");
	bool bracket = accused[0] == '[';
	_cleanup_free_ char *port = NULL;

	if (begins_with(sentence, accused, length))
		return length;
	if (!begins_with(accused + bracket, sentence, word) ||
	    !begins_with(accused + bracket + word, bracket ? "]:" : ":", 1U + bracket))
		return 0;
	port = xasprintf(" port %s", accused + word + 1 + 2 * bracket);
	return begins_with(sentence + word, port, strlen(port)) ? word + strlen(port) : word;
}

/* "network namespace web (4026532212)" */
static void add_place(struct buf *text, const char *name, uint64_t netns)
{
	if (name)
		buf_add_format(text, "network namespace %s (%" PRIu64 ")", name, netns);
	else
		buf_add_format(text, "network namespace %" PRIu64, netns);
}

static void add_container(struct tree *tree, struct tree_node *node, const char *name, uint64_t netns)
{
	_cleanup_buf_ struct buf place = BUF_INIT(256);

	if (!netns)
		return;
	add_place(&place, name, netns);
	tree_add(tree, node, OUT_BOLD, "in:", "%s", buf_text(&place));
}

static void add_finding(struct tree *tree, const struct finding_record *f, bool all)
{
	size_t skipped = culprit_length(f->accused, f->because);
	struct tree_node *node = tree_add(tree, NULL, style_of(f->severity), f->cause, "%s%s%s (certainty %.2f%s)",
					  f->accused, skipped ? "" : ": ", f->because + skipped, f->certainty,
					  f->over ? "; no longer in the last second" : "");

	add_container(tree, node, f->netns_name, f->netns);
	if (f->spent_in.count) {
		const struct spent_record *spent = f->spent_in.items;

		tree_add(tree, node, OUT_BOLD, "inside:", "%s", spent->text);
	}
	add_evidence(tree, node, &f->for_evidence, "evidence:", f->because);
	add_evidence(tree, node, &f->against_evidence, "against:", NULL);
	for (uint32_t i = 0; i < f->ambiguous_with.count; i++)
		tree_add(tree, node, OUT_PLAIN, "could also be:", "%s", text_record_at(&f->ambiguous_with, i));
	for (uint32_t i = 0; all && i < f->would_change.count; i++)
		tree_add(tree, node, OUT_DIM, "would change:", "%s", text_record_at(&f->would_change, i));
	add_advice(tree, node, f);
	for (uint32_t i = 0; i < f->next.count; i++)
		tree_add(tree, node, OUT_PLAIN, "next:", "%s", text_record_at(&f->next, i));
}

/* "12 connections, 3.00 s" */
static void add_extent(struct buf *text, const struct diagnosis_record *record)
{
	const struct module_record *modules = record->modules.items;
	size_t connections = 0;

	for (uint32_t i = 0; i < record->modules.count; i++)
		connections += modules[i].kind == MODULE_CONN;
	format_add_plural(text, connections, "connection");
	buf_add_text(text, ", ");
	format_add_duration(text, (int64_t)record->window_ms * (int64_t)NSEC_PER_MSEC);
}

/* Requests that wait, where no rule finds a cause. */
static void print_waits(const struct diagnosis_record *record, struct out *out)
{
	for (uint32_t i = 0; i < record->waits.count; i++)
		add_line(out, text_record_at(&record->waits, i));
	if (record->waits_count > record->waits.count) {
		buf_add_format(&out->pending, "(%zu more like this)", record->waits_count - record->waits.count);
		out_end_line(out);
	}
}

/* "No fault found. curl (812) spends 98 % waiting for 10.1.2.2:80: 2.00 s per request (12 connections, 3.00 s)." */
static void add_health(struct buf *text, const struct diagnosis_record *record, const struct present_options *options)
{
	bool timed = record->time.count > 0;

	buf_add_format(text, "%s fault found%s ", options->several ? "no" : "No", timed ? "." : ":");
	if (timed) {
		time_words_add(text, record);
		buf_add_text(text, " (");
	}
	add_extent(text, record);
	buf_add_text(text, timed ? ")." : ".");
}

static bool is_first_of_its_why(const struct unseen_record *items, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (strcmp(items[i].why, items[at].why) == 0)
			return false;
	return true;
}

/* Where it was not looked, nothing can be found: one line per reason. */
static void print_unseen(const struct diagnosis_record *record, struct out *out)
{
	const struct unseen_record *items = record->not_seen.items;
	uint32_t count = record->not_seen.count;

	for (uint32_t i = 0; i < count; i++) {
		_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

		if (!is_first_of_its_why(items, i))
			continue;
		for (uint32_t n = i; n < count; n++)
			if (strcmp(items[n].why, items[i].why) == 0)
				buf_add_format(&text, "%s%s", n == i ? "Not seen: " : "; ", items[n].lost);
		buf_add_format(&text, " (%s)", items[i].why);
		add_line(out, buf_text(&text));
	}
}

/* A selection that matches no socket must not look like good health. */
static void print_health(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	if (options->several) {
		add_place(&text, record->netns_name, record->netns);
		buf_add_text(&text, ": ");
	}
	if (options->chosen && record->modules.count == 0) {
		buf_add_format(&text, "%s socket matches the selection.", options->several ? "no" : "No");
	} else {
		add_health(&text, record, options);
	}
	add_line(out, buf_text(&text));
	print_waits(record, out);
	if (!options->several)
		time_words_print(record, options->all, out);
}

/* What is there and costs nothing: one line each, with the reason that it is no finding. */
static void print_notes(const struct diagnosis_record *record, struct out *out)
{
	const struct finding_record *notes = record->notes.items;

	for (uint32_t i = 0; i < record->notes.count; i++) {
		const struct evidence_record *against = notes[i].against_evidence.items;

		buf_add_format(&out->pending, "Note: %s %s: %s", notes[i].cause, notes[i].accused, notes[i].because);
		if (notes[i].against_evidence.count > 0)
			buf_add_format(&out->pending, "; %s", against[0].text);
		out_end_line(out);
	}
}

static void print_answer(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	const struct finding_record *findings = record->findings.items;
	_cleanup_(tree_freep) struct tree *tree = tree_new();

	if (record->findings.count == 0) {
		print_health(record, options, out);
		return;
	}
	if (options->several) {
		_cleanup_buf_ struct buf place = BUF_INIT(BUF_CAP_DEFAULT);

		add_place(&place, record->netns_name, record->netns);
		add_line(out, buf_text(&place));
	}
	for (uint32_t i = 0; i < record->findings.count; i++)
		add_finding(tree, &findings[i], options->all);
	tree_print(tree, out);
}

/* --- the graph --- */

/* A module, and what the rest of the record says about it. */
struct place {
	const struct module_record *module;
	bool accused, affected, needed, drawn;
};

struct drawing {
	struct tree *tree;
	struct map places; /* id -> struct place */
	bool all;
};

static void find_places(struct drawing *drawing, const struct diagnosis_record *record)
{
	const struct module_record *modules = record->modules.items;
	const struct finding_record *findings = record->findings.items;
	struct place *place;

	for (uint32_t i = 0; i < record->modules.count; i++)
		*(struct place *)map_put(&drawing->places, modules[i].id, NULL) = (struct place){&modules[i]};
	for (uint32_t i = 0; i < record->modules.count; i++)
		for (uint32_t n = 0; n < modules[i].depends_on.count; n++)
			if ((place = map_get(&drawing->places, text_record_at(&modules[i].depends_on, n))))
				place->needed = true;
	for (uint32_t i = 0; i < record->findings.count; i++) {
		if ((place = map_get(&drawing->places, findings[i].module)))
			place->accused = true;
		for (uint32_t n = 0; n < findings[i].affects.count; n++)
			if ((place = map_get(&drawing->places, text_record_at(&findings[i].affects, n))))
				place->affected = true;
	}
}

static bool is_interesting(const struct place *place)
{
	return place->accused || place->affected || strcmp(place->module->state, activity_name(ACTIVITY_WAITING)) == 0;
}

static void add_limits(struct buf *text, const struct limit_record *limits)
{
	const char *separator = ", limited by ";

	for (uint32_t i = 0; i < limit_type.field_count; i++) {
		const struct field *field = &limit_type.fields[i];
		double share = value_get(field, limits).real;

		if (share < 0.1 || strcmp(field->name, "nobody") == 0)
			continue;
		buf_add_text(text, separator);
		for (const char *p = field->name; *p; p++)
			buf_add_char(text, *p == '_' ? ' ' : *p);
		buf_add_char(text, ' ');
		format_add_share(text, share);
		separator = ", ";
	}
}

/* Below a connection only what this connection uses is shown, and its path below the interface that leads there. */
static bool belongs(const struct module_record *conn, const struct module_record *above,
		    const struct module_record *below)
{
	if (!conn)
		return true;
	if (above == conn && below->kind == MODULE_PATH && conn->related[MODULE_LINK])
		return false;
	return conn->related[below->kind] && strcmp(conn->related[below->kind], below->id) == 0;
}

/* The words of the paper that the states come from say little without it. */
static const char *state_words(const char *state)
{
	if (strcmp(state, activity_name(ACTIVITY_WAITING_ANCESTOR)) == 0)
		return "blocked";
	if (strcmp(state, activity_name(ACTIVITY_IGNORED)) == 0)
		return "idle";
	return strcmp(state, activity_name(ACTIVITY_UNKNOWN)) == 0 ? "" : state;
}

/* Their own dependants are drawn below the application already. */
static bool is_leaf(const struct module_record *module)
{
	return module->kind == MODULE_THREAD || module->kind == MODULE_RESOLVER || module->kind == MODULE_CGROUP;
}

static struct place *place_below(const struct drawing *drawing, const struct module_record *module, uint32_t i,
				 const struct module_record *conn)
{
	struct place *below = map_get(&drawing->places, text_record_at(&module->depends_on, i));

	return below && !is_leaf(module) && belongs(conn, module, below->module) ? below : NULL;
}

/* Accused, waiting or affected, or a module below it is; a connection that gets on is healthy, whoever is accused. */
static bool is_drawn(const struct drawing *drawing, const struct place *place, const struct module_record *conn)
{
	const struct module_record *module = place->module;
	const struct place *below;
	bool drawn = drawing->all || is_interesting(place);

	if (module->kind == MODULE_CONN || module->kind == MODULE_UDP)
		return drawn;
	for (uint32_t i = 0; !drawn && i < module->depends_on.count; i++)
		drawn = (below = place_below(drawing, module, i, conn)) && is_drawn(drawing, below, conn);
	return drawn;
}

/* Kinds of which a program has hundreds, with names that say nothing to a reader. */
static bool is_one_of_many(const struct module_record *module)
{
	return module->kind == MODULE_CONN || module->kind == MODULE_UDP || module->kind == MODULE_THREAD;
}

static const char *main_limit(const struct module_record *module)
{
	const char *name = "";
	double most = 0, share;

	for (uint32_t i = 0; module->limited_by.count > 0 && i < limit_type.field_count; i++) {
		share = value_get(&limit_type.fields[i], module->limited_by.items).real;
		if (share > most) {
			most = share;
			name = limit_type.fields[i].name;
		}
	}
	return name;
}

/* What is drawn of a module and below it, without the names of those that are many. Each culprit has its own look. */
static void add_look(const struct drawing *drawing, struct buf *look, const struct place *place,
		     const struct module_record *conn)
{
	const struct module_record *module = place->module;
	bool named = place->accused || !is_one_of_many(module);
	const struct place *below;

	if (module->kind == MODULE_CONN)
		conn = module;
	buf_add_format(look, "%s %s %s(", named ? module->id : module_kind_name(module->kind), module->state,
		       main_limit(module));
	for (uint32_t i = 0; i < module->depends_on.count; i++)
		if ((below = place_below(drawing, module, i, conn)) && is_drawn(drawing, below, conn))
			add_look(drawing, look, below, conn);
	buf_add_char(look, ')');
}

struct place_list {
	struct place **items;
	size_t count, room;
};

static void add_siblings(const struct drawing *drawing, struct tree_node *parent, const struct place_list *siblings,
			 const struct module_record *conn);

static void add_module(const struct drawing *drawing, struct tree_node *parent, struct place *place,
		       const struct module_record *conn)
{
	const struct module_record *module = place->module;
	const char *words = state_words(module->state);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct place_list all_below = {};
	struct tree_node *node;
	struct place *below;

	if (module->kind == MODULE_CONN)
		conn = module;
	place->drawn = true;
	buf_add_format(&text, "%s %s%s%s", module_kind_name(module->kind), module->name, *words ? ": " : "", words);
	if (module->limited_by.count > 0)
		add_limits(&text, module->limited_by.items);
	/* What it depends on is in the same. */
	if (!parent && module->netns) {
		buf_add_text(&text, ", ");
		add_place(&text, module->netns_name, module->netns);
	}
	node = tree_add(drawing->tree, parent, place->accused ? OUT_RED : OUT_PLAIN, place->accused ? ">>" : NULL, "%s",
			buf_text(&text));
	for (uint32_t i = 0; i < module->depends_on.count; i++)
		if ((below = place_below(drawing, module, i, conn)) && is_drawn(drawing, below, conn))
			vec_push(&all_below, below);
	add_siblings(drawing, node, &all_below, conn);
	vec_done(&all_below);
}

struct alike {
	uint32_t count;
	bool drawn; /* the first of them */
};

/* Of three siblings or more that look alike, the first is drawn and the others are counted. */
static void add_siblings(const struct drawing *drawing, struct tree_node *parent, const struct place_list *siblings,
			 const struct module_record *conn)
{
	struct map looks = MAP_INIT(0, sizeof(struct alike), 0);
	_cleanup_buf_ struct buf look = BUF_INIT(1 << 16);
	struct alike *alike;

	for (size_t i = 0; !drawing->all && i < siblings->count; i++) {
		buf_clear(&look);
		add_look(drawing, &look, siblings->items[i], conn);
		alike = map_put(&looks, buf_text(&look), NULL);
		alike->count++;
	}
	vec_each(siblings, place) {
		buf_clear(&look);
		if (!drawing->all)
			add_look(drawing, &look, *place, conn);
		alike = map_get(&looks, buf_text(&look));
		if (alike && alike->count > 2 && alike->drawn) {
			(*place)->drawn = true;
			continue;
		}
		add_module(drawing, parent, *place, conn);
		if (!alike)
			continue;
		alike->drawn = true;
		if (alike->count > 2)
			tree_add(drawing->tree, parent, OUT_PLAIN, NULL, "%u more like this; --all shows them",
				 alike->count - 1);
	}
	map_done(&looks);
}

static void print_graph(const struct diagnosis_record *record, bool all, struct out *out)
{
	const struct module_record *modules = record->modules.items;
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	struct drawing drawing = {tree, MAP_INIT(0, sizeof(struct place), 0), all};
	struct place_list roots = {};
	size_t shown = 0, hidden = 0;

	find_places(&drawing, record);
	for (uint32_t i = 0; i < record->modules.count; i++) {
		struct place *place = map_get(&drawing.places, modules[i].id);

		if (!place->needed && is_drawn(&drawing, place, NULL))
			vec_push(&roots, place);
	}
	add_siblings(&drawing, NULL, &roots, NULL);
	vec_done(&roots);
	/* A culprit that no drawn module depends on stands by itself. */
	for (uint32_t i = 0; i < record->modules.count; i++) {
		struct place *place = map_get(&drawing.places, modules[i].id);

		if (place->accused && !place->drawn)
			add_module(&drawing, NULL, place, NULL);
	}
	for (uint32_t i = 0; i < record->modules.count; i++) {
		const struct place *place = map_get(&drawing.places, modules[i].id);

		shown += place->drawn;
		hidden += !place->drawn;
	}
	if (shown > 0)
		out_end_line(out);
	tree_print(tree, out);
	if (!all && hidden > 0) {
		buf_add_char(&out->pending, '(');
		format_add_plural(&out->pending, hidden, "healthy module");
		buf_add_text(&out->pending, " hidden; --all shows them)");
		out_end_line(out);
	}
	map_done(&drawing.places);
}

static void print_baseline(const struct diagnosis_record *record, struct out *out)
{
	if (!record->baseline_from)
		return;
	buf_add_text(&out->pending, "(baseline: ");
	format_add_span(&out->pending, record->baseline_s);
	buf_add_text(&out->pending, " of ");
	text_add_terminal(&out->pending, record->baseline_from, strlen(record->baseline_from));
	buf_add_char(&out->pending, ')');
	out_end_line(out);
}

static void add_stream(struct out *out, const char *from, const char *to, uint64_t segs, uint64_t arrived,
		       uint64_t lost)
{
	if (segs == UINT64_MAX || segs == 0)
		return;
	format_add_plural(&out->pending, segs, "segment");
	buf_add_text(&out->pending, " from ");
	text_add_terminal(&out->pending, from, strlen(from));
	buf_add_text(&out->pending, ", ");
	format_add_count(&out->pending, (int64_t)min_of(arrived, segs));
	buf_add_text(&out->pending, " at ");
	text_add_terminal(&out->pending, to, strlen(to));
	if (lost > 0) {
		buf_add_text(&out->pending, " (");
		format_add_share(&out->pending, (double)lost / (double)segs);
		buf_add_text(&out->pending, " lost)");
	}
	buf_add_text(&out->pending, "; ");
}

/* A line for each connection that both ends recorded, up to this many. */
#define ENDS_SHOWN 8

/* Within its bound it may be none. */
static void add_delay(struct out *out, const char *from, const char *to, int64_t change_ns, uint64_t error_ns)
{
	if (change_ns == INT64_MIN || change_ns <= 0 || (uint64_t)change_ns <= error_ns)
		return;
	buf_add_text(&out->pending, "delay from ");
	text_add_terminal(&out->pending, from, strlen(from));
	buf_add_text(&out->pending, " to ");
	text_add_terminal(&out->pending, to, strlen(to));
	buf_add_text(&out->pending, " up by ");
	format_add_duration(&out->pending, change_ns);
	buf_add_text(&out->pending, " (within ");
	format_add_duration(&out->pending, (int64_t)error_ns);
	buf_add_text(&out->pending, "); ");
}

static void print_ends(const struct diagnosis_record *record, struct out *out)
{
	const struct far_end_measures *ends = record->ends.items;
	const char *own;

	if (record->seen_from.count < 2)
		return;
	own = text_record_at(&record->seen_from, 0);
	for (uint32_t i = 0; i < record->ends.count && i < ENDS_SHOWN; i++) {
		text_add_terminal(&out->pending, ends[i].conn, strlen(ends[i].conn));
		buf_add_text(&out->pending, ": ");
		add_stream(out, own, ends[i].far_host, ends[i].out_segs, ends[i].out_arrived_segs,
			   ends[i].out_lost_segs);
		add_stream(out, ends[i].far_host, own, ends[i].in_segs, ends[i].in_arrived_segs, ends[i].in_lost_segs);
		add_delay(out, own, ends[i].far_host, ends[i].out_delay_change_ns, ends[i].out_delay_error_ns);
		add_delay(out, ends[i].far_host, own, ends[i].in_delay_change_ns, ends[i].in_delay_error_ns);
		if (ends[i].waits_for[0]) {
			buf_add_text(&out->pending, "waits for the program on ");
			text_add_terminal(&out->pending, ends[i].waits_for, strlen(ends[i].waits_for));
		} else {
			buf_add_text(&out->pending, "waits for neither program");
		}
		out_end_line(out);
	}
	if (record->ends.count > ENDS_SHOWN) {
		format_add_plural(&out->pending, record->ends.count - ENDS_SHOWN, "more connection");
		buf_add_text(&out->pending, " at both ends");
		out_end_line(out);
	}
}

/* Of one program this is asked first, whatever is found. */
static void print_time(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	time_words_add(&text, record);
	if (!text.len)
		return;
	buf_add_char(&text, '.');
	add_line(out, buf_text(&text));
	time_words_print(record, options->all, out);
	out_end_line(out);
}

void present_diagnosis(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	if (options->program && record->findings.count > 0)
		print_time(record, options, out);
	print_answer(record, options, out);
	print_notes(record, out);
	print_baseline(record, out);
	print_ends(record, out);
	print_unseen(record, out);
	/* Of several namespaces only those with a finding are drawn. */
	if (options->several && !options->all && record->findings.count == 0)
		return;
	print_graph(record, options->all, out);
	if (options->several)
		out_end_line(out);
}
