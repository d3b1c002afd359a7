/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>

#include "base/embed.h"
#include "base/parse.h"
#include "base/text.h"
#include "diagnose/rules/certainty.h"
#include "diagnose/rules/knowledge.h"
#include "view/format.h"

#define RULES_FILE_MAX ((size_t)4 << 20)

static const char *const severities[] = {
	[SEVERITY_LOW] = "low", [SEVERITY_MEDIUM] = "medium", [SEVERITY_HIGH] = "high", [SEVERITY_INFO] = "info"};

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

static void cause_free(struct cause *cause)
{
	if (!cause)
		return;
	free(cause->name);
	free(cause->layer);
	free(cause->summary);
	free(cause->means);
	free(cause->advice);
	free(cause->blind);
	free(cause->lab);
	vec_each(&cause->next, step) {
		free(step->when);
		free(step->command);
	}
	vec_done(&cause->next);
	vec_done(&cause->explains);
	free(cause->origin);
	free(cause);
}

static void rule_free(struct rule *rule)
{
	if (!rule)
		return;
	free(rule->name);
	vec_done(&rule->suggests);
	free(rule->when_text);
	expr_free(rule->when);
	free(rule->family);
	free(rule->because);
	free(rule->origin);
	free(rule);
}

void knowledge_free(struct knowledge *knowledge)
{
	if (!knowledge)
		return;
	vec_each(&knowledge->causes, cause)
		cause_free(*cause);
	vec_each(&knowledge->rules, rule)
		rule_free(*rule);
	vec_done(&knowledge->causes);
	vec_done(&knowledge->rules);
	free(knowledge);
}

const struct cause *knowledge_find_cause(const struct knowledge *knowledge, const char *name)
{
	vec_each(&knowledge->causes, cause)
		if (strcmp((*cause)->name, name) == 0)
			return *cause;
	return NULL;
}

const struct rule *knowledge_find_rule(const struct knowledge *knowledge, const char *name)
{
	vec_each(&knowledge->rules, rule)
		if (strcmp((*rule)->name, name) == 0)
			return *rule;
	return NULL;
}

/* The word after `nest`; NULL when it is another program's command. */
static char *command_name(const char *command)
{
	return strncmp(command, "nest ", 5) == 0 ? xstrndup(command + 5, strcspn(command + 5, " ")) : NULL;
}

bool knowledge_can_run(const struct knowledge *knowledge, const char *command)
{
	_cleanup_free_ char *name = command_name(command);

	return !name || !knowledge->is_command || knowledge->is_command(name);
}

char *knowledge_in_netns(const struct knowledge *knowledge, const char *command, const char *netns)
{
	_cleanup_free_ char *name = command_name(command);

	if (!netns || !name || !knowledge->takes_netns || !knowledge->takes_netns(name))
		return xstrdup(command);
	return xasprintf("nest %s -N %s%s", name, netns, command + strlen("nest ") + strlen(name));
}

bool rule_suggests(const struct rule *rule, const struct cause *cause)
{
	vec_each(&rule->suggests, known)
		if (*known == cause)
			return true;
	return false;
}

bool cause_explains(const struct cause *cause, const struct cause *other)
{
	vec_each(&cause->explains, known)
		if (*known == other)
			return true;
	return false;
}

char *rule_causes(const struct rule *rule)
{
	struct buf text = BUF_INIT(4096);

	vec_each(&rule->suggests, cause) {
		if (text.len)
			buf_add_text(&text, ", ");
		buf_add_text(&text, (*cause)->name);
	}
	return text.data ? text.data : xstrdup("");
}

/* --- paragraphs --- */

struct line {
	char *key;
	char *value;
	size_t len, room; /* of the value; lines that continue it make it grow */
	unsigned number;
};

struct paragraph {
	char *kind; /* "cause", "rule", "page" */
	char *name;
	unsigned number;
	VEC(struct line) lines;
};

struct reader {
	struct knowledge *knowledge;
	const char *file;
	struct why *why;
	const struct paragraph *paragraph;
};

static void paragraph_done(struct paragraph *p)
{
	free(p->kind);
	free(p->name);
	vec_each(&p->lines, line) {
		free(line->key);
		free(line->value);
	}
	vec_done(&p->lines);
	*p = (struct paragraph){};
}

