/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/types_cut.h"

#include <sys/mman.h>
#include <unistd.h>

#include "kernel/types_walk.h"

#define CUT_MAX ((size_t)16 << 20)

struct cut {
	struct types types;
	struct map numbers;   /* of the kernel -> of the cut */
	VEC(uint32_t) wanted; /* numbers of the kernel, in the order of the cut */
	struct buf parts, texts;
};

static uint32_t new_number(struct cut *cut, uint32_t id)
{
	uint32_t *number = id ? map_put(&cut->numbers, &id, NULL) : NULL;

	if (!number)
		return 0;
	if (*number == 0) {
		vec_push(&cut->wanted, id);
		*number = (uint32_t)cut->wanted.count;
	}
	return *number;
}

static uint32_t new_text(struct cut *cut, uint32_t offset)
{
	const char *text = types_text_at(&cut->types, offset);
	uint32_t at = (uint32_t)cut->texts.len;

	if (!*text)
		return 0;
	buf_add(&cut->texts, text, strlen(text) + 1);
	return at;
}

static void add_members(struct cut *cut, const struct btf_type *type)
{
	for (unsigned i = 0; i < btf_vlen(type); i++) {
		struct btf_member member = btf_members(type)[i];

		member.name_off = new_text(cut, member.name_off);
		member.type = new_number(cut, member.type);
		buf_add(&cut->parts, &member, sizeof(member));
	}
}

/* Bytes after the first three words, for kinds that refer only to texts. */
static void add_values(struct cut *cut, const struct btf_type *type)
{
	size_t each = btf_is_enum(type) ? sizeof(struct btf_enum) : sizeof(struct btf_enum64);

	for (unsigned i = 0; i < btf_vlen(type); i++) {
		uint32_t value[3];

		memcpy(value, (const char *)(type + 1) + i * each, each);
		value[0] = new_text(cut, value[0]);
		buf_add(&cut->parts, value, each);
	}
}

static void add_type(struct cut *cut, const struct btf_type *from)
{
	struct btf_type type = *from;
	struct btf_array array;

	type.name_off = new_text(cut, type.name_off);
	if (btf_is_mod(from) || btf_is_typedef(from) || btf_is_type_tag(from))
		type.type = new_number(cut, from->type);
	/* Targets of pointers and parameters of functions are not needed. */
	if (btf_is_ptr(from) || btf_is_func_proto(from)) {
		type = (struct btf_type){.info = BTF_KIND_PTR << 24};
		from = &type;
	}
	buf_add(&cut->parts, &type, sizeof(type));
	if (btf_is_composite(from)) {
		add_members(cut, from);
	} else if (btf_is_array(from)) {
		array = *btf_array(from);
		array.type = new_number(cut, array.type);
		array.index_type = new_number(cut, array.index_type);
		buf_add(&cut->parts, &array, sizeof(array));
	} else if (btf_is_any_enum(from)) {
		add_values(cut, from);
	} else if (btf_is_int(from)) {
		buf_add(&cut->parts, from + 1, sizeof(uint32_t));
	}
}

static void see_type(struct cut *cut, const struct btf_type *type, uint32_t id, const struct map *names,
		     struct types_number *numbers, size_t count)
{
	const char *text = types_text_at(&cut->types, type->name_off);

	for (size_t i = 0; i < count; i++)
		if (numbers[i].kind == btf_kind(type) && numbers[i].number == 0 && strcmp(numbers[i].name, text) == 0)
			numbers[i].number = id;
	if (!btf_is_func(type) && !btf_is_var(type) && !btf_is_datasec(type) && map_get(names, text))
		(void)new_number(cut, id);
}

static void look_for(struct cut *cut, const struct map *names, struct types_number *numbers, size_t count)
{
	bool marks[TYPES_MARKS] = {};
	const struct btf_type *type;
	const void *name;
	size_t place = 0;
	uint32_t id = 0;
	void *value;

	while (map_next(names, &place, &name, &value))
		marks[types_mark(name)] = true;
	for (size_t i = 0; i < count; i++)
		marks[types_mark(numbers[i].name)] = true;
	while ((type = types_next_marked(&cut->types, marks, &id)))
		if (type->name_off)
			see_type(cut, type, id, names, numbers, count);
}

static int write_file(const struct cut *cut, int *ret_fd)
{
	struct btf_header header = {.magic = BTF_MAGIC,
				    .version = BTF_VERSION,
				    .hdr_len = TYPES_HEADER_LEN,
				    .type_len = (uint32_t)cut->parts.len,
				    .str_off = (uint32_t)cut->parts.len,
				    .str_len = (uint32_t)cut->texts.len};
	_cleanup_close_ int fd = memfd_create("nest-types", MFD_CLOEXEC);

	if (cut->parts.over || cut->texts.over)
		return -E2BIG;
	if (fd < 0 || write(fd, &header, TYPES_HEADER_LEN) != (ssize_t)TYPES_HEADER_LEN ||
	    write(fd, cut->parts.data, cut->parts.len) != (ssize_t)cut->parts.len ||
	    write(fd, cut->texts.data, cut->texts.len) != (ssize_t)cut->texts.len)
		return errno ? -errno : -EIO;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int make(struct cut *cut, const struct map *names, struct types_number *numbers, size_t count, int *ret_fd)
{
	buf_add_char(&cut->texts, '\0');
	look_for(cut, names, numbers, count);
	for (size_t i = 0; i < count; i++)
		if (numbers[i].number == 0 && !numbers[i].optional)
			return -ENOENT;
	/* The list grows in the loop. */
	for (size_t i = 0; i < cut->wanted.count; i++) {
		const struct btf_type *type = type_by_id(&cut->types, cut->wanted.items[i]);

		if (!type)
			return -EBADMSG;
		add_type(cut, type);
	}
	return write_file(cut, ret_fd);
}

int types_cut(const struct map *names, struct types_number *numbers, size_t count, int *ret_fd)
{
	struct cut cut = {.numbers = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 1 << 20),
			  .parts = BUF_INIT(CUT_MAX),
			  .texts = BUF_INIT(CUT_MAX)};
	struct types_file file;
	int r = types_file_open(&file, &cut.types);

	if (r == 0)
		r = make(&cut, names, numbers, count, ret_fd);
	types_file_close(&file);
	map_done(&cut.numbers);
	vec_done(&cut.wanted);
	buf_done(&cut.parts);
	buf_done(&cut.texts);
	return r;
}
