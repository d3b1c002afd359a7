/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every rule of the diagnosis by itself. tests/unit/rules/ holds, for each rule, measures with which it fires and near
 * misses: the same with one measure changed, so that it does not. Measures that are not named are unknown.
 *
 *	rule reader-stopped
 *	gives: app-not-reading 1
 *	fires: recvq_share=91% app_stopped_share=91%
 *	misses: recvq_share=90%
 *
 * gives is what the rule is evidence for, and how strong: a weight or a sign that changes by mistake must be changed
 * here as well. A line that begins with a tab continues the one before it. A rule without all three fails, and so does
 * a case about a rule that is gone.
 */
#include "unit.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "base/text.h"
#include "diagnose/infer/infer.h"
#include "diagnose/rules/certainty.h"
#include "diagnose/rules/knowledge.h"

#define WORDS_MAX 24

/* One rule's paragraph, while it is read. */
struct rule_case {
	const struct rule *rule;
	struct shape shape;
	char *fires; /* as an expression: every measure with its value */
	unsigned fired, missed, given;
};

struct reading {
	const struct knowledge *knowledge;
	const char *file;
	unsigned line;
	struct rule_case now;
	struct map seen; /* names of rules that have all three */
};

/* --- values --- */

static void store_integer(const struct field *field, uint8_t *at, uint64_t number)
{
	switch (field->store) {
	case STORE_U8:
	case STORE_BOOL:
		*at = (uint8_t)number;
		break;
	case STORE_U16:
		memcpy(at, &(uint16_t){(uint16_t)number}, 2);
		break;
	case STORE_U32:
		memcpy(at, &(uint32_t){(uint32_t)number}, 4);
		break;
	default:
		CHECK_EQ_UINT(field->size, 8);
		memcpy(at, &number, 8);
	}
}

static void store(const struct expr_term *term, void *data)
{
	const struct field *field = term->ref.field;
	const struct expr_literal *literal = term->literals;
	uint8_t *at = (uint8_t *)data + field->offset;

	if (field->store == STORE_DOUBLE)
		memcpy(at, &literal->real, sizeof(double));
	else if (field->store == STORE_ADDR)
		memcpy(at, &literal->prefix.addr, sizeof(struct addr));
	else if (field->store == STORE_CHARS)
		snprintf((char *)at, field->size, "%s", literal->text);
	else if (field->store == STORE_STRING)
		memcpy(at, &literal->text, sizeof(char *));
	else
		store_integer(field, at, (uint64_t)literal->integer);
}

/*
 * One "measure=value" into the record; "-" makes it unknown. Texts point into the
 * expression, which must live as long.
 */
static void apply_word(const struct reading *r, char *word, struct record *record, struct expr **ret_expr)
{
	char *value = strchr(word, '=');
	_cleanup_free_ char *text = NULL;
	struct expr_term term;
	struct field_ref ref;
	struct why why = {};
	bool complete;

	unit_note("%s:%u: %s", r->file, r->line, word);
	REQUIRE(value != NULL);
	*value++ = '\0';
	REQUIRE(shape_find(&r->now.shape, word, &ref) == 0);
	/* A measure that the condition does not name says nothing about it. */
	CHECK(expr_uses(r->now.rule->when, ref));
	if (strcmp(value, "-") == 0) {
		value_set_unknown(ref.field, (void *)record->parts[ref.part]);
		return;
	}
	text = xasprintf("%s == %s", word, value);
	if (expr_parse(text, &r->now.shape, ret_expr, &why) < 0)
		printf("# %s:%u: %s\n", r->file, r->line, why.text);
	REQUIRE(*ret_expr != NULL && expr_terms(*ret_expr, &term, 1, &complete) == 1);
	store(&term, (void *)record->parts[ref.part]);
}

static unsigned apply(const struct reading *r, const char *words, struct record *record, struct expr **exprs)
{
	_cleanup_free_ char *copy = xstrdup(words);
	unsigned count = 0;

	for (char *word = copy, *next; *word; word = next) {
		next = word + strcspn(word, " \t\n");
		if (*next)
			*next++ = '\0';
		if (!*word)
			continue;
		REQUIRE(count < WORDS_MAX);
		apply_word(r, word, record, &exprs[count++]);
	}
	return count;
}

