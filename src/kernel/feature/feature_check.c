/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "kernel/feature/feature_check.h"

static const struct enum_name state_names[] = {
	{CHECK_OK, "ok", "available, and tested where a test is possible"},
	{CHECK_LIMITED, "limited", "partly available"},
	{CHECK_MISSING, "missing", "not available or refused"},
	{CHECK_UNKNOWN, "unknown", "could not be checked"},
};

static struct enum_names check_state_names = {.items = state_names, .count = ARRAY_SIZE(state_names)};

static const struct field check_fields[] = {
	FIELD(struct check, check, TEXT, "name of the check"),
	FIELD(struct check, group, TEXT, "group of the check"),
	FIELD(struct check, state, ENUM, "result", .names = &check_state_names),
	FIELD(struct check, detail, TEXT, "what was found, or why it is not available"),
	FIELD(struct check, without, TEXT, "what is lost without it"),
	FIELD(struct check, how, TEXT, "how to get it"),
};
RECORD_TYPE(check_type, "check", struct check, check_fields, "result of one check of nest doctor");

void check_list_done(struct check_list *list)
{
	vec_done(&list->checks);
}

const struct check *check_find(const struct check_list *list, const char *name)
{
	vec_each(&list->checks, check)
		if (strcmp(check->check, name) == 0)
			return check;
	return NULL;
}

/* Removes a UTF-8 sequence truncated at the end. */
static void trim_broken_end(char *text)
{
	size_t len = strlen(text), start = len;

	while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && (unsigned char)text[start - 1] >= 0xc0 &&
	    text_decode_utf8(text + start - 1, len - start + 1, NULL) == 0)
		text[start - 1] = '\0';
}

static void set_text(char *text, size_t size, const char *format, va_list args)
{
	if (vsnprintf(text, size, format, args) >= (int)size)
		trim_broken_end(text);
}

struct check *check_add(struct check_list *list, const char *group, const char *name)
{
	struct check *check = vec_add(&list->checks);

	snprintf(check->check, sizeof(check->check), "%s", name);
	snprintf(check->group, sizeof(check->group), "%s", group);
	check->state = CHECK_UNKNOWN;
	return check;
}

void check_result(struct check *check, enum check_state state, const char *format, ...)
{
	va_list args;

	check->state = (uint8_t)state;
	va_start(args, format);
	set_text(check->detail, sizeof(check->detail), format, args);
	va_end(args);
}

static void terminate(char *text, size_t size)
{
	text[size - 1] = '\0';
	trim_broken_end(text);
}

void check_terminate(struct check *check)
{
	terminate(check->check, sizeof(check->check));
	terminate(check->group, sizeof(check->group));
	terminate(check->detail, sizeof(check->detail));
	terminate(check->without, sizeof(check->without));
	terminate(check->how, sizeof(check->how));
}

void check_advise(struct check *check, const char *without, const char *format, ...)
{
	va_list args;

	if (check->state == CHECK_OK)
		return;
	snprintf(check->without, sizeof(check->without), "%s", without);
	va_start(args, format);
	set_text(check->how, sizeof(check->how), format, args);
	va_end(args);
}

const char *check_error_words(int error)
{
	static char text[128];
	const char *name = enum_name_find(&errno_names, (uint64_t)-error);

	if (name)
		snprintf(text, sizeof(text), "%s (%s)", name, enum_describe_errno(-error));
	else
		snprintf(text, sizeof(text), "error %d", -error);
	return text;
}
