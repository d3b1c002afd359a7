/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "diagnose/present/present.h"
#include "view/format.h"
#include "view/tree.h"

static enum out_style style_of(uint8_t severity)
{
	return severity == SEVERITY_HIGH ? OUT_RED : severity == SEVERITY_MEDIUM ? OUT_YELLOW : OUT_CYAN;
}

static void add_line(struct out *out, const char *text)
{
	text_add_terminal(&out->pending, text, strlen(text));
	out_end_line(out);
}

/* --- the answer --- */

/* The sentence that the answer gives already is not repeated. */
static void print_evidence(struct tree *tree, struct tree_node *node, const struct list *list, const char *mark,
			   const char *because)
{
	const struct evidence_record *items = list->items;

	for (uint32_t i = 0; i < list->count; i++)
		tree_add(tree, node, OUT_DIM, mark, "%+.2f %s [%s]", items[i].cf,
			 because && strcmp(items[i].text, because) == 0 ? "as said" : items[i].text, items[i].rule);
}

static void add_finding(struct tree *tree, const struct finding_record *f, bool all)
{
	struct tree_node *node =
		tree_add(tree, NULL, style_of(f->severity), f->cause, "%s %s: %s (certainty %.2f%s)", f->accused,
			 f->summary, f->because, f->certainty, f->over ? "; not in the last second any more" : "");

	if (f->spent_in.count) {
		const struct spent_record *spent = f->spent_in.items;

		tree_add(tree, node, OUT_BOLD, "inside", "%s", spent->text);
	}
	print_evidence(tree, node, &f->for_evidence, "for", f->because);
	print_evidence(tree, node, &f->against_evidence, "against", NULL);
	for (uint32_t i = 0; i < f->ambiguous_with.count; i++)
		tree_add(tree, node, OUT_PLAIN, "or", "%s, which explains the same as well",
			 text_record_at(&f->ambiguous_with, i));
	for (uint32_t i = 0; all && i < f->would_change.count; i++)
		tree_add(tree, node, OUT_DIM, "would change", "%s", text_record_at(&f->would_change, i));
	tree_add(tree, node, OUT_PLAIN, "do", "%s", f->advice);
	for (uint32_t i = 0; i < f->next.count; i++)
		tree_add(tree, node, OUT_PLAIN, "next", "%s", text_record_at(&f->next, i));
}

/* "network namespace web (4026532212)" */
static void add_place(struct out *out, const struct diagnosis_record *record)
{
	buf_add_text(&out->pending, "network namespace ");
	if (record->netns_name) {
		text_add_terminal(&out->pending, record->netns_name, strlen(record->netns_name));
		buf_add_format(&out->pending, " (%" PRIu64 ")", record->netns);
	} else {
		buf_add_format(&out->pending, "%" PRIu64, record->netns);
	}
}

/* Nothing when nobody waits. */
static void print_waits(const struct diagnosis_record *record, struct out *out)
{
	for (uint32_t i = 0; i < record->waits.count; i++)
		add_line(out, text_record_at(&record->waits, i));
	if (record->waits_count > record->waits.count) {
		buf_add_format(&out->pending, "So it is with %zu more.", record->waits_count - record->waits.count);
		out_end_line(out);
	}
	if (record->waits.count > 0)
		add_line(out, "Whether that is long, only a look that began before would know (nest watch).");
}

/* What was asked about and is not there must not look like good health. */
static void print_health(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	bool nothing = options->chosen && record->modules.count == 0;

	if (options->several) {
		add_place(out, record);
		add_line(out,
			 nothing ? ": no socket there is one of those asked about" : ": nothing holds its traffic up");
	} else {
		add_line(out, nothing           ? "No socket here is one of those asked about."
			      : options->chosen ? "Nothing holds the traffic up that was asked about."
						: "Nothing holds the network traffic of this host up.");
	}
	print_waits(record, out);
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
		add_place(out, record);
		out_end_line(out);
	}
	for (uint32_t i = 0; i < record->findings.count; i++)
		add_finding(tree, &findings[i], options->all);
	tree_print(tree, out);
}

