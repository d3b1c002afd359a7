/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option.h"
#include "unit.h"

struct inner {
	bool json;
	const char *file;
};

struct config {
	bool all, extra;
	uint64_t count, port_base, retries, time_ns, wait_ns, bytes;
	double share;
	const char *name;
	struct text_list where, show;
	struct port_list ports;
	unsigned mode;
	struct inner inner;
	const char *target;
	struct text_list rest;
	struct command_line command;
};

static const char *const modes[] = {"fast", "slow", "off", NULL};

static const struct option_spec inner_options[] = {
	OPTION(struct inner, json, FLAG, "json", 'j', NULL, "as JSON lines"),
	OPTION(struct inner, file, TEXT, "output", 'o', "FILE", "write there"),
	OPTION_END,
};

static const struct option_spec options[] = {
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "everything"),
	OPTION(struct config, extra, FLAG, "extra", 'x', NULL, "more"),
	OPTION(struct config, count, UINT, "count", 'c', "N", "how often", .min = 1, .max = 10),
	OPTION(struct config, port_base, UINT, "port-base", 0, "N", "any number"),
	OPTION(struct config, retries, UINT, "retries", 0, "N", "at least one", .min = 1),
	OPTION(struct config, time_ns, SECONDS, "duration", 'd', "SECONDS", "stop after"),
	OPTION(struct config, wait_ns, DURATION, "wait", 0, "TIME", "wait that long"),
	OPTION(struct config, bytes, SIZE, "size", 's', "BYTES", "how much"),
	OPTION(struct config, share, RATIO, "share", 0, "SHARE", "how likely", .max = 1),
	OPTION(struct config, name, TEXT, "name", 'n', "NAME", "called so"),
	OPTION(struct config, where, TEXTS, "where", 'w', "EXPR", "filter"),
	OPTION(struct config, show, NAMES, "show", 0, "F,..", "columns"),
	OPTION(struct config, ports, PORTS, "port", 'P', "PORT,..", "ports"),
	OPTION(struct config, mode, CHOICE, "mode", 'm', "MODE", "how", .choices = modes),
	OPTION_GROUP(struct config, inner, inner_options),
	POSITIONAL(struct config, target, TEXT, "TARGET", "what to look at", .required = true),
	POSITIONAL(struct config, rest, TEXTS, "MORE", "further words"),
	POSITIONAL(struct config, command, COMMAND, "COMMAND", "run it"),
	OPTION_END,
};

#define WORDS_MAX 100

/* Parses words separated by blanks; the copies live as long as the test. */
static int parse(const struct option_spec *table, const char *line, struct config *config, struct why *why)
{
	static char copy[4096], *argv[WORDS_MAX + 1];
	char *rest = copy, *word;
	int argc = 0;

	unit_note("'%s'", line);
	snprintf(copy, sizeof(copy), "%s", line);
	*config = (struct config){};
	*why = (struct why){};
	while (argc < WORDS_MAX && (word = strsep(&rest, " ")))
		argv[argc++] = word;
	argv[argc] = NULL;
	return option_parse(table, argc, argv, config, why);
}

TEST(every_kind)
{
	struct config c;
	struct why why;

	CHECK_OK(parse(options,
		       "--all --count 3 --port-base 0xff --duration 5 --wait 250ms --size 64KiB --share 80% --name x "
		       "--where a --where b,c --show f,g --show h --port 22,80 --mode slow --json --output - tgt",
		       &c, &why));
	CHECK_EQ_TEXT(why.text, "");
	CHECK(c.all);
	CHECK(!c.extra);
	CHECK_EQ_UINT(c.count, 3);
	CHECK_EQ_UINT(c.port_base, 255);
	CHECK_EQ_UINT(c.time_ns, 5000000000);
	CHECK_EQ_UINT(c.wait_ns, 250000000);
	CHECK_EQ_UINT(c.bytes, 65536);
	CHECK_NEAR(c.share, 0.8, 1e-12);
	CHECK_EQ_TEXT(c.name, "x");
	REQUIRE(c.where.count == 2);
	CHECK_EQ_TEXT(c.where.items[0], "a");
	CHECK_EQ_TEXT(c.where.items[1], "b,c");
	REQUIRE(c.show.count == 3);
	CHECK_EQ_TEXT(c.show.items[0], "f");
	CHECK_EQ_TEXT(c.show.items[2], "h");
	REQUIRE(c.ports.count == 2);
	CHECK_EQ_UINT(c.ports.items[0], 22);
	CHECK_EQ_UINT(c.ports.items[1], 80);
	CHECK_EQ_UINT(c.mode, 1);
	CHECK(c.inner.json);
	CHECK_EQ_TEXT(c.inner.file, "-");
	CHECK_EQ_TEXT(c.target, "tgt");
	CHECK_EQ_INT(c.command.argc, 0);
	option_done(options, &c);
	CHECK_EQ_UINT(c.where.count, 0);
	option_done(options, &c);
}

