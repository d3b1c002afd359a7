/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nest explain: the page about a cause, a rule, an event, a tool, a table, a counter, a field, a state, a drop reason,
 * an error.
 */
#include "base/files.h"
#include "base/out.h"
#include "base/text.h"
#include "diagnose/present/cause_page.h"
#include "event/core/event.h"
#include "record/glossary.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "snapshot/core/snapshot.h"
#include "snapshot/proc/counter_meaning.h"
#include "tool/core/tool.h"
#include "view/format.h"
#include "view/tree.h"

struct config {
	const char *name;
	bool markdown;
	const char *pages;
};

static const struct option_spec options[] = {
	OPTION(struct config, markdown, FLAG, "markdown", 'm', NULL, "print the page of a cause as Markdown"),
	OPTION(struct config, pages, TEXT, "pages", 0, "DIR", "write the pages of all causes into this directory",
	       .file = FILE_TREE),
	POSITIONAL(struct config, name, TEXT, "NAME",
		   "a cause, rule, event, tool, table, counter, field, state, drop reason or error"),
	OPTION_END,
};

static void explain_cause(struct tree *tree, const struct knowledge *knowledge, const struct cause *cause)
{
	_cleanup_(cause_page_freep) struct cause_page *page = cause_page_new(knowledge, cause);

	tree_add(tree, NULL, OUT_BOLD, NULL, "%s", page->title);
	vec_each(&page->sections, section) {
		struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "%s", section->heading);

		vec_each(&section->paragraphs, text)
			tree_add(tree, node, OUT_PLAIN, NULL, "%s", *text);
		vec_each(&section->items, text)
			tree_add(tree, node, OUT_PLAIN, NULL, "%s", *text);
	}
}

static void explain_rule(struct tree *tree, const struct rule *rule)
{
	struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "rule %s (%s)", rule->name, rule->origin);
	_cleanup_free_ char *causes = rule_causes(rule);
	struct shape shape = module_scope_shape(rule->about);
	struct field_ref at = {};

	tree_add(tree, node, OUT_PLAIN, NULL, "checks every %s; when %s", module_kind_name(rule->about->kind),
		 rule->when_text);
	tree_add(tree, node, OUT_PLAIN, NULL, "evidence %s %s: %+.2f (family %s)",
		 rule->certainty > 0 ? "for" : "against", causes, rule->certainty, rule->family);
	tree_add(tree, node, OUT_PLAIN, NULL, "reported as: %s", rule->because);
	node = tree_add(tree, NULL, OUT_BOLD, NULL, "Measures");
	while (shape_next(&shape, &at))
		if (strstr(rule->when_text, at.field->name) || strstr(rule->because, at.field->name))
			tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", at.field->name, at.field->help);
}

/* An event, or a union by its name and help. */
static void explain_event(struct tree *tree, const struct event *event, const char *name, const char *help)
{
	struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "event %s: %s", name, help);

	for (uint32_t i = 0; i < event->type->field_count; i++)
		tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", event->type->fields[i].name,
			 event->type->fields[i].help);
	tree_add(tree, NULL, OUT_PLAIN, NULL,
		 "nest trace %s prints it; nest events shows the hook used on this kernel.", name);
}

static void explain_tool(struct tree *tree, const struct tool *tool)
{
	struct tree_node *node =
		tree_add(tree, NULL, OUT_BOLD, NULL, "tool %s (%s): %s", tool->name, tool->layer, tool->summary);

	if (tool->description)
		tree_add(tree, node, OUT_PLAIN, NULL, "%s", tool->description);
	for (size_t i = 0; i < TOOL_EVENTS_MAX && tool->events[i]; i++)
		tree_add(tree, node, OUT_PLAIN, NULL, "event %s%s%s", tool->events[i], tool->where ? " where " : "",
			 tool->where ?: "");
	for (const char *const *example = tool->examples; example && example[0]; example += 2)
		tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", example[0], example[1]);
	tree_add(tree, NULL, OUT_PLAIN, NULL, "nest %s --help lists its options.", tool->name);
}

/* A table of the snapshot. */
static const struct record_type *find_table(const char *name)
{
	registry_each(snapshot_source, source)
		for (const struct record_type *const *type = (*source)->types; *type; type++)
			if (strcmp((*type)->name, name) == 0)
				return *type;
	return NULL;
}

static void explain_table(struct tree *tree, const struct record_type *table)
{
	struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "table %s: %s", table->name, table->help);

	for (uint32_t i = 0; i < table->field_count; i++)
		tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", table->fields[i].name, table->fields[i].help);
	tree_add(tree, NULL, OUT_PLAIN, NULL, "nest tables %s shows it.", table->name);
}

static bool has_name(const struct field *field, const char *name)
{
	return strcmp(field->name, name) == 0;
}

