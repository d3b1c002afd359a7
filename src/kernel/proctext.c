/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "kernel/proctext.h"

bool proctext_line(const char **text, const char **ret_line, size_t *ret_len)
{
	size_t n;

	if (!**text)
		return false;
	n = strcspn(*text, "\n");
	*ret_line = *text;
	*ret_len = n;
	*text += n + ((*text)[n] == '\n');
	return true;
}

static bool has_prefix(const char *line, size_t n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n >= len && memcmp(line, prefix, len) == 0;
}

static int copy_word(const char *word, size_t n, char *out, size_t size)
{
	if (n >= size)
		return -E2BIG;
	memcpy(out, word, n);
	out[n] = '\0';
	return 0;
}

/* Word `index` of a line, from 0; words are separated by one or more blanks. */
static bool nth_word(const char *line, size_t n, unsigned index, const char **ret_word, size_t *ret_len)
{
	size_t at = 0;

	for (unsigned i = 0;; i++) {
		size_t start;

		while (at < n && line[at] == ' ')
			at++;
		start = at;
		while (at < n && line[at] != ' ')
			at++;
		if (at == start)
			return false;
		if (i == index) {
			*ret_word = line + start;
			*ret_len = at - start;
			return true;
		}
	}
}

enum config_state proctext_config(const char *text, const char *option)
{
	size_t len = strlen(option), n;
	const char *line;
	bool seen = false;

	while (proctext_line(&text, &line, &n)) {
		if (has_prefix(line, n, "# CONFIG_"))
			seen = true;
		if (!has_prefix(line, n, "CONFIG_"))
			continue;
		seen = true;
		if (!has_prefix(line, n, option) || n < len + 2 || line[len] != '=')
			continue;
		if (line[len + 1] == 'm')
			return CONFIG_MODULE;
		return line[len + 1] == 'n' ? CONFIG_OFF : CONFIG_ON;
	}
	return seen ? CONFIG_OFF : CONFIG_UNKNOWN;
}

/* A line of mountinfo: 36 35 98:0 /root /mount options [optional ...] - type source super-options */
struct mount_line {
	const char *path, *type, *options;
	size_t path_len, type_len, options_len;
};

static bool parse_mount(const char *line, size_t n, struct mount_line *ret_mount)
{
	const char *dash = memmem(line, n, " - ", 3);
	const char *rest;
	size_t rest_len;

	if (!dash || !nth_word(line, (size_t)(dash - line), 4, &ret_mount->path, &ret_mount->path_len))
		return false;
	rest = dash + 3;
	rest_len = n - (size_t)(rest - line);
	return nth_word(rest, rest_len, 0, &ret_mount->type, &ret_mount->type_len) &&
	       nth_word(rest, rest_len, 2, &ret_mount->options, &ret_mount->options_len);
}

static bool is_word(const char *word, size_t n, const char *expected)
{
	return n == strlen(expected) && memcmp(word, expected, n) == 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel escapes blanks, tabs, newlines and backslashes of a path as \ooo. */
static int copy_mount_path(const char *path, size_t n, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		char c = path[i];

		if (c == '\\' && i + 3 < n && is_octal(path[i + 1]) && is_octal(path[i + 2]) && is_octal(path[i + 3])) {
			c = (char)((path[i + 1] - '0') << 6 | (path[i + 2] - '0') << 3 | (path[i + 3] - '0'));
			i += 3;
		}
		if (len + 1 >= size)
			return -E2BIG;
		out[len++] = c;
	}
	out[len] = '\0';
	return 0;
}

int proctext_cgroup2_mount(const char *mountinfo, char *path, size_t size)
{
	struct mount_line mount;
	const char *line;
	size_t n;

	while (proctext_line(&mountinfo, &line, &n))
		if (parse_mount(line, n, &mount) && is_word(mount.type, mount.type_len, "cgroup2"))
			return copy_mount_path(mount.path, mount.path_len, path, size);
	return -ENODATA;
}