TEST(spellings)
{
	static const char *const same[] = {
		"-a -x -c 3 -j tgt",
		"-axc3 -j tgt",
		"-axjc 3 tgt",
		"tgt -jaxc3",
		"--all --extra --count=3 --json tgt",
		"--al --ex --cou 3 --js tgt",
		"-a tgt -x --count 3 -j",
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct config c;
		struct why why;

		CHECK_OK(parse(options, same[i], &c, &why));
		CHECK(c.all && c.extra && c.inner.json);
		CHECK_EQ_UINT(c.count, 3);
		CHECK_EQ_TEXT(c.target, "tgt");
		option_done(options, &c);
	}
}

TEST(arguments_may_look_like_options)
{
	struct config c;
	struct why why;

	CHECK_OK(parse(options, "-n -x --where --all - -n-", &c, &why));
	CHECK(!c.extra && !c.all);
	CHECK_EQ_TEXT(c.where.items[0], "--all");
	CHECK_EQ_TEXT(c.target, "-");
	CHECK_EQ_TEXT(c.name, "-");
	option_done(options, &c);
	CHECK_OK(parse(options, "--name= tgt", &c, &why));
	CHECK_EQ_TEXT(c.name, "");
	option_done(options, &c);
	CHECK_OK(parse(options, "--name=a=b tgt", &c, &why));
	CHECK_EQ_TEXT(c.name, "a=b");
	option_done(options, &c);
}

TEST(positionals_in_order)
{
	struct config c;
	struct why why;

	CHECK_OK(parse(options, "one two -a three", &c, &why));
	CHECK_EQ_TEXT(c.target, "one");
	REQUIRE(c.rest.count == 2);
	CHECK_EQ_TEXT(c.rest.items[0], "two");
	CHECK_EQ_TEXT(c.rest.items[1], "three");
	option_done(options, &c);
}

TEST(a_command_after_two_dashes)
{
	struct config c;
	struct why why;

	CHECK_OK(parse(options, "tgt -a -- curl -x --all -- y", &c, &why));
	CHECK(c.all && !c.extra);
	REQUIRE(c.command.argc == 5);
	CHECK_EQ_TEXT(c.command.argv[0], "curl");
	CHECK_EQ_TEXT(c.command.argv[4], "y");
	CHECK(!c.command.argv[5]);
	option_done(options, &c);
}