static int fail(const struct reader *reader, unsigned line, const char *format, ...) _printf_(3, 4);
static int fail(const struct reader *reader, unsigned line, const char *format, ...)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(2048);
	char sentence[400];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	/* It quotes the file. Line breaks are those of an expression's caret, which escapes what it quotes itself. */
	if (strchr(sentence, '\n'))
		buf_add_text(&shown, sentence);
	else
		text_add_terminal(&shown, sentence, strlen(sentence));
	return why_set(reader->why, -EINVAL, "%s:%u: %s", reader->file, line, buf_text(&shown));
}

static const struct line *find_line(const struct paragraph *p, const char *key)
{
	vec_each(&p->lines, line)
		if (strcmp(line->key, key) == 0)
			return line;
	return NULL;
}

/* The value of a line that must be there, or NULL after an error. */
static const char *need_value(const struct reader *reader, const char *key)
{
	const struct line *line = find_line(reader->paragraph, key);

	if (line && *line->value)
		return line->value;
	(void)fail(reader, reader->paragraph->number, "%s %s has no '%s'", reader->paragraph->kind,
		   reader->paragraph->name, key);
	return NULL;
}

/* Refuses keys that the paragraph's kind does not know, and those that stand twice (but for `next`). */
static int fail_key(const struct reader *reader, const struct line *line, const char *const *keys)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256);
	struct near near = {.word = line->key};

	for (const char *const *key = keys; *key; key++)
		near_consider(&near, *key);
	near_add_text(&near, &hint);
	return fail(reader, line->number, "'%.40s' is not known here%s", line->key, buf_text(&hint));
}

static int check_keys(const struct reader *reader, const char *const *keys)
{
	vec_each(&reader->paragraph->lines, line) {
		bool known = false;

		for (const char *const *key = keys; !known && *key; key++)
			known = strcmp(*key, line->key) == 0;
		if (!known)
			return fail_key(reader, line, keys);
		if (find_line(reader->paragraph, line->key) != line && strcmp(line->key, "next") != 0)
			return fail(reader, line->number, "'%s' is given twice", line->key);
	}
	return 0;
}

/* Every {name} must be a field of the shape. */
static int check_template(const struct reader *reader, const char *template, const struct shape *shape)
{
	for (const char *p = strchr(template, '{'); p; p = strchr(p + 1, '{')) {
		size_t n = strcspn(p + 1, "}");
		_cleanup_free_ char *name = xstrndup(p + 1, n);
		struct field_ref ref;

		if (p[1 + n] != '}')
			return fail(reader, reader->paragraph->number, "a { is never closed in %s",
				    reader->paragraph->name);
		if (shape_find(shape, name, &ref) < 0)
			return fail(reader, reader->paragraph->number, "{%s} is not a measure of what rule %s is about",
				    name, reader->paragraph->name);
	}
	return 0;
}

/* --- causes --- */

static bool has_open_brace(const char *text)
{
	const char *open = strrchr(text, '{');

	return open && !strchr(open, '}');
}

/* The condition is over the measures of the module that the evidence is about, of whatever kind that is. */
static bool is_understood(const char *when, struct why *why)
{
	for (unsigned kind = 0; kind < MODULE_KINDS; kind++) {
		const struct module_scope *scope = module_scope_find((enum module_kind)kind);
		_cleanup_(expr_freep) struct expr *expr = NULL;
		struct shape shape;

		if (!scope)
			continue;
		shape = module_scope_shape(scope);
		if (expr_parse(when, &shape, &expr, why) == 0)
			return true;
	}
	return false;
}

static int check_condition(const struct reader *reader, const struct line *line, const char *when)
{
	struct why why = {};

	/* The reason takes a search for similar names: only when it is needed. */
	if (is_understood(when, NULL) || is_understood(when, &why))
		return 0;
	return fail(reader, line->number, "[%s]: %s", when, why.text);
}