/* What the rule says with the measures of the case, and with one of them changed where `change` is given. */
static enum truth ask(const struct reading *r, const char *change)
{
	struct expr *exprs[2 * WORDS_MAX] = {};
	struct record record = {};
	enum truth truth;
	unsigned count;

	for (unsigned part = 0; part < r->now.shape.count; part++) {
		const struct record_type *type = r->now.shape.types[part];
		void *data = xzalloc(type->size);

		for (uint32_t i = 0; i < type->field_count; i++)
			value_set_unknown(&type->fields[i], data);
		record.parts[part] = data;
	}
	count = apply(r, r->now.fires, &record, exprs);
	CHECK(count > 0);
	/* Near means: one measure is different. */
	if (change)
		CHECK_EQ_UINT(apply(r, change, &record, exprs + count), 1);
	truth = expr_eval(r->now.rule->when, &record);
	for (unsigned part = 0; part < r->now.shape.count; part++)
		free((void *)record.parts[part]);
	for (size_t i = 0; i < ARRAY_SIZE(exprs); i++)
		expr_free(exprs[i]);
	return truth;
}

/* --- lines --- */

static void end_case(struct reading *r)
{
	if (!r->now.rule)
		return;
	if (r->now.fired && r->now.missed && r->now.given)
		(void)map_put(&r->seen, r->now.rule->name, NULL);
	free(r->now.fires);
	r->now = (struct rule_case){};
}

static void begin_case(struct reading *r, const char *name)
{
	end_case(r);
	r->now.rule = knowledge_find_rule(r->knowledge, name);
	unit_note("%s:%u: there is no rule %s (any more)", r->file, r->line, name);
	REQUIRE(r->now.rule != NULL);
	r->now.shape = module_scope_shape(r->now.rule->about);
}

/* "path-loss, path-congestion -0.6" */
static void check_weight(struct reading *r, const char *line)
{
	const struct rule *rule = r->now.rule;
	_cleanup_free_ char *causes = rule_causes(rule), *said = xstrdup(line);
	char *number = strrchr(said, ' ');
	double certainty;

	unit_note("%s:%u: %s", r->file, r->line, line);
	REQUIRE(number != NULL);
	*number++ = '\0';
	CHECK_EQ_TEXT(causes, said);
	certainty = strtod(number, NULL);
	/* Only a fact is certain (certainty.h). */
	if (fabs(certainty) < 1)
		certainty = copysign(fmin(fabs(certainty), CERTAINTY_CLAMP), certainty);
	CHECK_NEAR(rule->certainty, certainty, 1e-9);
	r->now.given++;
}

static void read_line(struct reading *r, const char *line)
{
	bool fires;

	r->line++;
	if (strncmp(line, "rule ", 5) == 0) {
		begin_case(r, line + 5);
	} else if (strncmp(line, "gives: ", 7) == 0) {
		REQUIRE(r->now.rule != NULL);
		check_weight(r, line + 7);
	} else if (strncmp(line, "fires: ", 7) == 0) {
		REQUIRE(r->now.rule != NULL);
		free(r->now.fires);
		r->now.fires = xstrdup(line + 7);
		fires = ask(r, NULL) == TRUTH_YES;
		unit_note("%s:%u: %s fires", r->file, r->line, r->now.rule->name);
		r->now.fired += CHECK(fires);
	} else if (strncmp(line, "misses: ", 8) == 0) {
		REQUIRE(r->now.rule != NULL && r->now.fires != NULL);
		fires = ask(r, line + 8) == TRUTH_YES;
		unit_note("%s:%u: %s does not fire", r->file, r->line, r->now.rule->name);
		r->now.missed += CHECK(!fires);
	} else {
		unit_note("%s:%u: '%s' is not understood", r->file, r->line, line);
		CHECK(*line == '\0' || *line == '#');
	}
}