TEST(sentences_for_mistakes)
{
	static const struct {
		const char *line, *sentence;
	} cases[] = {
		{"", "missing argument TARGET: what to look at"},
		{"-c 0 t", "--count: '0' is not a whole number from 1 to 10"},
		{"-c 11 t", "--count: '11' is not a whole number from 1 to 10"},
		{"-c 12abc t", "--count: '12abc' is not a whole number from 1 to 10"},
		{"-c -1 t", "--count: '-1' is not a whole number from 1 to 10"},
		{"--count= t", "--count: '' is not a whole number from 1 to 10"},
		{"--port-base x t", "--port-base: 'x' is not a whole number"},
		{"--retries 0 t", "--retries: '0' is not a whole number from 1 up"},
		{"-d soon t", "--duration: 'soon' is not a time above 0, in seconds or with a unit, such as 5, 0.5 or "
			      "250ms"},
		{"-d 0 t", "--duration: '0' is not a time above 0, in seconds or with a unit, such as 5, 0.5 or "
			   "250ms"},
		{"-d 0ms t", "--duration: '0ms' is not a time above 0, in seconds or with a unit, such as 5, 0.5 or "
			     "250ms"},
		{"--wait 5 t", "--wait: '5' is not a duration such as 250ms or 1.5s"},
		{"--share 80 t", "--share: '80' is not a number from 0 to 1 such as 0.8 or 80%"},
		{"-s 5x t", "--size: '5x' is not a size such as 4096, 64KiB or 1MB"},
		{"--share -0.1 t", "--share: '-0.1' is not a number from 0 to 1 such as 0.8 or 80%"},
		{"--share most t", "--share: 'most' is not a number from 0 to 1 such as 0.8 or 80%"},
		{"-P 70000 t", "--port: '70000' is not a list of ports from 0 to 65535, separated by commas"},
		{"-P 80,,81 t", "--port: '80,,81' is not a list of ports from 0 to 65535, separated by commas"},
		{"-P 80, t", "--port: '80,' is not a list of ports from 0 to 65535, separated by commas"},
		{"--show a,,b t", "--show: 'a,,b' is not a list separated by commas, without empty parts"},
		{"-m quick t", "--mode: 'quick' is not fast, slow or off"},
		{"-m fas t", "--mode: 'fas' is not fast, slow or off"},
		{"t -c", "-c needs an argument: N"},
		{"t --count", "--count needs an argument: N"},
		{"t --all=yes", "--all takes no argument"},
		{"t -q", "unknown option -q"},
		{"t -aq", "unknown option -q"},
		{"t --cuont 3", "unknown option --cuont; did you mean --count?"},
		{"t --zzzzzzzz", "unknown option --zzzzzzzz"},
		{"t --s 3", "ambiguous option --s"},
		{"t --", "missing command after --"},
		{"t --=x", "ambiguous option --"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config c;
		struct why why;

		if (cases[i].line[0])
			CHECK_ERR(parse(options, cases[i].line, &c, &why), -EINVAL);
		else
			CHECK_ERR(option_parse(options, 0, NULL, &c, &why), -EINVAL);
		CHECK_EQ_TEXT(why.text, cases[i].sentence);
		if (cases[i].line[0])
			option_done(options, &c);
	}
}

TEST(words_too_many)
{
	static const struct option_spec few[] = {
		POSITIONAL(struct config, time_ns, SECONDS, "INTERVAL", "how often"),
		POSITIONAL(struct config, count, UINT, "COUNT", "how many"),
		OPTION_END,
	};
	struct config c;
	struct why why;

	CHECK_OK(parse(few, "2 10", &c, &why));
	CHECK_EQ_UINT(c.time_ns, 2000000000);
	CHECK_EQ_UINT(c.count, 10);
	CHECK_ERR(parse(few, "2 10 3", &c, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "unexpected argument '3'");
	CHECK_ERR(parse(few, "2 ten", &c, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "COUNT: 'ten' is not a whole number");
	CHECK_ERR(parse(few, "-- ls", &c, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "unexpected '--': this command does not run another one");
}

TEST(a_list_may_be_required)
{
	static const struct option_spec files[] = {
		POSITIONAL(struct config, rest, TEXTS, "FILE", "what to read", .required = true),
		OPTION_END,
	};
	struct config c;
	struct why why;

	CHECK_OK(parse(files, "a b", &c, &why));
	CHECK_EQ_UINT(c.rest.count, 2);
	option_done(files, &c);
	c = (struct config){};
	CHECK_ERR(option_parse(files, 0, NULL, &c, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "missing argument FILE: what to read");
}

TEST(mistakes_are_shown_harmless)
{
	struct config c;
	struct why why;

	CHECK_ERR(parse(options, "t -c \033[31m", &c, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "\\x1b[31m");
	CHECK_ERR(parse(options, "t --\033]0;x", &c, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "\\x1b]0;x");
	CHECK_ERR(parse(options, "t -\xff", &c, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "-\\xff");
}

TEST(a_long_word_makes_a_short_sentence)
{
	static char word[100000];
	char *argv[] = {word, NULL};
	struct config c = {};
	struct why why;

	memset(word, '9', sizeof(word) - 1);
	memcpy(word, "--count=", 8);
	CHECK_ERR(option_parse(options, 1, argv, &c, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "is not a whole number from 1 to 10");
	memcpy(word, "--", 2);
	word[7] = 'x';
	CHECK_ERR(option_parse(options, 1, argv, &c, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "unknown option --");
}

TEST(ports_are_bounded)
{
	char line[2000] = "t -P ";
	struct config c;
	struct why why;

	for (int i = 0; i < 64; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%d", i ? "," : "", i);
	CHECK_OK(parse(options, line, &c, &why));
	CHECK_EQ_UINT(c.ports.count, 64);
	CHECK_EQ_UINT(c.ports.items[63], 63);
	strncat(line, ",64", sizeof(line) - strlen(line) - 1);
	CHECK_ERR(parse(options, line, &c, &why), -EINVAL);
	CHECK_EQ_UINT(c.ports.count, 64);
}

TEST(no_table_takes_no_words)
{
	char *argv[] = {(char *)"x", NULL};
	struct config c = {};
	struct why why;

	CHECK_OK(option_parse(NULL, 0, argv, &c, &why));
	CHECK_ERR(option_parse(NULL, 1, argv, &c, &why), -EINVAL);
	CHECK_ERR(option_parse(NULL, 1, argv, &c, NULL), -EINVAL);
	option_done(NULL, &c);
}

static bool find_usage(const struct option_spec *spec, void *context)
{
	buf_add_char(context, '|');
	option_add_usage(spec, context);
	return spec->kind != OPT_CHOICE;
}

TEST(usage)
{
	_cleanup_buf_ struct buf usage = BUF_INIT(0), synopsis = BUF_INIT(0);

	option_each(options, find_usage, &usage);
	CHECK_HAS_TEXT(buf_text(&usage), "|-a, --all|");
	CHECK_HAS_TEXT(buf_text(&usage), "|-c, --count N|");
	CHECK_HAS_TEXT(buf_text(&usage), "|    --wait TIME|");
	/* The iteration ends when the callback returns false. */
	CHECK_HAS_TEXT(buf_text(&usage), "|-m, --mode MODE");
	CHECK(!strstr(buf_text(&usage), "json"));
	option_add_synopsis(options, &synopsis);
	CHECK_EQ_TEXT(buf_text(&synopsis), " TARGET [MORE ...] [-- COMMAND ...]");
}

static bool find_json(const struct option_spec *spec, void *context)
{
	if (spec->name && strcmp(spec->name, "json") == 0)
		*(size_t *)context = spec->offset;
	return true;
}

TEST(offsets_of_groups_add_up)
{
	size_t offset = 0;

	option_each(options, find_json, &offset);
	CHECK_EQ_UINT(offset, offsetof(struct config, inner.json));
}

static const struct option_spec needy_options[] = {
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "everything"),
	OPTION(struct config, name, TEXT, "name", 'n', "NAME", "called so", .needs = "names"),
	OPTION_GROUP(struct config, inner, inner_options),
	OPTION_END,
};

static bool has_that(const char *needs, const void *subject)
{
	return strcmp(needs, subject) == 0;
}

static bool add_letter(const struct option_spec *spec, void *context)
{
	buf_add_char(context, spec->letter);
	return true;
}

/* Listed for those that have what it needs; parsed for all, so that the command can say why not. */
TEST(an_option_that_needs_something)
{
	_cleanup_buf_ struct buf with = BUF_INIT(64), without = BUF_INIT(64);
	_cleanup_free_ struct option_spec *fit = option_fit(needy_options, has_that, "names");
	_cleanup_free_ struct option_spec *unfit = option_fit(needy_options, has_that, "numbers");
	struct config config;
	struct why why;

	option_each(fit, add_letter, &with);
	option_each(unfit, add_letter, &without);
	CHECK_EQ_TEXT(buf_text(&with), "anjo");
	CHECK_EQ_TEXT(buf_text(&without), "ajo");
	CHECK_OK(parse(unfit, "--name x --json", &config, &why));
	CHECK_EQ_TEXT(config.name, "x");
	CHECK(config.inner.json);
}