static int read_next(const struct reader *reader, const struct line *line, struct cause *cause)
{
	const char *command = line->value, *end = strchr(command, ']');
	struct next_step *step;

	if (has_open_brace(command))
		return fail(reader, line->number, "a { is never closed");
	if (*command == '[' && !end)
		return fail(reader, line->number, "a [ is never closed");
	step = vec_add(&cause->next);
	if (*command == '[') {
		step->when = xstrndup(command + 1, (size_t)(end - command) - 1);
		command = end + 1 + strspn(end + 1, " ");
	}
	step->command = xstrdup(command);
	if (!*command)
		return fail(reader, line->number, "there is no command");
	return step->when ? check_condition(reader, line, step->when) : 0;
}

static int read_cause(const struct reader *reader, struct cause *cause)
{
	static const char *const keys[] = {"layer", "accuses", "severity", "summary", "means", "advice", "next", NULL};
	const char *layer, *accuses, *severity, *summary, *means, *advice;
	int r = check_keys(reader, keys);

	if (r < 0)
		return r;
	if (!(layer = need_value(reader, "layer")) || !(accuses = need_value(reader, "accuses")) ||
	    !(severity = need_value(reader, "severity")) || !(summary = need_value(reader, "summary")) ||
	    !(means = need_value(reader, "means")) || !(advice = need_value(reader, "advice")))
		return -EINVAL;
	if (module_kind_find(accuses, &cause->accuses) < 0)
		return fail(reader, reader->paragraph->number, "there is no kind of module called '%s'", accuses);
	for (cause->severity = SEVERITY_LOW; cause->severity <= SEVERITY_HIGH; cause->severity++)
		if (strcmp(severities[cause->severity], severity) == 0)
			break;
	if (cause->severity > SEVERITY_HIGH)
		return fail(reader, reader->paragraph->number, "severity is low, medium or high, not '%s'", severity);
	if (has_open_brace(advice))
		return fail(reader, find_line(reader->paragraph, "advice")->number, "a { is never closed");
	cause->layer = xstrdup(layer);
	cause->summary = xstrdup(summary);
	cause->means = xstrdup(means);
	cause->advice = xstrdup(advice);
	vec_each(&reader->paragraph->lines, line) {
		r = strcmp(line->key, "next") == 0 ? read_next(reader, line, cause) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_cause(const struct reader *reader)
{
	struct cause *cause;
	int r;

	if (knowledge_find_cause(reader->knowledge, reader->paragraph->name))
		return fail(reader, reader->paragraph->number, "cause %s exists already", reader->paragraph->name);
	cause = xzalloc(sizeof(*cause));
	cause->name = xstrdup(reader->paragraph->name);
	cause->origin = xasprintf("%s:%u", reader->file, reader->paragraph->number);
	r = read_cause(reader, cause);
	if (r < 0)
		cause_free(cause);
	else
		vec_push(&reader->knowledge->causes, cause);
	return r;
}

static int no_such_cause(const struct reader *reader, const struct line *line, const char *name)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256);
	struct near near = {.word = name};

	vec_each(&reader->knowledge->causes, cause)
		near_consider(&near, (*cause)->name);
	near_add_text(&near, &hint);
	return fail(reader, line->number, "there is no cause '%.60s'%s", name, buf_text(&hint));
}

/* The next of one name, or of several with commas between them; NULL after the last. */
static int next_cause(const struct reader *reader, const struct line *line, const char **names,
		      const struct cause **ret_cause)
{
	size_t n = strcspn(*names, ",");
	_cleanup_free_ char *name = xstrndup(*names, n);

	*ret_cause = knowledge_find_cause(reader->knowledge, name);
	if (!*ret_cause)
		return no_such_cause(reader, line, name);
	*names = (*names)[n] ? *names + n + 1 + strspn(*names + n + 1, " ") : NULL;
	return 0;
}

static int read_explained(const struct reader *reader, const struct line *line, struct cause *cause)
{
	const char *names = line->value;

	while (names) {
		const struct cause *explained;
		int r = next_cause(reader, line, &names, &explained);

		if (r < 0)
			return r;
		if (explained == cause || cause_explains(explained, cause))
			return fail(reader, line->number, "%s and %s explain each other", cause->name, explained->name);
		vec_push(&cause->explains, explained);
	}
	return 0;
}

