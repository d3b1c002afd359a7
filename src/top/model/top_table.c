/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/model/top_table.h"

#include <string.h>

/* 1 to 9, then 0, as on the keyboard, then letters. */
static int key_rank(char key)
{
	return key == 0 ? 1000 : key == '0' ? '9' + 1 : key;
}

static int by_key(const void *a, const void *b)
{
	const struct top_table *x = *(const struct top_table *const *)a, *y = *(const struct top_table *const *)b;

	if (key_rank(x->key) != key_rank(y->key))
		return key_rank(x->key) - key_rank(y->key);
	return strcmp(x->name, y->name);
}

const struct top_table **top_table_list(size_t *ret_count)
{
	VEC(const struct top_table *) list = {};

	registry_each(top_table, table)
		vec_push(&list, *table);
	vec_sort(&list, by_key);
	*ret_count = list.count;
	return list.items;
}

const struct top_table *top_table_find(const char *name)
{
	registry_each(top_table, table)
		if (strcmp((*table)->name, name) == 0)
			return *table;
	return NULL;
}

void top_links_done(struct top_links *links)
{
	vec_each(&links->items, link) {
		free(link->label);
		free(link->table);
		free(link->command);
	}
	vec_done(&links->items);
}

void top_links_add(struct top_links *links, const char *table, const char *label, const char *format, ...)
{
	struct top_link *link = vec_add(&links->items);
	va_list args;

	va_start(args, format);
	link->command = xvasprintf(format, args);
	va_end(args);
	link->label = xstrdup(label);
	link->table = table ? xstrdup(table) : NULL;
}
