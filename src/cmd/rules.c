/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest rules: the rules of the diagnosis, and its measures. */
#include <errno.h>

#include "diagnose/rules/knowledge.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

struct rule_record {
	const char *rule;
	const char *about;
	const char *suggests;
	double certainty;
	const char *family;
	const char *when;
	const char *because;
	const char *origin;
};

static const struct field rule_fields[] = {
	FIELD(struct rule_record, rule, TEXT, "name"),
	FIELD(struct rule_record, about, TEXT, "kind of module it is about"),
	FIELD(struct rule_record, suggests, TEXT, "cause it is evidence for or against"),
	FIELD(struct rule_record, certainty, RATIO, "weight; negative: evidence against"),
	FIELD(struct rule_record, family, TEXT, "of one family only the strongest counts", .hidden = true),
	FIELD(struct rule_record, when, TEXT, "condition over the measures"),
	FIELD(struct rule_record, because, TEXT, "sentence of the finding", .hidden = true),
	FIELD(struct rule_record, origin, TEXT, "file and line", .hidden = true),
};
RECORD_TYPE(rule_type, "rule", struct rule_record, rule_fields, "a rule of the diagnosis");

struct measure_record {
	const char *about;
	const char *measure;
	const char *kind;
	const char *meaning;
};

static const struct field measure_fields[] = {
	FIELD(struct measure_record, about, TEXT, "kind of module that a rule is about"),
	FIELD(struct measure_record, measure, TEXT, "name, as conditions use it"),
	FIELD(struct measure_record, kind, TEXT, "kind of value"),
	FIELD(struct measure_record, meaning, TEXT, "what it is"),
};
RECORD_TYPE(measure_type, "measure", struct measure_record, measure_fields, "a measure of a module");

struct config {
	bool measures;
	const char *rules;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, measures, FLAG, "measures", 'm', NULL, "list the measures that conditions use"),
	OPTION(struct config, rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory",
	       .file = FILE_READ),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

static void list_measures(struct output *output)
{
	for (unsigned kind = 0; kind < MODULE_KINDS; kind++) {
		const struct module_scope *scope = module_scope_find((enum module_kind)kind);
		struct field_ref at = {};
		struct shape shape;

		if (!scope)
			continue;
		shape = module_scope_shape(scope);
		while (shape_next(&shape, &at)) {
			struct measure_record m = {module_kind_name((enum module_kind)kind), at.field->name,
						   format_kind_name(at.field), at.field->help};
			struct record record = RECORD_OF(&m);

			(void)output_record(output, &record);
		}
	}
}

static void list_rules(const struct knowledge *knowledge, struct output *output)
{
	vec_each(&knowledge->rules, at) {
		const struct rule *rule = *at;
		_cleanup_free_ char *causes = rule_causes(rule);
		struct rule_record r = {
			.rule = rule->name,
			.about = module_kind_name(rule->about->kind),
			.suggests = causes,
			.certainty = rule->certainty,
			.family = rule->family,
			.when = rule->when_text,
			.because = rule->because,
			.origin = rule->origin,
		};
		struct record record = RECORD_OF(&r);

		(void)output_record(output, &record);
	}
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct shape shape = SHAPE_OF(config->measures ? &measure_type : &rule_type);
	struct output *output;
	struct why why = {};
	int r = knowledge_load(&knowledge, &why);

	if (r == 0 && config->rules)
		r = knowledge_add_dir(knowledge, config->rules, &why);
	if (r < 0)
		return command_fail(r == -EIO ? EXIT_IO : EXIT_USAGE, "rules: %s", why.text);
	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("rules", r, &why);
	if (config->measures)
		list_measures(output);
	else
		list_rules(knowledge, output);
	return output_exit_code("rules", output_close(output));
}

static const char *const examples[] = {
	"nest rules --where 'suggests == path-loss'",
	"evidence for and against path loss",
	"nest rules --measures --where 'measure ~ \"*rtt*\"'",
	"measures of RTT",
	NULL,
};

static const struct command rules_command = {
	.name = "rules",
	.summary = "rules of the diagnosis, or its measures",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(rules_command);
