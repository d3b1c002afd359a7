/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/keeper.h"

#include <string.h>

#define TEXTS_MAX  ((size_t)256 << 20)
#define COPIED_MAX ((size_t)1 << 20)
#define DEPTH_MAX  4 /* of lists in lists */

void keeper_init(struct keeper *keeper)
{
	*keeper = (struct keeper){.texts = {.cap = TEXTS_MAX},
				  .copied = MAP_INIT(sizeof(void *), sizeof(void *), COPIED_MAX)};
}

void keeper_clear(struct keeper *keeper)
{
	vec_each(&keeper->blocks, block)
		free(*block);
	keeper->blocks.count = 0;
	arena_clear(&keeper->texts);
	if (keeper->copied.count > 0) {
		map_done(&keeper->copied);
		keeper->copied = MAP_INIT(sizeof(void *), sizeof(void *), COPIED_MAX);
	}
}

void keeper_done(struct keeper *keeper)
{
	keeper_clear(keeper);
	map_done(&keeper->copied);
	vec_done(&keeper->blocks);
	arena_done(&keeper->texts);
}

/* Records share texts (the cgroup of a process): one copy of each. */
static const char *own_text(struct keeper *keeper, const char *text)
{
	const char **known = text ? map_get(&keeper->copied, &text) : NULL;
	const char *copy;

	if (!text || known)
		return text ? *known : NULL;
	copy = arena_text(&keeper->texts, text, strlen(text));
	known = map_put(&keeper->copied, &text, NULL);
	if (known)
		*known = copy;
	return copy;
}

static void own_inside(struct keeper *keeper, const struct record_type *type, void *data, unsigned depth);

static void own_list(struct keeper *keeper, const struct field *field, struct list *list, unsigned depth)
{
	size_t size = field->element->size, bytes = size * list->count;
	uint8_t *items;

	if (!list->items || list->count == 0)
		return;
	if (depth >= DEPTH_MAX) {
		*list = (struct list){};
		return;
	}
	items = xmalloc(bytes);
	memcpy(items, list->items, bytes);
	vec_push(&keeper->blocks, items);
	for (uint32_t i = 0; i < list->count; i++)
		own_inside(keeper, field->element, items + i * size, depth + 1);
	list->items = items;
}

static void own_inside(struct keeper *keeper, const struct record_type *type, void *data, unsigned depth)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];
		uint8_t *at = (uint8_t *)data + field->offset;

		if (field->store == STORE_STRING)
			*(const char **)at = own_text(keeper, *(const char **)at);
		else if (field->store == STORE_LIST)
			own_list(keeper, field, (struct list *)at, depth);
		else if (field->store == STORE_STACK)
			*(struct stack *)at = (struct stack){};
	}
}

void keeper_own(struct keeper *keeper, const struct record_type *type, void *data)
{
	own_inside(keeper, type, data, 0);
}
