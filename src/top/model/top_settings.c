/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/model/top_settings.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/vec.h"

#define NAME_BYTES  64
#define VALUE_BYTES 1024
#define FILE_NAME   "top"

void top_settings_init(struct top_settings *settings)
{
	settings->values = MAP_INIT(0, sizeof(char *), SETTINGS_MAX);
}

void top_settings_done(struct top_settings *settings)
{
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&settings->values, &at, &key, &value))
		free(*(char **)value);
	map_done(&settings->values);
}

void top_settings_set(struct top_settings *settings, const char *name, const char *value)
{
	char **slot = map_put(&settings->values, name, NULL);

	if (!slot)
		return;
	free(*slot);
	*slot = xstrdup(value);
}

const char *top_settings_get(const struct top_settings *settings, const char *name)
{
	char **slot = map_get(&settings->values, name);

	return slot ? *slot : NULL;
}

/* Without blanks around it; false: longer than max, or not printable. */
static bool trim(const char *text, size_t len, size_t max, char *out)
{
	while (len > 0 && (text[0] == ' ' || text[0] == '\t')) {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	if (len >= max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] == 127)
			return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

void top_settings_parse(struct top_settings *settings, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text)) ?: end;
		const char *equals = memchr(text, '=', (size_t)(next - text));
		char name[NAME_BYTES], value[VALUE_BYTES];

		if (*text != '#' && equals && trim(text, (size_t)(equals - text), sizeof(name), name) &&
		    trim(equals + 1, (size_t)(next - equals - 1), sizeof(value), value) && *name)
			top_settings_set(settings, name, value);
		text = next + 1;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void top_settings_add_text(const struct top_settings *settings, struct buf *out)
{
	VEC(const char *) names = {};
	const void *key;
	size_t at = 0;
	void *value;

	buf_add_text(out, "# nest top: written when it ends\n");
	while (map_next(&settings->values, &at, &key, &value))
		vec_push(&names, key);
	vec_sort(&names, by_name);
	vec_each(&names, name)
		buf_add_format(out, "%s = %s\n", *name, top_settings_get(settings, *name));
	vec_done(&names);
}

/* NULL: there is no home. */
static char *directory(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && *config == '/')
		return xasprintf("%s/nest", config);
	return home && *home == '/' ? xasprintf("%s/.config/nest", home) : NULL;
}

void top_settings_load(struct top_settings *settings)
{
	_cleanup_free_ char *dir = directory();
	_cleanup_free_ char *path = dir ? xasprintf("%s/%s", dir, FILE_NAME) : NULL;
	_cleanup_buf_ struct buf text = BUF_INIT(SETTINGS_BYTES_MAX);

	if (path && buf_read_file(&text, path) == 0 && text.len > 0)
		top_settings_parse(settings, text.data, text.len);
}

int top_settings_save(const struct top_settings *settings, struct why *why)
{
	_cleanup_free_ char *dir = directory();
	_cleanup_buf_ struct buf text = BUF_INIT(SETTINGS_BYTES_MAX);
	int r = dir ? files_make_dirs(dir, why) : why_set(why, -ENOENT, "no home directory to keep settings in");

	top_settings_add_text(settings, &text);
	return r < 0 ? r : files_write(dir, FILE_NAME, &text, why);
}
