/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "diagnose/infer/waits.h"
#include "diagnose/measure/conn.h"
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

/* Lists of text have one string an item. */
static const char *text_at(const struct list *list, uint32_t i)
{
	return ((const char *const *)list->items)[i];
}

static void add_finding(struct tree *tree, const struct hypothesis *h, const struct finding_record *f, bool all)
{
	struct tree_node *node = tree_add(tree, NULL, style_of(f->severity), f->cause, "%s %s: %s (certainty %.2f%s)",
					  h->accused->name, h->cause->summary, f->because, f->certainty,
					  f->over ? "; not in the last second any more" : "");

	if (f->spent_in.count) {
		const struct spent_record *spent = f->spent_in.items;

		tree_add(tree, node, OUT_BOLD, "inside", "%s", spent->text);
	}
	print_evidence(tree, node, &f->for_evidence, "for", f->because);
	print_evidence(tree, node, &f->against_evidence, "against", NULL);
	for (uint32_t i = 0; i < f->ambiguous_with.count; i++)
		tree_add(tree, node, OUT_PLAIN, "or", "%s, which explains the same as well",
			 text_at(&f->ambiguous_with, i));
	for (uint32_t i = 0; all && i < f->would_change.count; i++)
		tree_add(tree, node, OUT_DIM, "would change", "%s", text_at(&f->would_change, i));
	tree_add(tree, node, OUT_PLAIN, "do", "%s", f->advice);
	for (uint32_t i = 0; i < f->next.count; i++)
		tree_add(tree, node, OUT_PLAIN, "next", "%s", text_at(&f->next, i));
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

/* What was asked about and is not there must not look like good health. */
static void print_health(const struct diagnosis *diagnosis, const struct diagnosis_record *record,
			 const struct present_options *options, struct out *out)
{
	bool nothing = options->chosen && diagnosis_selected(diagnosis) == 0;

	if (options->several) {
		add_place(out, record);
		add_line(out,
			 nothing ? ": no socket there is one of those asked about" : ": nothing holds its traffic up");
	} else {
		add_line(out, nothing           ? "No socket here is one of those asked about."
			      : options->chosen ? "Nothing holds the traffic up that was asked about."
						: "Nothing holds the network traffic of this host up.");
	}
	waits_print(diagnosis_graph(diagnosis), out);
}

static void print_answer(const struct diagnosis *diagnosis, const struct diagnosis_record *record,
			 const struct present_options *options, struct out *out)
{
	const struct verdict *verdict = diagnosis_verdict(diagnosis);
	const struct finding_record *findings = record->findings.items;
	_cleanup_(tree_freep) struct tree *tree = tree_new();

	if (verdict->hypotheses.count == 0) {
		print_health(diagnosis, record, options, out);
		return;
	}
	if (options->several) {
		add_place(out, record);
		out_end_line(out);
	}
	for (size_t i = 0; i < verdict->hypotheses.count; i++)
		add_finding(tree, verdict->hypotheses.items[i], &findings[i], options->all);
	tree_print(tree, out);
}

/* --- the graph --- */

static bool is_accused(const struct verdict *verdict, const struct module *module)
{
	vec_each(&verdict->hypotheses, h)
		if ((*h)->accused == module)
			return true;
	return false;
}

static bool is_affected(const struct verdict *verdict, const struct module *module)
{
	vec_each(&verdict->hypotheses, h)
		vec_each(&(*h)->affects, known)
			if (*known == module)
				return true;
	return false;
}

static bool is_interesting(const struct verdict *verdict, const struct module *module)
{
	return is_accused(verdict, module) || is_affected(verdict, module) || module->activity == ACTIVITY_WAITING;
}

static void add_limits(struct buf *text, const struct limit_record *limits)
{
	const char *separator = ", held back by ";

	for (uint32_t i = 0; i < limit_type.field_count; i++) {
		const struct field *field = &limit_type.fields[i];
		double share = field_get(field, limits).real;

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
static bool belongs(const struct module *conn, const struct module *above, const struct module *below)
{
	if (below->hidden)
		return false;
	if (!conn)
		return true;
	if (above == conn && below->kind == MODULE_PATH && conn->related[MODULE_LINK])
		return false;
	return conn->related[below->kind] == below;
}

/* The paper's words say little to somebody who has not read it. */
static const char *state_words(enum activity activity)
{
	switch (activity) {
	case ACTIVITY_WAITING_ANCESTOR:
		return "silent, and waited for";
	case ACTIVITY_IGNORED:
		return "not needed";
	case ACTIVITY_UNKNOWN:
		return "";
	default:
		return activity_name(activity);
	}
}

struct drawing {
	struct tree *tree;
	const struct verdict *verdict;
	bool all;
};

/* What everybody leans on, and the thread between a program and its socket, are drawn where they matter or are asked for. */
static bool is_drawn(const struct drawing *drawing, const struct module *module, const struct module *below)
{
	bool common = below->kind == MODULE_THREAD || below->kind == MODULE_CPU || below->kind == MODULE_MEMORY;

	if (drawing->all || is_accused(drawing->verdict, below))
		return true;
	return !common && (module->kind != MODULE_APP || is_interesting(drawing->verdict, below));
}

/* Their own dependants are drawn below the application already. */
static bool is_leaf(const struct module *module)
{
	return module->kind == MODULE_THREAD || module->kind == MODULE_RESOLVER || module->kind == MODULE_CGROUP;
}

static void add_module(const struct drawing *drawing, struct tree_node *parent, const struct module *module,
		       const struct module *conn)
{
	const struct verdict *verdict = drawing->verdict;
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	bool accused = is_accused(verdict, module);
	struct tree_node *node;

	if (module->kind == MODULE_CONN)
		conn = module;
	buf_add_format(&text, "%s %s%s%s", module_kind_name(module->kind), module->name,
		       *state_words(module->activity) ? ": " : "", state_words(module->activity));
	if (conn_limits(module))
		add_limits(&text, conn_limits(module));
	node = tree_add(drawing->tree, parent, accused ? OUT_RED : OUT_PLAIN, accused ? ">>" : NULL, "%s",
			buf_text(&text));
	for (size_t i = 0; !is_leaf(module) && i < module->depends_on.count; i++) {
		const struct module *below = module->depends_on.items[i];

		if (belongs(conn, module, below) && is_drawn(drawing, module, below))
			add_module(drawing, node, below, conn);
	}
}

static void print_graph(const struct diagnosis *diagnosis, bool all, struct out *out)
{
	const struct verdict *verdict = diagnosis_verdict(diagnosis);
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	struct drawing drawing = {tree, verdict, all};
	size_t folded = 0, shown = 0;

	vec_each(&diagnosis_graph(diagnosis)->modules, at) {
		bool interesting = is_interesting(verdict, *at);

		if ((*at)->needed_by.count > 0 || (*at)->hidden)
			continue;
		vec_each(&(*at)->depends_on, below)
			interesting = interesting || is_affected(verdict, *below);
		if (!interesting && !all) {
			folded++;
			continue;
		}
		add_module(&drawing, NULL, *at, NULL);
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
}

void present_diagnosis(const struct diagnosis *diagnosis, const struct diagnosis_record *record,
		       const struct present_options *options, struct out *out)
{
	print_answer(diagnosis, record, options, out);
	/* Of many namespaces only those with something to tell are drawn. */
	if (options->several && !options->all && record->findings.count == 0)
		return;
	print_graph(diagnosis, options->all, out);
	if (options->several)
		out_end_line(out);
}
