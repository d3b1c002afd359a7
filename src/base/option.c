/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/option.h"
#include "base/parse.h"
#include "base/text.h"

struct flat {
	VEC(struct option_spec) specs;
};

static void flatten(const struct option_spec *table, size_t offset, struct flat *flat)
{
	for (const struct option_spec *spec = table; spec && spec->kind != OPT_END; spec++) {
		struct option_spec copy = *spec;

		copy.offset += offset;
		if (copy.second)
			copy.second += offset;
		if (spec->kind == OPT_GROUP)
			flatten(spec->group, copy.offset, flat);
		else
			vec_push(&flat->specs, copy);
	}
}

static void flat_done(struct flat *flat)
{
	vec_done(&flat->specs);
}

void option_each(const struct option_spec *table, bool (*fn)(const struct option_spec *spec, void *context),
		 void *context)
{
	_cleanup_(flat_done) struct flat flat = {};

	flatten(table, 0, &flat);
	vec_each(&flat.specs, spec)
		if (!spec->unfit && !fn(spec, context))
			return;
}

struct option_spec *option_fit(const struct option_spec *table, bool (*has)(const char *needs, const void *subject),
			       const void *subject)
{
	struct flat flat = {};

	flatten(table, 0, &flat);
	vec_each(&flat.specs, spec)
		spec->unfit = spec->needs && !has(spec->needs, subject);
	vec_push(&flat.specs, (struct option_spec)OPTION_END);
	return flat.specs.items;
}

static void text_list_add(struct text_list *list, const char *text, size_t n)
{
	list->items = xrealloc_array(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = xstrndup(text, n);
}

/* The option's name in messages: "--json", or the argument's name. */
static const char *spec_title(const struct option_spec *spec, char *buffer, size_t size)
{
	if (spec->name)
		snprintf(buffer, size, "--%s", spec->name);
	else
		snprintf(buffer, size, "%s", spec->arg);
	return buffer;
}

/* Splits at commas; empty parts are errors. */
static int each_part(const char *text, int (*fn)(const char *part, size_t n, void *member), void *member)
{
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		int r;

		if (n == 0)
			return -EINVAL;
		r = fn(p, n, member);
		if (r < 0)
			return r;
		p += n;
		if (!*p)
			return 0;
	}
}

static int add_name(const char *part, size_t n, void *member)
{
	text_list_add(member, part, n);
	return 0;
}

static int add_port(const char *part, size_t n, void *member)
{
	struct port_list *list = member;
	char number[8];

	if (n >= sizeof(number))
		return -EINVAL;
	if (list->count == ARRAY_SIZE(list->items))
		return -E2BIG;
	memcpy(number, part, n);
	number[n] = '\0';
	return parse_port(number, &list->items[list->count++]);
}

static int set_choice(const struct option_spec *spec, const char *text, unsigned *member)
{
	for (unsigned i = 0; spec->choices[i]; i++)
		if (strcmp(spec->choices[i], text) == 0) {
			*member = i;
			return 0;
		}
	return -EINVAL;
}

static int set_ratio(const struct option_spec *spec, const char *text, double *member)
{
	int r = parse_ratio(text, member);

	return r == 0 && (*member < 0 || (spec->max && *member > (double)spec->max)) ? -ERANGE : r;
}

/* 0 would mean that the option was not given. */
static int set_seconds(const char *text, uint64_t *member)
{
	int r = parse_seconds_ns(text, member);

	return r == 0 && *member == 0 ? -ERANGE : r;
}

/* A third value has no place. */
static int set_text(const struct option_spec *spec, const char *text, void *config)
{
	const char **first = (const char **)((char *)config + spec->offset);
	const char **second = (const char **)((char *)config + spec->second);

	if (!spec->second || !*first)
		*first = text;
	else if (*second)
		return -E2BIG;
	else
		*second = text;
	return 0;
}

static int set_value(const struct option_spec *spec, const char *text, void *config)
{
	void *member = (char *)config + spec->offset;

	switch (spec->kind) {
	case OPT_FLAG:
		*(bool *)member = true;
		return 0;
	case OPT_UINT:
		return parse_u64(text, spec->min, spec->max ? spec->max : UINT64_MAX, member);
	case OPT_RATIO:
		return set_ratio(spec, text, member);
	case OPT_SECONDS:
		return set_seconds(text, member);
	case OPT_DURATION:
		return parse_duration_ns(text, member);
	case OPT_SIZE:
		return parse_size_bytes(text, member);
	case OPT_TEXT:
		return set_text(spec, text, config);
	case OPT_TEXTS:
		text_list_add(member, text, strlen(text));
		return 0;
	case OPT_NAMES:
		return each_part(text, add_name, member);
	case OPT_PORTS:
		return each_part(text, add_port, member);
	case OPT_CHOICE:
		return set_choice(spec, text, member);
	default:
		return -EINVAL;
	}
}