/* Whether a super option is a controller. */
static bool is_controller(const char *word, size_t n)
{
	static const char *const others[] = {"rw", "ro", "xattr", "clone_children", "cpuset_v2_mode", "none"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (is_word(word, n, others[i]))
			return false;
	return n > 0 && !memchr(word, '=', n);
}

void proctext_cgroup1_controllers(const char *mountinfo, char *controllers, size_t size)
{
	struct mount_line mount;
	const char *line;
	size_t n, len = 0;

	controllers[0] = '\0';
	while (proctext_line(&mountinfo, &line, &n)) {
		if (!parse_mount(line, n, &mount) || !is_word(mount.type, mount.type_len, "cgroup"))
			continue;
		for (size_t at = 0; at < mount.options_len;) {
			const char *word = mount.options + at, *comma = memchr(word, ',', mount.options_len - at);
			size_t word_len = comma ? (size_t)(comma - word) : mount.options_len - at;

			at += word_len + 1;
			if (!is_controller(word, word_len) || len + word_len + 2 > size)
				continue;
			if (len > 0)
				controllers[len++] = ',';
			memcpy(controllers + len, word, word_len);
			len += word_len;
			controllers[len] = '\0';
		}
	}
}

int proctext_cgroup2_own(const char *cgroup, char *path, size_t size)
{
	const char *line;
	size_t n;

	while (proctext_line(&cgroup, &line, &n))
		if (has_prefix(line, n, "0::/"))
			return copy_word(line + 3, n - 3, path, size);
	return -ENODATA;
}

int proctext_bracketed(const char *text, char *word, size_t size)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close || close == open + 1)
		return -ENODATA;
	return copy_word(open + 1, (size_t)(close - open - 1), word, size);
}

/* "ffffffff81000000 T name": number of leading hexadecimal digits, or 0 for another line. */
static size_t symbol_digits(const char *line, size_t n)
{
	size_t digits = 0;

	while (digits < n && isxdigit((unsigned char)line[digits]))
		digits++;
	if (digits < 8 || digits + 4 > n || line[digits] != ' ' || line[digits + 2] != ' ')
		return 0;
	return digits;
}

int proctext_kallsyms_shown(const char *text)
{
	const char *line;
	bool seen = false;
	size_t n;

	while (proctext_line(&text, &line, &n)) {
		size_t digits = symbol_digits(line, n);

		if (digits == 0)
			continue;
		seen = true;
		if (strspn(line, "0") < digits)
			return 1;
	}
	return seen ? 0 : -ENODATA;
}

int proctext_pressure(const char *text, double *ret_avg10)
{
	const char *line;
	size_t n;

	while (proctext_line(&text, &line, &n)) {
		const char *word;
		char number[32];
		size_t len;

		if (!has_prefix(line, n, "some ") || !nth_word(line, n, 1, &word, &len) ||
		    !has_prefix(word, len, "avg10="))
			continue;
		if (copy_word(word + 6, len - 6, number, sizeof(number)) < 0)
			return -ENODATA;
		return parse_double(number, 0, 100, ret_avg10) < 0 ? -ENODATA : 0;
	}
	return -ENODATA;
}

int proctext_number(const char *text, int64_t *ret_value)
{
	char number[32];
	size_t n;

	text += strspn(text, " \t\n");
	n = strcspn(text, " \t\n");
	if (n == 0 || text[n + strspn(text + n, " \t\n")] != '\0' || copy_word(text, n, number, sizeof(number)) < 0)
		return -ENODATA;
	return parse_i64(number, INT64_MIN, INT64_MAX, ret_value) < 0 ? -ENODATA : 0;
}

int proctext_schedstat(const char *text, struct proctext_run *ret_run)
{
	uint64_t numbers[3];

	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		size_t n = strspn(text, "0123456789");
		char number[24];

		if (n == 0 || copy_word(text, n, number, sizeof(number)) < 0 ||
		    parse_decimal(number, 0, UINT64_MAX, &numbers[i]) < 0)
			return -ENODATA;
		text += n + (text[n] == ' ' || text[n] == '\n');
	}
	if (*text)
		return -ENODATA;
	*ret_run = (struct proctext_run){.ran_ns = numbers[0], .times = numbers[2]};
	return 0;
}

unsigned proctext_release(const char *release)
{
	uint64_t numbers[2];

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strspn(release, "0123456789");
		char number[8];

		if (copy_word(release, n, number, sizeof(number)) < 0 || parse_u64(number, 0, 999, &numbers[i]) < 0)
			return 0;
		release += n;
		if (i == 0 && *release++ != '.')
			return 0;
	}
	return (unsigned)(numbers[0] * 1000 + numbers[1]);
}