/* --- the graph --- */

/* A module, and what the rest of the record says about it. */
struct place {
	const struct module_record *module;
	bool accused, affected, needed;
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
	const char *separator = ", held back by ";

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

/* The paper's words say little to somebody who has not read it. */
static const char *state_words(const char *state)
{
	if (strcmp(state, activity_name(ACTIVITY_WAITING_ANCESTOR)) == 0)
		return "silent, and waited for";
	if (strcmp(state, activity_name(ACTIVITY_IGNORED)) == 0)
		return "not needed";
	return strcmp(state, activity_name(ACTIVITY_UNKNOWN)) == 0 ? "" : state;
}

/* What everybody leans on, and the thread between a program and its socket, are drawn if they matter or with --all. */
static bool is_drawn(const struct drawing *drawing, const struct module_record *module, const struct place *below)
{
	enum module_kind kind = below->module->kind;
	bool common = kind == MODULE_THREAD || kind == MODULE_CPU || kind == MODULE_MEMORY;

	if (drawing->all || below->accused)
		return true;
	return !common && (module->kind != MODULE_APP || is_interesting(below));
}

/* Their own dependants are drawn below the application already. */
static bool is_leaf(const struct module_record *module)
{
	return module->kind == MODULE_THREAD || module->kind == MODULE_RESOLVER || module->kind == MODULE_CGROUP;
}

static void add_module(const struct drawing *drawing, struct tree_node *parent, const struct place *place,
		       const struct module_record *conn)
{
	const struct module_record *module = place->module;
	const char *words = state_words(module->state);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct tree_node *node;

	if (module->kind == MODULE_CONN)
		conn = module;
	buf_add_format(&text, "%s %s%s%s", module_kind_name(module->kind), module->name, *words ? ": " : "", words);
	if (module->limited_by.count > 0)
		add_limits(&text, module->limited_by.items);
	node = tree_add(drawing->tree, parent, place->accused ? OUT_RED : OUT_PLAIN, place->accused ? ">>" : NULL, "%s",
			buf_text(&text));
	for (uint32_t i = 0; !is_leaf(module) && i < module->depends_on.count; i++) {
		const struct place *below = map_get(&drawing->places, text_record_at(&module->depends_on, i));

		if (below && belongs(conn, module, below->module) && is_drawn(drawing, module, below))
			add_module(drawing, node, below, conn);
	}
}

/* It matters, or what stands right below it suffers. */
static bool matters(const struct drawing *drawing, const struct place *place)
{
	bool matters = is_interesting(place);

	for (uint32_t i = 0; i < place->module->depends_on.count; i++) {
		const struct place *below = map_get(&drawing->places, text_record_at(&place->module->depends_on, i));

		matters = matters || (below && below->affected);
	}
	return matters;
}

static void print_graph(const struct diagnosis_record *record, bool all, struct out *out)
{
	const struct module_record *modules = record->modules.items;
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	struct drawing drawing = {tree, MAP_INIT(0, sizeof(struct place), 0), all};
	size_t folded = 0, shown = 0;

	find_places(&drawing, record);
	for (uint32_t i = 0; i < record->modules.count; i++) {
		const struct place *place = map_get(&drawing.places, modules[i].id);

		if (place->needed)
			continue;
		if (!all && !matters(&drawing, place)) {
			folded++;
			continue;
		}
		add_module(&drawing, NULL, place, NULL);
		shown++;
	}
	if (shown > 0)
		out_end_line(out);
	tree_print(tree, out);
	if (folded > 0) {
		buf_add_format(&out->pending, "(%zu %s at ease: --all shows them)", folded,
			       folded == 1 ? "module is" : "modules are");
		out_end_line(out);
	}
	map_done(&drawing.places);
}

void present_diagnosis(const struct diagnosis_record *record, const struct present_options *options, struct out *out)
{
	print_answer(record, options, out);
	/* Of many namespaces only those with something to tell are drawn. */
	if (options->several && !options->all && record->findings.count == 0)
		return;
	print_graph(record, options->all, out);
	if (options->several)
		out_end_line(out);
}