/* The expected value, for an error message. */
static void describe_expected(const struct option_spec *spec, struct buf *out)
{
	switch (spec->kind) {
	case OPT_UINT:
		if (spec->max)
			buf_add_format(out, "a whole number from %llu to %llu", (unsigned long long)spec->min,
				       (unsigned long long)spec->max);
		else if (spec->min)
			buf_add_format(out, "a whole number from %llu up", (unsigned long long)spec->min);
		else
			buf_add_text(out, "a whole number");
		return;
	case OPT_RATIO:
		if (spec->max)
			buf_add_format(out, "a number from 0 to %llu such as 0.8 or 80%%",
				       (unsigned long long)spec->max);
		else
			buf_add_text(out, "a number of at least 0 such as 0.8 or 80%");
		return;
	case OPT_SECONDS:
		buf_add_text(out, "a time above 0, in seconds or with a unit, such as 5, 0.5 or 250ms");
		return;
	case OPT_DURATION:
		buf_add_text(out, "a duration such as 250ms or 1.5s");
		return;
	case OPT_SIZE:
		buf_add_text(out, "a size such as 4096, 64KiB or 1MB");
		return;
	case OPT_PORTS:
		buf_add_text(out, "a list of ports from 0 to 65535, separated by commas");
		return;
	case OPT_CHOICE:
		for (unsigned i = 0; spec->choices[i]; i++)
			buf_add_format(out, "%s%s",
				       i == 0                 ? ""
				       : spec->choices[i + 1] ? ", "
							      : " or ",
				       spec->choices[i]);
		return;
	default:
		buf_add_text(out, "a list separated by commas, without empty parts");
	}
}

static int take_value(const struct option_spec *spec, const char *text, void *config, struct why *why)
{
	_cleanup_buf_ struct buf expected = BUF_INIT(1024), shown = BUF_INIT(1024);
	char title[64];
	int r;

	r = set_value(spec, text, config);
	if (r == 0)
		return 0;
	if (r == -E2BIG)
		return why_set(why, -EINVAL, "%s: too many values", spec_title(spec, title, sizeof(title)));
	text_add_terminal(&shown, text, strnlen(text, 60));
	describe_expected(spec, &expected);
	return why_set(why, -EINVAL, "%s: '%s' is not %s", spec_title(spec, title, sizeof(title)), buf_text(&shown),
		       buf_text(&expected));
}

static const struct option_spec *find_letter(const struct flat *flat, char letter)
{
	vec_each(&flat->specs, spec)
		if (spec->letter == letter)
			return spec;
	return NULL;
}

/* Exact match, or a unique prefix. */
static const struct option_spec *find_name(const struct flat *flat, const char *name, size_t n, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	const struct option_spec *match = NULL;
	char typed[40] = "";
	struct near near = {.word = typed, .prefix = "--"};
	unsigned matches = 0;

	memcpy(typed, name, min_of(n, sizeof(typed) - 1));
	vec_each(&flat->specs, spec) {
		if (!spec->name)
			continue;
		near_consider(&near, spec->name);
		if (strncmp(spec->name, name, n) != 0)
			continue;
		if (spec->name[n] == '\0')
			return spec;
		match = spec;
		matches++;
	}
	if (matches == 1 && n > 0)
		return match;
	near_add_text(&near, &hint);
	text_add_terminal(&shown, typed, strlen(typed));
	(void)why_set(why, -EINVAL, "%s option --%s%s", matches ? "ambiguous" : "unknown", buf_text(&shown),
		      buf_text(&hint));
	return NULL;
}

struct parser {
	struct flat flat;
	int argc;
	char **argv;
	int at;
	size_t next_positional;
	void *config;
	struct why *why;
};

static int parse_long(struct parser *p, const char *word)
{
	size_t n = strcspn(word, "=");
	const struct option_spec *spec = find_name(&p->flat, word, n, p->why);

	if (!spec)
		return -EINVAL;
	if (spec->kind == OPT_FLAG) {
		if (word[n])
			return why_set(p->why, -EINVAL, "--%s takes no argument", spec->name);
		return take_value(spec, "", p->config, p->why);
	}
	if (word[n])
		return take_value(spec, word + n + 1, p->config, p->why);
	if (p->at + 1 >= p->argc)
		return why_set(p->why, -EINVAL, "--%s needs an argument: %s", spec->name, spec->arg);
	return take_value(spec, p->argv[++p->at], p->config, p->why);
}

/* -ax, -d5, -d 5 */
static int parse_letters(struct parser *p, const char *word)
{
	for (; *word; word++) {
		const struct option_spec *spec = find_letter(&p->flat, *word);
		int r;

		if (!spec) {
			_cleanup_buf_ struct buf shown = BUF_INIT(64);

			text_add_terminal(&shown, word, 1);
			return why_set(p->why, -EINVAL, "unknown option -%s", buf_text(&shown));
		}
		if (spec->kind == OPT_FLAG) {
			r = take_value(spec, "", p->config, p->why);
			if (r < 0)
				return r;
			continue;
		}
		if (word[1])
			return take_value(spec, word + 1, p->config, p->why);
		if (p->at + 1 >= p->argc)
			return why_set(p->why, -EINVAL, "-%c needs an argument: %s", spec->letter, spec->arg);
		return take_value(spec, p->argv[++p->at], p->config, p->why);
	}
	return 0;
}

