/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iteration over a kernel's BTF in memory. */
#pragma once

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"
#define STRIDE     16
/* The header that every kernel writes; <linux/btf.h> of Linux 7.2 has more members. */
#define TYPES_HEADER_LEN (offsetof(struct btf_header, str_len) + sizeof(uint32_t))

struct types {
	const char *first, *end; /* of the types */
	const char *texts;
	size_t texts_len; /* ends with a NUL */
	const struct types_index *index;
};

/* What a search by name needs of all types: in the same process, later ones need no walk. */
struct types_index {
	VEC(uint16_t) marks;  /* of the name of type id + 1 */
	VEC(uint32_t) starts; /* where every STRIDE-th type starts, after the first */
};

#define TYPES_MARKS 4096

static inline uint16_t types_mark(const char *name)
{
	unsigned mark = 0;

	for (unsigned i = 0; i < 5 && name[i]; i++)
		mark = mark * 31 + (uint8_t)name[i];
	return (uint16_t)(mark % TYPES_MARKS);
}

/* Bytes after a type's first three words: a fixed part, and a part per member. */
static const struct {
	uint8_t fixed, each;
	bool known;
} rests[BTF_KIND_ENUM64 + 1] = {
	[BTF_KIND_INT] = {sizeof(uint32_t), 0, true},
	[BTF_KIND_PTR] = {0, 0, true},
	[BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0, true},
	[BTF_KIND_STRUCT] = {0, sizeof(struct btf_member), true},
	[BTF_KIND_UNION] = {0, sizeof(struct btf_member), true},
	[BTF_KIND_ENUM] = {0, sizeof(struct btf_enum), true},
	[BTF_KIND_FWD] = {0, 0, true},
	[BTF_KIND_TYPEDEF] = {0, 0, true},
	[BTF_KIND_VOLATILE] = {0, 0, true},
	[BTF_KIND_CONST] = {0, 0, true},
	[BTF_KIND_RESTRICT] = {0, 0, true},
	[BTF_KIND_FUNC] = {0, 0, true},
	[BTF_KIND_FUNC_PROTO] = {0, sizeof(struct btf_param), true},
	[BTF_KIND_VAR] = {sizeof(uint32_t), 0, true},
	[BTF_KIND_DATASEC] = {0, sizeof(struct btf_var_secinfo), true},
	[BTF_KIND_FLOAT] = {0, 0, true},
	[BTF_KIND_DECL_TAG] = {sizeof(uint32_t), 0, true},
	[BTF_KIND_TYPE_TAG] = {0, 0, true},
	[BTF_KIND_ENUM64] = {0, sizeof(struct btf_enum64), true},
};

/* The type at *at, which advances; NULL at the end, or at a truncated or unknown type. */
static inline const struct btf_type *types_next(const struct types *types, const char **at)
{
	const struct btf_type *type = (const struct btf_type *)*at;
	size_t room = (size_t)(types->end - *at), size;
	unsigned kind;

	if (room < sizeof(*type))
		return NULL;
	kind = btf_kind(type);
	if (kind >= ARRAY_SIZE(rests) || !rests[kind].known)
		return NULL;
	size = sizeof(*type) + rests[kind].fixed + (size_t)btf_vlen(type) * rests[kind].each;
	if (size > room)
		return NULL;
	*at += size;
	return type;
}

/* Id 0 is void and not in the list. */
static inline const struct btf_type *type_by_id(const struct types *types, uint32_t id)
{
	const struct btf_type *type = NULL;
	const char *at;

	if (id == 0 || (id - 1) / STRIDE >= types->index->starts.count)
		return NULL;
	at = types->first + types->index->starts.items[(id - 1) / STRIDE];
	for (uint32_t i = (id - 1) / STRIDE * STRIDE; i < id; i++) {
		type = types_next(types, &at);
		if (!type)
			return NULL;
	}
	return type;
}

static inline const char *types_text_at(const struct types *types, uint32_t offset)
{
	return offset < types->texts_len ? types->texts + offset : "";
}

static inline int types_open(const void *bytes, size_t len, struct types *ret_types)
{
	const struct btf_header *header = bytes;
	struct types types = {};
	size_t room;

	if (len < TYPES_HEADER_LEN || header->magic != BTF_MAGIC || header->hdr_len < TYPES_HEADER_LEN ||
	    header->hdr_len > len)
		return -EBADMSG;
	room = len - header->hdr_len;
	if (header->type_off % 4 != 0 || header->hdr_len % 4 != 0 || header->type_off > room ||
	    header->type_len > room - header->type_off || header->str_off > room || header->str_len == 0 ||
	    header->str_len > room - header->str_off)
		return -EBADMSG;
	types.first = (const char *)bytes + header->hdr_len + header->type_off;
	types.end = types.first + header->type_len;
	types.texts = (const char *)bytes + header->hdr_len + header->str_off;
	types.texts_len = header->str_len;
	if (types.texts[types.texts_len - 1] != '\0')
		return -EBADMSG;
	*ret_types = types;
	return 0;
}

static inline void types_index_make(const struct types *types, struct types_index *index)
{
	const char *at = types->first;
	const struct btf_type *type;

	vec_push(&index->starts, 0);
	for (uint32_t id = 1; (type = types_next(types, &at)); id++) {
		vec_push(&index->marks, types_mark(types_text_at(types, type->name_off)));
		if (id % STRIDE == 0)
			vec_push(&index->starts, (uint32_t)(at - types->first));
	}
}

static inline void types_index_done(struct types_index *index)
{
	vec_done(&index->marks);
	vec_done(&index->starts);
}

/* The next type after id *id whose name has one of these marks; NULL: none. */
static inline const struct btf_type *types_next_marked(const struct types *types, const bool *marks, uint32_t *id)
{
	const struct types_index *index = types->index;

	for (size_t i = *id; i < index->marks.count; i++)
		if (marks[index->marks.items[i]]) {
			*id = (uint32_t)i + 1;
			return type_by_id(types, *id);
		}
	return NULL;
}

/* BTF of the running kernel: mapped, or read where mmap is not supported (before Linux 6.15). */
struct types_file {
	void *mapped; /* NULL: in the copy */
	size_t size;
	struct buf copy;
};

int types_file_open(struct types_file *file, struct types *ret_types) _must_check_;
void types_file_close(struct types_file *file);
