/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest explain: the page about a cause, a rule, or a field. */
#include "base/out.h"
#include "base/text.h"
#include "cmd/command.h"
#include "diagnose/knowledge.h"
#include "view/tree.h"

struct config {
	const char *name;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, name, TEXT, "NAME", "a cause, a rule, or a field", .required = true),
	OPTION_END,
};

static void explain_rules(struct tree *tree, const struct knowledge *knowledge, const struct cause *cause,
			  bool speaks_for)
{
	struct tree_node *node = NULL;

	vec_each(&knowledge->rules, at) {
		const struct rule *rule = *at;

		if (!rule_suggests(rule, cause) || (rule->certainty > 0) != speaks_for)
			continue;
		if (!node)
			node = tree_add(tree, NULL, OUT_BOLD, NULL,
					speaks_for ? "What speaks for it" : "What speaks against it");
		tree_add(tree, node, OUT_PLAIN, NULL, "%s (%+.2f, %s): %s", rule->name, rule->certainty,
			 module_kind_name(rule->about->kind), rule->when_text);
	}
}

static bool is_recognised(const struct knowledge *knowledge, const struct cause *cause)
{
	vec_each(&knowledge->rules, rule)
		if ((*rule)->certainty > 0 && rule_suggests(*rule, cause))
			return true;
	return false;
}

static void explain_cause(struct tree *tree, const struct knowledge *knowledge, const struct cause *cause)
{
	struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "%s: %s", cause->name, cause->summary);

	tree_add(tree, node, OUT_PLAIN, NULL, "layer %s; accuses the %s; severity %s", cause->layer,
		 module_kind_name(cause->accuses), severity_name(cause->severity));
	tree_add(tree, node, OUT_PLAIN, NULL, "%s", cause->means);
	node = tree_add(tree, NULL, OUT_BOLD, NULL, "What to do");
	tree_add(tree, node, OUT_PLAIN, NULL, "%s", cause->advice);
	vec_each(&cause->next, command)
		if (knowledge_can_run(knowledge, *command))
			tree_add(tree, node, OUT_PLAIN, NULL, "%s", *command);
	if (!is_recognised(knowledge, cause))
		tree_add(tree, NULL, OUT_YELLOW, NULL, "No rule recognises it yet: nest will not name it by itself.");
	explain_rules(tree, knowledge, cause, true);
	explain_rules(tree, knowledge, cause, false);
}

static void explain_rule(struct tree *tree, const struct rule *rule)
{
	struct tree_node *node = tree_add(tree, NULL, OUT_BOLD, NULL, "rule %s (%s)", rule->name, rule->origin);
	_cleanup_free_ char *causes = rule_causes(rule);
	struct shape shape = module_scope_shape(rule->about);
	struct field_ref at = {};

	tree_add(tree, node, OUT_PLAIN, NULL, "looks at every %s; when %s", module_kind_name(rule->about->kind),
		 rule->when_text);
	tree_add(tree, node, OUT_PLAIN, NULL, "then it speaks %s %s with %+.2f (family %s)",
		 rule->certainty > 0 ? "for" : "against", causes, rule->certainty, rule->family);
	tree_add(tree, node, OUT_PLAIN, NULL, "and says: %s", rule->because);
	node = tree_add(tree, NULL, OUT_BOLD, NULL, "Measures it names");
	while (shape_next(&shape, &at))
		if (strstr(rule->when_text, at.field->name) || strstr(rule->because, at.field->name))
			tree_add(tree, node, OUT_PLAIN, NULL, "%s: %s", at.field->name, at.field->help);
}

/* Every record type that has the field. */
static bool explain_field(struct tree *tree, const char *name)
{
	bool found = false;

	registry_each(record_type, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++) {
			const struct field *field = &(*type)->fields[i];
			struct tree_node *node;

			if (strcmp(field->name, name) != 0)
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

static int not_found(const struct knowledge *knowledge, const char *name)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};

	vec_each(&knowledge->causes, cause)
		near_consider(&near, (*cause)->name);
	vec_each(&knowledge->rules, rule)
		near_consider(&near, (*rule)->name);
	registry_each(record_type, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++)
			near_consider(&near, (*type)->fields[i].name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	log_error("explain: nothing here is called '%s'%s", buf_text(&shown), buf_text(&hint));
	return EXIT_USAGE;
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	const struct cause *cause;
	const struct rule *rule;
	struct why why = {};
	struct out out;

	if (knowledge_load(&knowledge, &why) < 0) {
		log_error("explain: %s", why.text);
		return EXIT_USAGE;
	}
	knowledge->is_command = command_exists;
	cause = knowledge_find_cause(knowledge, config->name);
	rule = knowledge_find_rule(knowledge, config->name);
	if (cause)
		explain_cause(tree, knowledge, cause);
	if (rule)
		explain_rule(tree, rule);
	if (!explain_field(tree, config->name) && !cause && !rule)
		return not_found(knowledge, config->name);
	out_init(&out, STDOUT_FILENO);
	tree_print(tree, &out);
	return out_done(&out) < 0 ? EXIT_IO : EXIT_DONE;
}

static const char *const examples[] = {
	"nest explain path-loss",
	"what that cause means, how it is recognised, what to do",
	NULL,
};

static const struct command explain_command = {
	.name = "explain",
	.summary = "what a cause, a rule or a field means",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(explain_command);