/* What a page says beside its meaning and advice; the cause stands before it. */
static int add_page(const struct reader *reader)
{
	static const char *const keys[] = {"blind", "lab", "explains", NULL};
	struct cause *cause = NULL;
	const struct line *lab, *explains;
	const char *blind;
	int r = check_keys(reader, keys);

	if (r < 0)
		return r;
	vec_each(&reader->knowledge->causes, at)
		if (strcmp((*at)->name, reader->paragraph->name) == 0)
			cause = *at;
	if (!cause)
		return fail(reader, reader->paragraph->number, "there is no cause '%s' for this page",
			    reader->paragraph->name);
	if (cause->blind)
		return fail(reader, reader->paragraph->number, "cause %s has a page already", cause->name);
	blind = need_value(reader, "blind");
	if (!blind)
		return -EINVAL;
	lab = find_line(reader->paragraph, "lab");
	cause->blind = xstrdup(blind);
	cause->lab = lab && *lab->value ? xstrdup(lab->value) : NULL;
	explains = find_line(reader->paragraph, "explains");
	return explains ? read_explained(reader, explains, cause) : 0;
}

/* --- rules --- */

static int read_rule_target(const struct reader *reader, struct rule *rule)
{
	const char *suggests, *certainty;

	if (!(suggests = need_value(reader, "suggests")) || !(certainty = need_value(reader, "certainty")))
		return -EINVAL;
	while (suggests) {
		const struct cause *cause;
		int r = next_cause(reader, find_line(reader->paragraph, "suggests"), &suggests, &cause);

		if (r < 0)
			return r;
		vec_push(&rule->suggests, cause);
	}
	if (parse_double(certainty, -1, 1, &rule->certainty) < 0 || rule->certainty == 0)
		return fail(reader, find_line(reader->paragraph, "certainty")->number,
			    "certainty is a number from -1 to 1 and not 0");
	/* Only a fact seen directly is certain; everything else leaves room for doubt. */
	if (fabs(rule->certainty) < 1)
		rule->certainty = fmax(-CERTAINTY_CLAMP, fmin(CERTAINTY_CLAMP, rule->certainty));
	return 0;
}

/* Evidence against a cause may leave a note of it: it is there, and costs nothing. */
static int read_rule_severity(const struct reader *reader, struct rule *rule)
{
	const struct line *severity = find_line(reader->paragraph, "severity");

	if (!severity)
		return 0;
	if (strcmp(severity->value, "info") != 0 || rule->certainty > 0)
		return fail(reader, severity->number, "the severity of a rule is info, and its certainty negative");
	rule->leaves_note = true;
	return 0;
}

static int read_rule(const struct reader *reader, struct rule *rule)
{
	static const char *const keys[] = {"about",  "when",    "suggests", "certainty",
					   "family", "because", "severity", NULL};
	const char *about, *when, *family, *because;
	enum module_kind kind;
	struct shape shape;
	struct why reason = {};
	int r = check_keys(reader, keys);

	if (r < 0)
		return r;
	if (!(about = need_value(reader, "about")) || !(when = need_value(reader, "when")) ||
	    !(family = need_value(reader, "family")) || !(because = need_value(reader, "because")))
		return -EINVAL;
	if (module_kind_find(about, &kind) == 0)
		rule->about = module_scope_find(kind);
	if (!rule->about)
		return fail(reader, find_line(reader->paragraph, "about")->number, "there are no measures of '%.40s'",
			    about);
	shape = module_scope_shape(rule->about);
	rule->when_text = xstrdup(when);
	rule->family = xstrdup(family);
	rule->because = xstrdup(because);
	if (expr_parse(when, &shape, &rule->when, &reason) < 0)
		return fail(reader, find_line(reader->paragraph, "when")->number, "%s", reason.text);
	r = check_template(reader, because, &shape);
	if (r < 0)
		return r;
	r = read_rule_target(reader, rule);
	return r < 0 ? r : read_rule_severity(reader, rule);
}

static int add_rule(const struct reader *reader)
{
	struct rule *rule;
	int r;

	if (knowledge_find_rule(reader->knowledge, reader->paragraph->name))
		return fail(reader, reader->paragraph->number, "rule %s exists already", reader->paragraph->name);
	rule = xzalloc(sizeof(*rule));
	rule->name = xstrdup(reader->paragraph->name);
	rule->origin = xasprintf("%s:%u", reader->file, reader->paragraph->number);
	r = read_rule(reader, rule);
	if (r < 0)
		rule_free(rule);
	else
		vec_push(&reader->knowledge->rules, rule);
	return r;
}

