/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/present/cause_page.h"

#include <string.h>

static struct cause_page_section *add_section(struct cause_page *page, const char *heading)
{
	struct cause_page_section *section = vec_add(&page->sections);

	section->heading = xstrdup(heading);
	return section;
}

void cause_page_free(struct cause_page *page)
{
	if (!page)
		return;
	vec_each(&page->sections, section) {
		vec_each(&section->paragraphs, text)
			free(*text);
		vec_each(&section->items, text)
			free(*text);
		vec_done(&section->paragraphs);
		vec_done(&section->items);
		free(section->heading);
	}
	vec_done(&page->sections);
	free(page->title);
	free(page);
}

static bool speaks(const struct rule *rule, const struct cause *cause, bool speaks_for)
{
	return rule_suggests(rule, cause) && (rule->certainty > 0) == speaks_for;
}

static bool is_recognised(const struct knowledge *knowledge, const struct cause *cause)
{
	vec_each(&knowledge->rules, rule)
		if (speaks(*rule, cause, true))
			return true;
	return false;
}

static bool has_item(const struct cause_page_section *section, const char *text)
{
	vec_each(&section->items, item)
		if (strcmp(*item, text) == 0)
			return true;
	return false;
}

/* What nest reports; a {measure} stands for its value. */
static void add_looks(struct cause_page *page, const struct knowledge *knowledge, const struct cause *cause)
{
	struct cause_page_section *section = add_section(page, "Symptoms");

	if (!is_recognised(knowledge, cause)) {
		vec_push(&section->paragraphs, xstrdup("No rule recognises it yet: nest does not report it."));
		return;
	}
	vec_push(&section->paragraphs, xstrdup("One or more of these sentences, with the measures filled in:"));
	vec_each(&knowledge->rules, rule)
		if (speaks(*rule, cause, true) && !has_item(section, (*rule)->because))
			vec_push(&section->items, xstrdup((*rule)->because));
}

static void add_evidence(struct cause_page *page, const struct knowledge *knowledge, const struct cause *cause,
			 bool speaks_for)
{
	struct cause_page_section *section = NULL;

	vec_each(&knowledge->rules, rule) {
		if (!speaks(*rule, cause, speaks_for))
			continue;
		if (!section)
			section = add_section(page, speaks_for ? "Evidence for" : "Evidence against");
		vec_push(&section->items, xasprintf("%s (%+.2f, %s): %s", (*rule)->name, (*rule)->certainty,
						    module_kind_name((*rule)->about->kind), (*rule)->when_text));
	}
}

/* PID and PORT instead of {pid} and {lport}; to be freed. */
static char *fill_words(const char *template)
{
	struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	knowledge_fill_words(template, NULL, NULL, &text);
	return text.data;
}

static void add_advice(struct cause_page *page, const struct knowledge *knowledge, const struct cause *cause)
{
	struct cause_page_section *section = add_section(page, "What to do");

	vec_push(&section->paragraphs, fill_words(cause->advice));
	vec_each(&cause->next, step)
		if (knowledge_can_run(knowledge, step->command))
			vec_push(&section->items, fill_words(step->command));
}

/* In both directions: why another cause is missing, and why this one may be. */
static void add_consequences(struct cause_page *page, const struct knowledge *knowledge, const struct cause *cause)
{
	struct cause_page_section *section = NULL;

	vec_each(&cause->explains, other) {
		section = section ?: add_section(page, "Consequences, not reported beside it");
		vec_push(&section->items, xstrdup((*other)->name));
	}
	section = NULL;
	vec_each(&knowledge->causes, other) {
		if (!cause_explains(*other, cause))
			continue;
		section = section ?: add_section(page, "A consequence of, and not reported beside");
		vec_push(&section->items, xstrdup((*other)->name));
	}
}

static void add_scenarios(struct cause_page *page, const struct cause *cause)
{
	struct cause_page_section *section;

	if (!cause->lab)
		return;
	section = add_section(page, "How to reproduce");
	vec_push(&section->paragraphs,
		 xstrdup("In the source tree, as root, in network namespaces of their own (docs/lab.md):"));
	for (const char *at = cause->lab; *at;) {
		size_t n = strcspn(at, " ");

		vec_push(&section->items, xasprintf("lab/run %.*s", (int)n, at));
		at += n + strspn(at + n, " ");
	}
}

struct cause_page *cause_page_new(const struct knowledge *knowledge, const struct cause *cause)
{
	struct cause_page *page = xzalloc(sizeof(*page));
	struct cause_page_section *section;

	page->title = xasprintf("%s: %s", cause->name, cause->summary);
	section = add_section(page, "What it means");
	vec_push(&section->paragraphs, xasprintf("Layer %s; accuses the %s; severity %s.", cause->layer,
						 module_kind_name(cause->accuses), severity_name(cause->severity)));
	vec_push(&section->paragraphs, xstrdup(cause->means));
	add_looks(page, knowledge, cause);
	add_advice(page, knowledge, cause);
	if (cause->blind) {
		section = add_section(page, "Blind spots");
		vec_push(&section->paragraphs, xstrdup(cause->blind));
	}
	add_evidence(page, knowledge, cause, true);
	add_evidence(page, knowledge, cause, false);
	add_consequences(page, knowledge, cause);
	add_scenarios(page, cause);
	return page;
}

/* Conditions and commands stand as code: Markdown would take their stars and brackets for its own. */
static void add_item(struct buf *out, const char *item)
{
	buf_add_text(out, "- `");
	for (const char *p = item; *p; p++)
		buf_add_char(out, *p == '`' ? '\'' : *p);
	buf_add_text(out, "`\n");
}

void cause_page_add_markdown(const struct cause_page *page, struct buf *out)
{
	buf_add_format(out, "# %s\n", page->title);
	vec_each(&page->sections, section) {
		buf_add_format(out, "\n## %s\n", section->heading);
		vec_each(&section->paragraphs, text)
			buf_add_format(out, "\n%s\n", *text);
		if (section->items.count > 0)
			buf_add_char(out, '\n');
		vec_each(&section->items, item)
			add_item(out, *item);
	}
}