/* As a table shows it: LAT of lat_ns. */
static bool has_heading(const struct field *field, const char *name)
{
	_cleanup_buf_ struct buf heading = BUF_INIT(256);

	format_add_heading(&heading, field);
	return strcasecmp(buf_text(&heading), name) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct record_type *const *)a)->name, (*(const struct record_type *const *)b)->name);
}

/* The registry has the order of the linker, which differs from compiler to compiler. */
static struct types {
	VEC(const struct record_type *) all;
} types_sorted(void)
{
	struct types types = {};

	registry_each(record_type, type)
		vec_push(&types.all, *type);
	qsort(types.all.items, types.all.count, sizeof(*types.all.items), by_name);
	return types;
}

static void types_done(struct types *types)
{
	vec_done(&types->all);
}

/* Every record type that has the field. */
static bool explain_field(struct tree *tree, const char *name,
			  bool (*is_it)(const struct field *field, const char *name))
{
	_cleanup_(types_done) struct types types = types_sorted();
	bool found = false;

	vec_each(&types.all, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++) {
			const struct field *field = &(*type)->fields[i];
			struct tree_node *node;

			if (!is_it(field, name))
				continue;
			node = tree_add(tree, NULL, OUT_BOLD, NULL, "%s of %s: %s", field->name, (*type)->name,
					field->help);
			for (size_t k = 0; field->names && k < enum_names_get(field->names)->count && k < 100; k++)
				tree_add(tree, node, OUT_PLAIN, NULL, "%s%s%s", field->names->items[k].name,
					 field->names->items[k].help ? ": " : "", field->names->items[k].help ?: "");
			found = true;
		}
	return found;
}

static void explain_counter(struct tree *tree, const char *name)
{
	tree_add(tree, NULL, OUT_BOLD, NULL, "counter %s: %s", name, counter_meaning(name));
	tree_add(tree, NULL, OUT_PLAIN, NULL, "nest counters --where 'counter == \"%s\"' 1 shows its rate.", name);
}

static bool explain_word(struct tree *tree, const char *name)
{
	bool found = false;

	registry_each(glossary, glossary) {
		const struct glossary_entry *entry = glossary_find(*glossary, name);

		if (entry)
			tree_add(tree, NULL, OUT_BOLD, NULL, "%s %s: %s", (*glossary)->kind, entry->name, entry->text);
		found = found || entry;
	}
	return found;
}

static void add_value(struct tree *tree, const struct field *field, const struct enum_name *value)
{
	if (field->names == &errno_names)
		tree_add(tree, NULL, OUT_BOLD, NULL, "error %s: %s", value->name, value->help ?: "no description");
	else
		tree_add(tree, NULL, OUT_BOLD, NULL, "%s (%s): %s", value->name, field->name,
			 value->help ?: "no description; the name is the kernel's");
}

/*
 * Values that fields have names for, TCP states among them: each table of names once, for the first field that uses it.
 */
static bool explain_value(struct tree *tree, const char *name)
{
	_cleanup_(types_done) struct types types = types_sorted();
	VEC(const struct enum_names *) seen = {};
	bool found;

	vec_each(&types.all, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++) {
			const struct field *field = &(*type)->fields[i];
			const struct enum_names *names = field->names ? enum_names_get(field->names) : NULL;
			bool again = !names;

			vec_each(&seen, one)
				again = again || *one == names;
			for (size_t k = 0; !again && k < names->count; k++) {
				if (!enum_same_word(names->items[k].name, name))
					continue;
				add_value(tree, field, &names->items[k]);
				vec_push(&seen, names);
				break;
			}
		}
	found = seen.count > 0;
	vec_done(&seen);
	return found;
}

static int not_found(const struct knowledge *knowledge, const char *name)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};

	vec_each(&knowledge->causes, cause)
		near_consider(&near, (*cause)->name);
	vec_each(&knowledge->rules, rule)
		near_consider(&near, (*rule)->name);
	registry_each(event, event)
		near_consider(&near, (*event)->name);
	registry_each(event_union, entry)
		near_consider(&near, (*entry)->name);
	registry_each(tool, tool)
		near_consider(&near, (*tool)->name);
	registry_each(snapshot_source, source)
		for (const struct record_type *const *type = (*source)->types; *type; type++)
			near_consider(&near, (*type)->name);
	registry_each(record_type, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++)
			near_consider(&near, (*type)->fields[i].name);
	registry_each(glossary, glossary)
		for (size_t i = 0; i < (*glossary)->count; i++)
			near_consider(&near, (*glossary)->entries[i].name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	return command_fail(EXIT_USAGE, "explain: unknown word '%s'%s", buf_text(&shown), buf_text(&hint));
}

/* --- pages --- */

