/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option_file.h"

#include <errno.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/parse.h"
#include "base/text.h"

#define FILE_MAX  ((size_t)1 << 20)
#define LINES_MAX 10000

struct search {
	const char *name;
	size_t len;
	struct option_spec found;
	bool is_found;
	struct near near;
};

static bool consider(const struct option_spec *spec, void *context)
{
	struct search *search = context;

	if (!spec->name)
		return true;
	near_consider(&search->near, spec->name);
	if (strlen(spec->name) != search->len || memcmp(spec->name, search->name, search->len) != 0)
		return true;
	search->found = *spec;
	search->is_found = true;
	return false;
}

static bool find_option(const struct option_spec *table, struct search *search)
{
	option_each(table, consider, search);
	return search->is_found;
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

static const char *without_blanks(const char *text, const char *end)
{
	while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return end;
}

struct place {
	const char *name;
	unsigned line;
};

/* A flag that is off is not a word at all. */
static int add_flag(struct option_words *file, const char *name, const char *value, const struct place *place,
		    struct why *why)
{
	bool on;

	if (parse_bool(value, &on) < 0)
		return why_set(why, -EINVAL, "%s:%u: %s is a flag: yes or no", place->name, place->line, name);
	if (on)
		vec_push(&file->words, xasprintf("--%s", name));
	return 0;
}

static int refuse_name(const char *name, size_t len, const struct search *search, const struct place *place,
		       struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);

	near_add_text(&search->near, &hint);
	text_add_terminal(&shown, name, min_of(len, (size_t)60));
	return why_set(why, -EINVAL, "%s:%u: unknown option '%s'%s", place->name, place->line, buf_text(&shown),
		       buf_text(&hint));
}

static int add_value(struct option_words *file, const struct option_spec *spec, const char *value,
		     const struct place *place, struct why *why)
{
	struct why wrong = {};

	if (option_check(spec, value, &wrong) < 0)
		return why_set(why, -EINVAL, "%s:%u: %s", place->name, place->line, wrong.text);
	vec_push(&file->words, xasprintf("--%s=%s", spec->name, value));
	return 0;
}

static int parse_line(const char *line, const char *end, const struct option_spec *table, struct option_words *file,
		      const struct place *place, struct why *why)
{
	const char *equals, *name_end;
	_cleanup_free_ char *value = NULL, *name = NULL;
	struct search search = {};

	line = skip_blanks(line, end);
	end = without_blanks(line, end);
	if (line == end || *line == '#')
		return 0;
	equals = memchr(line, '=', (size_t)(end - line));
	if (!equals)
		return why_set(why, -EINVAL, "%s:%u: expected 'name = value'", place->name, place->line);
	name_end = without_blanks(line, equals);
	name = xstrndup(line, (size_t)(name_end - line));
	equals = skip_blanks(equals + 1, end);
	value = xstrndup(equals, (size_t)(end - equals));
	search = (struct search){.name = name, .len = strlen(name), .near = {.word = name}};
	if (!find_option(table, &search))
		return refuse_name(name, strlen(name), &search, place, why);
	if (strcmp(name, OPTION_FILE_NAME) == 0)
		return why_set(why, -EINVAL, "%s:%u: %s is an option of the command line only", place->name,
			       place->line, name);
	if (search.found.kind == OPT_FLAG)
		return add_flag(file, name, value, place, why);
	return add_value(file, &search.found, value, place, why);
}

int option_file_parse(const char *text, const char *name, const struct option_spec *table,
		      struct option_words *ret_file, struct why *why)
{
	struct option_words file = {};
	struct place place = {.name = name};
	int r = 0;

	for (const char *line = text; r == 0 && *line;) {
		const char *end = line + strcspn(line, "\n");

		if (++place.line > LINES_MAX)
			r = why_set(why, -E2BIG, "%s has more than %d lines", name, LINES_MAX);
		else
			r = parse_line(line, end, table, &file, &place, why);
		line = *end ? end + 1 : end;
	}
	if (r < 0)
		option_file_done(&file);
	else
		*ret_file = file;
	return r;
}

/* The value of the last --config FILE or --config=FILE before a `--`. */
static const char *named_file(int argc, char **argv)
{
	const char *file = NULL;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--" OPTION_FILE_NAME) == 0 && i + 1 < argc)
			file = argv[++i];
		else if (strncmp(argv[i], "--" OPTION_FILE_NAME "=", strlen("--" OPTION_FILE_NAME "=")) == 0)
			file = argv[i] + strlen("--" OPTION_FILE_NAME "=");
	}
	return file;
}

int option_file_read(const struct option_spec *table, int argc, char **argv, struct option_words *ret_file,
		     struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_MAX);
	struct search search = {.name = OPTION_FILE_NAME, .len = strlen(OPTION_FILE_NAME), .near = {.word = ""}};
	const char *path = named_file(argc, argv);
	_cleanup_close_ int fd = -1;
	int r;

	*ret_file = (struct option_words){};
	if (path && find_option(table, &search)) {
		fd = input_file_open(path);
		r = fd < 0 ? fd : buf_read_fd(&text, fd);
		if (r < 0)
			return why_set(why, -EIO, "cannot read %s: %s", path, input_file_error(r));
		if (memchr(buf_text(&text), '\0', text.len))
			return why_set(why, -EINVAL, "%s is no text", path);
		r = option_file_parse(buf_text(&text), path, table, ret_file, why);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < argc; i++)
		vec_push(&ret_file->words, xstrdup(argv[i]));
	/* As argv has it. */
	vec_reserve(&ret_file->words, ret_file->words.count + 1);
	ret_file->words.items[ret_file->words.count] = NULL;
	return 0;
}

void option_file_done(struct option_words *file)
{
	vec_each(&file->words, word)
		free(*word);
	vec_done(&file->words);
}
