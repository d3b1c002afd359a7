/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/buf.h"
#include "tool/core/row.h"

/* Limit for names and stacks of a run; beyond it they are unknown. */
#define TEXTS_MAX 1000000

void row_layout_init(struct row_layout *layout)
{
	*layout = (struct row_layout){.texts = MAP_INIT(0, sizeof(char *), TEXTS_MAX),
				      .stacks = MAP_INIT(0, sizeof(struct stack), TEXTS_MAX)};
}

void row_layout_done(struct row_layout *layout)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&layout->texts, &at, &key, &value))
		free(*(char **)value);
	at = 0;
	while (map_next(&layout->stacks, &at, &key, &value))
		value_free_stack(value);
	map_done(&layout->texts);
	map_done(&layout->stacks);
	vec_done(&layout->fields);
}

void row_layout_add(struct row_layout *layout, const struct field *like)
{
	uint32_t align = like->size >= 8 ? 8 : like->size >= 4 ? 4 : like->size;
	struct field field = *like;

	layout->size = (layout->size + align - 1) / align * align;
	field.offset = layout->size;
	layout->size += field.size;
	vec_push(&layout->fields, field);
}

void row_layout_add_after(struct row_layout *layout, const struct field *field, uint32_t base)
{
	struct field moved = *field;

	moved.offset += base;
	vec_push(&layout->fields, moved);
}

static const char *keep_text(struct row_layout *layout, const char *text)
{
	bool is_new;
	char **kept = map_put(&layout->texts, text, &is_new);

	if (!kept)
		return NULL;
	if (is_new)
		*kept = xstrdup(text);
	return *kept;
}

static struct stack keep_stack(struct row_layout *layout, const struct stack *stack)
{
	_cleanup_buf_ struct buf name = BUF_INIT(1 << 20);
	struct stack *kept;
	const char **frames;
	bool is_new;

	for (uint32_t i = 0; i < stack->count; i++)
		buf_add_format(&name, "%s\n", stack->frames[i]);
	kept = map_put(&layout->stacks, buf_text(&name), &is_new);
	if (!kept)
		return (struct stack){};
	if (is_new) {
		frames = xzalloc((stack->count + 1) * sizeof(*frames));
		for (uint32_t i = 0; i < stack->count; i++)
			frames[i] = xstrdup(stack->frames[i]);
		*kept = (struct stack){.frames = frames, .count = stack->count};
	}
	return *kept;
}

void row_set(struct row_layout *layout, size_t index, void *row, const struct field *from, const void *part)
{
	const struct field *to = &layout->fields.items[index];
	struct value value = part && from ? value_get(from, part) : (struct value){.class = VALUE_UNKNOWN};
	char *at = (char *)row + to->offset;

	if (value.class == VALUE_UNKNOWN) {
		value_set_unknown(to, row);
		return;
	}
	switch (to->store) {
	case STORE_CHARS:
		memset(at, 0, to->size);
		memcpy(at, value.text, min_of(value.len, (size_t)to->size));
		return;
	case STORE_STRING:
		*(const char **)at = keep_text(layout, value.text);
		return;
	case STORE_STACK: {
		struct stack kept = keep_stack(layout, value.stack);

		memset(at, 0, sizeof(kept));
		((struct stack *)at)->frames = kept.frames;
		((struct stack *)at)->count = kept.count;
		return;
	}
	default:
		/* A number may be from a narrower field, the low bytes first. */
		memset(at, 0, to->size);
		memcpy(at, (const char *)part + from->offset, min_of(from->size, to->size));
	}
}