static int write_page(const char *dir, const struct knowledge *knowledge, const struct cause *cause, struct buf *index,
		      struct why *why)
{
	_cleanup_(cause_page_freep) struct cause_page *page = cause_page_new(knowledge, cause);
	_cleanup_free_ char *name = xasprintf("%s.md", cause->name);
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)1 << 20);

	cause_page_add_markdown(page, &text);
	buf_add_format(index, "| [%s](%s.md) | %s | %s |\n", cause->name, cause->name, cause->layer, cause->summary);
	return files_write(dir, name, &text, why);
}

/* Missing directories are created. */
static int write_pages(const char *dir, const struct knowledge *knowledge)
{
	_cleanup_buf_ struct buf index = BUF_INIT((size_t)1 << 20);
	struct why why = {};
	int r = files_make_dirs(dir, &why);

	buf_add_text(&index, "# Causes\n\n| cause | layer | it |\n|---|---|---|\n");
	vec_each(&knowledge->causes, cause)
		if (r == 0)
			r = write_page(dir, knowledge, *cause, &index, &why);
	if (r == 0)
		r = files_write(dir, "README.md", &index, &why);
	return r < 0 ? command_fail(EXIT_IO, "%s", why.text) : EXIT_DONE;
}

/* --- the command --- */

/* Everything of that name; false if there is nothing. */
static bool explain_all(struct tree *tree, const struct knowledge *knowledge, const char *name)
{
	const struct cause *cause = knowledge_find_cause(knowledge, name);
	const struct rule *rule = knowledge_find_rule(knowledge, name);
	const struct event_union *several = event_union_find(name);
	const struct event *events[EVENT_UNION_MAX];
	bool event = event_resolve(name, events) > 0;
	const struct tool *tool = tool_find(name);
	const struct record_type *table = find_table(name);
	const char *counter = counter_full_name(name);
	bool field, word;

	if (cause)
		explain_cause(tree, knowledge, cause);
	if (rule)
		explain_rule(tree, rule);
	if (event)
		explain_event(tree, events[0], name, several ? several->help : events[0]->help);
	if (tool)
		explain_tool(tree, tool);
	if (table)
		explain_table(tree, table);
	if (counter)
		explain_counter(tree, counter);
	field = explain_field(tree, name, has_name);
	word = explain_word(tree, name);
	return cause || rule || event || tool || table || counter || field || word || explain_value(tree, name) ||
	       explain_field(tree, name, has_heading);
}

static int explain(const struct config *config, const struct knowledge *knowledge)
{
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	const struct cause *cause = knowledge_find_cause(knowledge, config->name);
	struct out out;

	if (config->markdown && !cause) {
		log_error("explain: only causes have a page");
		return EXIT_USAGE;
	}
	if (!config->markdown && !explain_all(tree, knowledge, config->name))
		return not_found(knowledge, config->name);
	out_init(&out, STDOUT_FILENO);
	if (config->markdown) {
		_cleanup_(cause_page_freep) struct cause_page *page = cause_page_new(knowledge, cause);

		cause_page_add_markdown(page, &out.pending);
	} else {
		tree_print(tree, &out);
	}
	return output_exit_code("explain", out_done(&out));
}

/* Without a name: all causes by layer, in the order of the stack. */
static int list_causes(const struct knowledge *knowledge)
{
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	struct tree_node *node = NULL;
	const char *layer = "";
	struct out out;

	vec_each(&knowledge->causes, cause) {
		if (strcmp((*cause)->layer, layer) != 0)
			node = tree_add(tree, NULL, OUT_BOLD, NULL, "%s", layer = (*cause)->layer);
		tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", (*cause)->name, (*cause)->summary);
	}
	tree_add(tree, NULL, OUT_PLAIN, NULL,
		 "Each has a page: nest explain CAUSE. So do rules (nest rules), events (nest events), tools (nest "
		 "tools), tables (nest tables), counters, fields, TCP states, drop reasons and errors.");
	out_init(&out, STDOUT_FILENO);
	tree_print(tree, &out);
	return output_exit_code("explain", out_done(&out));
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct why why = {};

	if (knowledge_load(&knowledge, &why) < 0)
		return command_fail(EXIT_USAGE, "explain: %s", why.text);
	knowledge->is_command = command_exists;
	if (config->pages)
		return write_pages(config->pages, knowledge);
	return config->name ? explain(config, knowledge) : list_causes(knowledge);
}

static const char *const examples[] = {
	"nest explain",
	"all causes, by layer",
	"nest explain path-loss",
	"meaning of a cause, its evidence, what to do, and blind spots",
	"nest explain high-loss",
	"condition, weight and sentence of a rule",
	"nest explain NO_SOCKET",
	"meaning of a drop reason; likewise ECONNREFUSED, ListenOverflows, CLOSE_WAIT",
	NULL,
};

static const struct command explain_command = {
	.name = "explain",
	.summary = "meaning of a cause, rule, event, counter, drop reason, error",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(explain_command);