/* --- text --- */

static int end_paragraph(struct reader *reader, struct paragraph *p)
{
	int r = 0;

	reader->paragraph = p;
	if (!p->kind)
		return 0;
	if (strcmp(p->kind, "cause") == 0)
		r = add_cause(reader);
	else if (strcmp(p->kind, "page") == 0)
		r = add_page(reader);
	else
		r = add_rule(reader);
	paragraph_done(p);
	return r;
}

static bool is_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '-')
			return false;
	return n > 0 && n <= 60;
}

/* "rule some-name" */
static int begin_paragraph(struct reader *reader, struct paragraph *p, const char *line, size_t n, unsigned number)
{
	size_t kind_len = strcspn(line, " ");

	if (kind_len >= n ||
	    (strncmp(line, "rule ", 5) != 0 && strncmp(line, "cause ", 6) != 0 && strncmp(line, "page ", 5) != 0))
		return fail(reader, number, "a paragraph begins with 'cause NAME', 'rule NAME' or 'page NAME'");
	if (!is_name(line + kind_len + 1, n - kind_len - 1))
		return fail(reader, number, "a name consists of lowercase letters, digits and dashes");
	p->kind = xstrndup(line, kind_len);
	p->name = xstrndup(line + kind_len + 1, n - kind_len - 1);
	p->number = number;
	return 0;
}

/* Doubles the room, so that a value of very many lines does not take quadratic time. */
static void continue_value(struct line *line, const char *text, size_t n)
{
	if (line->len + n + 2 > line->room) {
		line->room = 2 * (line->len + n + 2);
		line->value = xrealloc(line->value, line->room);
	}
	if (line->len > 0)
		line->value[line->len++] = ' ';
	memcpy(line->value + line->len, text, n);
	line->len += n;
	line->value[line->len] = '\0';
}

static int read_line(struct reader *reader, struct paragraph *p, const char *line, size_t n, unsigned number)
{
	const char *colon = memchr(line, ':', n);
	struct line *last;

	while (n > 0 && isspace((unsigned char)line[n - 1]))
		n--;
	if (n == 0)
		return end_paragraph(reader, p);
	if (line[0] == '#')
		return 0;
	if (!p->kind)
		return begin_paragraph(reader, p, line, n, number);
	if (isspace((unsigned char)line[0])) {
		size_t skip = strspn(line, " \t");

		if (p->lines.count == 0)
			return fail(reader, number, "there is no line before this one to continue");
		continue_value(&p->lines.items[p->lines.count - 1], line + skip, n - skip);
		return 0;
	}
	if (!colon)
		return fail(reader, number, "expected 'key: value'");
	last = vec_add(&p->lines);
	last->key = xstrndup(line, (size_t)(colon - line));
	colon += 1 + strspn(colon + 1, " \t");
	last->value = colon < line + n ? xstrndup(colon, (size_t)(line + n - colon)) : xstrdup("");
	last->len = strlen(last->value);
	last->number = number;
	return 0;
}