static void read_file(struct reading *r, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)4 << 20);
	const char *at;

	REQUIRE(buf_read_file(&text, path) == 0);
	r->line = 0;
	for (at = buf_text(&text); *at;) {
		size_t n = strcspn(at, "\n");
		unsigned more = 0;
		_cleanup_free_ char *line = NULL;

		for (; at[n] == '\n' && at[n + 1] == '\t'; more++)
			n += 1 + strcspn(at + n + 1, "\n");
		line = xstrndup(at, n);
		read_line(r, line);
		r->line += more;
		at += n + (at[n] == '\n');
	}
	end_case(r);
}

/* The program lies somewhere below the tree that the cases are in. */
static char *find_cases(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 40);
	char *slash;

	REQUIRE(n > 0);
	path[n] = '\0';
	while ((slash = strrchr(path, '/'))) {
		memcpy(slash, "/tests/unit/rules", sizeof("/tests/unit/rules"));
		if (access(path, R_OK) == 0)
			return xstrdup(path);
		*slash = '\0';
	}
	return NULL;
}

static void read_cases(struct reading *r)
{
	_cleanup_free_ char *path = find_cases();
	struct dirent *entry;
	DIR *dir;

	REQUIRE(path != NULL);
	dir = opendir(path);
	REQUIRE(dir != NULL);
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *file = xasprintf("%s/%s", path, entry->d_name);

		r->file = entry->d_name;
		if (strstr(entry->d_name, ".case"))
			read_file(r, file);
	}
	closedir(dir);
}

TEST(every_rule_fires_and_misses_as_its_case_says)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct reading reading = {.seen = MAP_INIT(0, sizeof(char), 0)};
	struct why why = {};

	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	reading.knowledge = knowledge;
	read_cases(&reading);
	vec_each(&knowledge->rules, rule) {
		unit_note("rule %s (%s) needs a case in tests/unit/rules/, with lines 'gives:', 'fires:' and 'misses:'",
			  (*rule)->name, (*rule)->origin);
		CHECK(map_get(&reading.seen, (*rule)->name) != NULL);
	}
	map_done(&reading.seen);
}

/* --- verdicts --- */

/* Of the rules of one family only the strongest counts. */
static bool counts_beside(const struct rule *rule, const struct rule *other, const struct cause *cause)
{
	return rule != other && rule_suggests(other, cause) && strcmp(rule->family, other->family) != 0;
}

/* It is reported with the rule and not without it, or the other way round; or as reported, its rank may change. */
#define RANKS_BY 0.02

static bool matters(double without, double with)
{
	return (without >= INFER_THRESHOLD) != (with >= INFER_THRESHOLD) ||
	       (with >= INFER_THRESHOLD && fabs(with - without) >= RANKS_BY);
}

/* Whether there is other evidence, up to two rules, beside which this one makes a difference. */
static bool decides(const struct knowledge *knowledge, const struct rule *rule, const struct cause *cause)
{
	if (matters(0, rule->certainty))
		return true;
	vec_each(&knowledge->rules, a) {
		if (!counts_beside(rule, *a, cause))
			continue;
		if (matters((*a)->certainty, certainty_combine((*a)->certainty, rule->certainty)))
			return true;
		vec_each(&knowledge->rules, b) {
			double both = certainty_combine((*a)->certainty, (*b)->certainty);

			if (counts_beside(rule, *b, cause) && counts_beside(*a, *b, cause) &&
			    matters(both, certainty_combine(both, rule->certainty)))
				return true;
		}
	}
	return false;
}

/* Too weak alone, and the only other evidence is of its own family: it is shown with --all, below the threshold. */
static const char *const never_decides[] = {"often-waits-for-cpu"};

static bool is_known_weak(const struct rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(never_decides); i++)
		if (strcmp(rule->name, never_decides[i]) == 0)
			return true;
	return false;
}

TEST(every_rule_can_decide_a_verdict)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct why why = {};

	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	vec_each(&knowledge->rules, rule)
		vec_each(&(*rule)->suggests, cause) {
			unit_note("rule %s (%s), cause %s: whatever else is known, it makes no difference",
				  (*rule)->name, (*rule)->origin, (*cause)->name);
			CHECK(decides(knowledge, *rule, *cause) != is_known_weak(*rule));
		}
}
