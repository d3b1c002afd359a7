/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rule files: refused with a message that names the place, or taken; and what was taken is sound. */
#include <math.h>

#include "diagnose/rules/certainty.h"
#include "diagnose/rules/knowledge.h"
#include "fuzz.h"

static void check_causes(const struct knowledge *knowledge)
{
	vec_each(&knowledge->causes, at) {
		const struct cause *cause = *at;

		fuzz_require(knowledge_find_cause(knowledge, cause->name) == cause);
		fuzz_require(cause->layer[0] && cause->summary[0] && cause->means[0] && cause->advice[0]);
		fuzz_require(cause->accuses < MODULE_KINDS && severity_name(cause->severity)[0]);
		vec_each(&cause->next, step)
			fuzz_require(step->command[0]);
	}
}

/* Nothing is known of an empty record: each {field} shows as unknown, and the rest stands as it was. */
static void check_sentence(const struct rule *rule)
{
	_cleanup_buf_ struct buf text = BUF_INIT(0);
	struct shape shape = module_scope_shape(rule->about);
	struct record nothing = {};
	bool complete = knowledge_fill(rule->because, &shape, &nothing, &text);

	fuzz_require(complete == !strchr(rule->because, '{'));
	fuzz_require(!complete || strcmp(buf_text(&text), rule->because) == 0);
	fuzz_require(text.len <= strlen(rule->because));
	fuzz_require(!expr_matches(rule->when, &nothing));
}

static void check_rules(const struct knowledge *knowledge)
{
	vec_each(&knowledge->rules, at) {
		const struct rule *rule = *at;
		double size = fabs(rule->certainty);

		fuzz_require(knowledge_find_rule(knowledge, rule->name) == rule);
		fuzz_require(rule->suggests.count > 0);
		vec_each(&rule->suggests, cause)
			fuzz_require(*cause == knowledge_find_cause(knowledge, (*cause)->name));
		fuzz_require(size == 1 || (size > 0 && size <= CERTAINTY_CLAMP));
		fuzz_require(rule->family[0] && rule->because[0]);
		check_sentence(rule);
	}
}

static void check_message(const char *text)
{
	fuzz_require(strncmp(text, "site.rules:", 11) == 0);
	for (const char *p = text; *p; p++)
		fuzz_require(*p == '\n' || !fuzz_has_control(p, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	_cleanup_(knowledge_freep) struct knowledge *knowledge = xzalloc(sizeof(*knowledge));
	struct why why = {};
	int r = knowledge_add_text(knowledge, "site.rules", text, &why);

	fuzz_require(r == 0 || r == -EINVAL);
	fuzz_require((r == 0) == (why.text[0] == '\0'));
	if (r < 0)
		check_message(why.text);
	check_causes(knowledge);
	check_rules(knowledge);
	/* The same again: every name is taken, unless there was none. */
	if (r == 0)
		fuzz_require((knowledge_add_text(knowledge, "again.rules", text, &why) == 0) ==
			     (knowledge->causes.count == 0 && knowledge->rules.count == 0));
	return 0;
}
