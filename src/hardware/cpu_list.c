/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hardware/cpu_list.h"

#include <string.h>

void cpu_list_add(struct cpu_list *list, unsigned cpu)
{
	if (cpu < CPU_LIST_MAX)
		list->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
	return cpu < CPU_LIST_MAX && list->bits[cpu / 64] >> cpu % 64 & 1;
}

static const char *read_number(const char *text, unsigned *ret_value)
{
	unsigned value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (unsigned)(*at - '0');
		if (value >= CPU_LIST_MAX)
			return NULL;
	}
	*ret_value = value;
	return at == text ? NULL : at;
}

bool cpu_list_parse(const char *text, struct cpu_list *ret_list)
{
	struct cpu_list list = {};
	const char *at = text;

	*ret_list = list;
	while (*at && *at != '\n') {
		unsigned first, last;

		at = read_number(at, &first);
		if (!at)
			return false;
		last = first;
		if (*at == '-') {
			at = read_number(at + 1, &last);
			if (!at || last < first)
				return false;
		}
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpu_list_add(&list, cpu);
		if (*at == ',')
			at++;
		else if (*at && *at != '\n')
			return false;
	}
	*ret_list = list;
	return true;
}

bool cpu_list_parse_mask(const char *text, struct cpu_list *ret_list)
{
	size_t len = strcspn(text, "\n");
	struct cpu_list list = {};
	unsigned bit = 0;

	*ret_list = list;
	if (len == 0)
		return false;
	for (size_t i = len; i-- > 0;) {
		char c = text[i];
		unsigned digit;

		if (c == ',')
			continue;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return false;
		for (unsigned k = 0; k < 4; k++)
			if (digit >> k & 1)
				cpu_list_add(&list, bit + k);
		bit += 4;
	}
	*ret_list = list;
	return true;
}

unsigned cpu_list_count(const struct cpu_list *list)
{
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(list->bits); i++)
		count += (unsigned)__builtin_popcountll(list->bits[i]);
	return count;
}

bool cpu_list_meets(const struct cpu_list *a, const struct cpu_list *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->bits); i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

void cpu_list_format(const struct cpu_list *list, struct buf *text)
{
	bool any = false;

	for (unsigned cpu = 0; cpu < CPU_LIST_MAX; cpu++) {
		unsigned last = cpu;

		if (!cpu_list_has(list, cpu))
			continue;
		while (cpu_list_has(list, last + 1))
			last++;
		buf_add_format(text, last > cpu ? "%s%u-%u" : "%s%u", any ? "," : "", cpu, last);
		any = true;
		cpu = last;
	}
}
