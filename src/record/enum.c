/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names to numbers and back. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "record/field.h"

const struct enum_names *enum_names_get(struct enum_names *names)
{
	if (!names->items && names->load)
		names->load(names);
	return names;
}

const char *enum_name_find(struct enum_names *names, uint64_t value)
{
	(void)enum_names_get(names);
	/* Most tables are dense and start at 0. */
	if (value < names->count && names->items[value].value == value)
		return names->items[value].name;
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].value == value)
			return names->items[i].name;
	return NULL;
}

static char fold(char c)
{
	return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

bool enum_same_word(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b)) {
		a++;
		b++;
	}
	return *a == '\0' && *b == '\0';
}

int enum_value_find(struct enum_names *names, const char *name, uint64_t *ret_value)
{
	(void)enum_names_get(names);
	/* Some names differ only by case (process states), so try the exact one first. */
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i].name, name) == 0) {
			*ret_value = names->items[i].value;
			return 0;
		}
	for (size_t i = 0; i < names->count; i++)
		if (enum_same_word(names->items[i].name, name)) {
			*ret_value = names->items[i].value;
			return 0;
		}
	return -ENOENT;
}

/* Limit for untrusted files; far more than any kernel adds. */
#define LEARN_MAX 1024
#define NAME_MAX  64

int enum_value_learn(struct enum_names *names, const char *name, uint64_t max, uint64_t *ret_value)
{
	static unsigned learned;
	struct enum_name *items;
	uint64_t value = 0;

	if (enum_value_find(names, name, ret_value) == 0)
		return 0;
	for (size_t i = 0; i < names->count; i++)
		value = max_of(value, names->items[i].value + 1);
	if (learned == LEARN_MAX || value > max || strnlen(name, NAME_MAX + 1) > NAME_MAX)
		return -ENOSPC;
	/* Never freed: records point at the names. */
	items = xrealloc_array(NULL, names->count + 1, sizeof(*items));
	if (names->count)
		memcpy(items, names->items, names->count * sizeof(*items));
	items[names->count] = (struct enum_name){.value = value, .name = xstrdup(name)};
	if (names->learned)
		free((void *)names->items);
	names->items = items;
	names->learned = true;
	names->count++;
	learned++;
	*ret_value = value;
	return 0;
}

#define ERRNO_MAX 255

/* From the C library, plus codes that are internal to the kernel and escape from it at times. */
static void load_errno_names(struct enum_names *names)
{
	static const struct enum_name again[] = {
		{512, "ERESTARTSYS", "interrupted by a signal; restarted if its handler has SA_RESTART"},
		{513, "ERESTARTNOINTR", "interrupted by a signal; always restarted"},
		{514, "ERESTARTNOHAND", "interrupted by a signal; restarted if it has no handler"},
		{516, "ERESTART_RESTARTBLOCK", "interrupted by a signal; restarted with the remaining time"},
		{517, "EPROBE_DEFER", "the driver requests a retry"},
		{524, "ENOTSUPP", "not supported by this kernel"},
	};
	static struct enum_name items[ERRNO_MAX + ARRAY_SIZE(again)];

	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = strerrorname_np(i);

		if (name)
			items[names->count++] = (struct enum_name){(uint64_t)i, name, strerrordesc_np(i)};
	}
	memcpy(&items[names->count], again, sizeof(again));
	names->count += ARRAY_SIZE(again);
	names->items = items;
}

struct enum_names errno_names = {.load = load_errno_names};

const char *enum_describe_errno(int error)
{
	const struct enum_names *names = enum_names_get(&errno_names);

	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].value == (uint64_t)error)
			return names->items[i].help;
	return strerror(error);
}