int knowledge_add_text(struct knowledge *knowledge, const char *name, const char *text, struct why *why)
{
	struct reader reader = {.knowledge = knowledge, .file = name, .why = why};
	_cleanup_(paragraph_done) struct paragraph paragraph = {};
	unsigned number = 0;

	if (strlen(text) > RULES_FILE_MAX)
		return why_set(why, -EINVAL, "%s: longer than %zu bytes", name, RULES_FILE_MAX);
	while (*text) {
		size_t n = strcspn(text, "\n");
		int r = read_line(&reader, &paragraph, text, n, ++number);

		if (r < 0)
			return r;
		text += n + (text[n] == '\n');
	}
	return end_paragraph(&reader, &paragraph);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_rules_file(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 6 && strcmp(name + n - 6, ".rules") == 0;
}

static int add_file(struct knowledge *knowledge, const char *path, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(RULES_FILE_MAX);
	int r = buf_read_file(&text, path);

	if (r < 0)
		return why_set(why, -EIO, "cannot read %s: %s", path, strerror(-r));
	if (memchr(buf_text(&text), '\0', text.len))
		return why_set(why, -EINVAL, "%s: not a text file", path);
	return knowledge_add_text(knowledge, path, buf_text(&text), why);
}

int knowledge_add_dir(struct knowledge *knowledge, const char *dir, struct why *why)
{
	DIR *handle = opendir(dir);
	VEC(char *) paths = {};
	struct dirent *entry;
	int r = 0;

	if (!handle)
		return why_set(why, -EIO, "cannot read the rules in %s: %s", dir, strerror(errno));
	while ((entry = readdir(handle)))
		if (is_rules_file(entry->d_name))
			vec_push(&paths, xasprintf("%s/%s", dir, entry->d_name));
	closedir(handle);
	if (paths.count == 0)
		r = why_set(why, -ENOENT, "there is no *.rules file in %s", dir);
	vec_sort(&paths, by_text);
	vec_each(&paths, path) {
		if (r == 0)
			r = add_file(knowledge, *path, why);
		free(*path);
	}
	vec_done(&paths);
	return r;
}

/* Causes first, because rules refer to them. */
static int by_file_name(const void *a, const void *b)
{
	const char *x = (*(const struct embedded_file *const *)a)->name,
		   *y = (*(const struct embedded_file *const *)b)->name;
	bool x_first = strcmp(x, "causes.rules") == 0, y_first = strcmp(y, "causes.rules") == 0;

	return x_first != y_first ? (int)y_first - (int)x_first : strcmp(x, y);
}

int knowledge_load(struct knowledge **ret_knowledge, struct why *why)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = xzalloc(sizeof(*knowledge));
	VEC(const struct embedded_file *) files = {};
	int r = 0;

	registry_each(embedded_file, file)
		if (is_rules_file((*file)->name))
			vec_push(&files, *file);
	vec_sort(&files, by_file_name);
	vec_each(&files, file) {
		_cleanup_free_ char *text =
			xstrndup((const char *)(*file)->begin, (size_t)((*file)->end - (*file)->begin));

		if (r == 0)
			r = knowledge_add_text(knowledge, (*file)->name, text, why);
	}
	vec_done(&files);
	if (r < 0)
		return r;
	*ret_knowledge = take_ptr(knowledge);
	return 0;
}

/* What an advice calls a value that is not known. */
static const char *placeholder(const char *name)
{
	static const char *const words[][2] = {{"pid", "PID"},         {"dev", "DEV"},    {"lport", "PORT"},
					       {"rport", "PORT"},      {"raddr", "ADDR"}, {"tunnel_pid", "PID"},
					       {"gateway", "GATEWAY"}, {"laddr", "ADDR"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i][0], name) == 0)
			return words[i][1];
	return "-";
}

static bool fill(const char *template, const struct shape *shape, const struct record *record, bool words,
		 struct buf *out)
{
	bool complete = true;

	while (*template) {
		size_t n = strcspn(template, "{");
		_cleanup_free_ char *name = NULL;
		struct value value = {.class = VALUE_UNKNOWN};
		struct field_ref ref;

		buf_add(out, template, n);
		template += n;
		if (!*template)
			break;
		n = strcspn(template, "}");
		name = xstrndup(template + 1, n - 1);
		if (shape && template[n] == '}' && shape_find(shape, name, &ref) == 0)
			value = record_get(record, ref);
		if (value.class == VALUE_UNKNOWN)
			buf_add_text(out, words ? placeholder(name) : "-");
		else
			format_add_value(out, ref.field, &value);
		complete = complete && value.class != VALUE_UNKNOWN;
		template += n + (template[n] == '}');
		if (value.class == VALUE_UINT && value.uint == 1 && ref.field->kind == KIND_COUNT)
			template = format_add_singular(out, template);
	}
	return complete;
}

bool knowledge_fill(const char *template, const struct shape *shape, const struct record *record, struct buf *out)
{
	return fill(template, shape, record, false, out);
}

void knowledge_fill_words(const char *template, const struct shape *shape, const struct record *record, struct buf *out)
{
	(void)fill(template, shape, record, true, out);
}