static int parse_positional(struct parser *p, const char *word)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(1024);

	while (p->next_positional < p->flat.specs.count) {
		const struct option_spec *spec = &p->flat.specs.items[p->next_positional];

		if (!option_is_positional(spec)) {
			p->next_positional++;
			continue;
		}
		/* A list takes all remaining words. */
		if (spec->kind != OPT_TEXTS)
			p->next_positional++;
		return take_value(spec, word, p->config, p->why);
	}
	text_add_terminal(&shown, word, strnlen(word, 60));
	return why_set(p->why, -EINVAL, "unexpected argument '%s'", buf_text(&shown));
}

static int parse_command_line(struct parser *p)
{
	vec_each(&p->flat.specs, spec) {
		if (spec->kind != OPT_COMMAND)
			continue;
		if (p->at + 1 >= p->argc)
			return why_set(p->why, -EINVAL, "missing command after --");
		*(struct command_line *)((char *)p->config + spec->offset) =
			(struct command_line){.argc = p->argc - p->at - 1, .argv = p->argv + p->at + 1};
		p->at = p->argc;
		return 0;
	}
	return why_set(p->why, -EINVAL, "unexpected '--': this command does not run another one");
}

static int parse_word(struct parser *p)
{
	const char *word = p->argv[p->at];

	if (strcmp(word, "--") == 0)
		return parse_command_line(p);
	if (word[0] == '-' && word[1] == '-')
		return parse_long(p, word + 2);
	if (word[0] == '-' && word[1])
		return parse_letters(p, word + 1);
	return parse_positional(p, word);
}

static int check_required(const struct parser *p)
{
	for (size_t i = p->next_positional; i < p->flat.specs.count; i++) {
		const struct option_spec *spec = &p->flat.specs.items[i];

		if (!option_is_positional(spec) || !spec->required)
			continue;
		if (spec->kind == OPT_TEXTS && ((struct text_list *)((char *)p->config + spec->offset))->count > 0)
			continue;
		return why_set(p->why, -EINVAL, "missing argument %s: %s", spec->arg, spec->help);
	}
	return 0;
}

int option_parse(const struct option_spec *table, int argc, char **argv, void *config, struct why *why)
{
	struct parser p = {.argc = argc, .argv = argv, .config = config, .why = why};
	int r = 0;

	flatten(table, 0, &p.flat);
	for (; r == 0 && p.at < argc; p.at++)
		r = parse_word(&p);
	if (r == 0)
		r = check_required(&p);
	flat_done(&p.flat);
	return r;
}

static bool free_member(const struct option_spec *spec, void *config)
{
	struct text_list *list = (struct text_list *)((char *)config + spec->offset);

	if (spec->kind != OPT_TEXTS && spec->kind != OPT_NAMES)
		return true;
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct text_list){};
	return true;
}

int option_check(const struct option_spec *spec, const char *value, struct why *why)
{
	struct option_spec alone[] = {*spec, OPTION_END};
	union {
		uint64_t number;
		double ratio;
		const char *text;
		struct text_list texts;
		struct port_list ports;
	} member = {};
	int r;

	alone[0].offset = alone[0].second = 0;
	r = take_value(&alone[0], value, &member, why);
	option_done(alone, &member);
	return r;
}

void option_done(const struct option_spec *table, void *config)
{
	option_each(table, free_member, config);
}

void option_add_usage(const struct option_spec *spec, struct buf *out)
{
	if (spec->kind == OPT_COMMAND) {
		buf_add_text(out, "-- COMMAND ...");
		return;
	}
	if (!spec->name) {
		buf_add_text(out, spec->arg);
		return;
	}
	if (spec->letter)
		buf_add_format(out, "-%c, ", spec->letter);
	else
		buf_add_text(out, "    ");
	buf_add_format(out, "--%s", spec->name);
	if (spec->kind != OPT_FLAG)
		buf_add_format(out, " %s", spec->arg);
}

static bool add_positional(const struct option_spec *spec, void *context)
{
	struct buf *out = context;

	if (spec->kind == OPT_COMMAND)
		buf_add_text(out, " [-- COMMAND ...]");
	else if (option_is_positional(spec))
		buf_add_format(out, spec->required ? " %s%s" : " [%s%s]", spec->arg,
			       spec->kind == OPT_TEXTS ? " ..." : "");
	return true;
}

void option_add_synopsis(const struct option_spec *table, struct buf *out)
{
	option_each(table, add_positional, out);
}
