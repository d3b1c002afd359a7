/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/vec.h"
#include "kernel/layout.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"
#define TYPES_MAX  ((size_t)256 << 20)
#define DEPTH_MAX  8

struct types {
	const char *first, *end; /* of the types */
	const char *texts;
	size_t texts_len; /* ends with a NUL */
	VEC(const char *) starts;
};

/* What follows a type's first three words; -1 for a kind that nobody knows yet. */
static int64_t rest_size(const struct btf_type *type)
{
	size_t vlen = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (int64_t)(vlen * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (int64_t)(vlen * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (int64_t)(vlen * sizeof(struct btf_enum64));
	case BTF_KIND_FUNC_PROTO:
		return (int64_t)(vlen * sizeof(struct btf_param));
	case BTF_KIND_DATASEC:
		return (int64_t)(vlen * sizeof(struct btf_var_secinfo));
	default:
		return -1;
	}
}

/* The type at *at, which moves on to the next; NULL at the end, or at something that is not whole. */
static const struct btf_type *next_type(const struct types *types, const char **at)
{
	const struct btf_type *type = (const struct btf_type *)*at;
	int64_t rest;

	if (types->end - *at < (ptrdiff_t)sizeof(*type))
		return NULL;
	rest = rest_size(type);
	if (rest < 0 || types->end - *at - (ptrdiff_t)sizeof(*type) < rest)
		return NULL;
	*at += sizeof(*type) + (size_t)rest;
	return type;
}

/* Where each type begins; number 0 is void and not in the list. */
static void index_types(struct types *types)
{
	const char *at = types->first;

	do
		vec_push(&types->starts, at);
	while (next_type(types, &at));
}

static const struct btf_type *type_by_id(const struct types *types, uint32_t id)
{
	const char *at;

	if (id == 0 || id > types->starts.count)
		return NULL;
	at = types->starts.items[id - 1];
	return next_type(types, &at);
}

static const char *text_at(const struct types *types, uint32_t offset)
{
	return offset < types->texts_len ? types->texts + offset : "";
}

/* What a member is made of, without the names that it goes by; of an array, an element. */
static const struct btf_type *bare_type(const struct types *types, uint32_t id)
{
	const struct btf_type *type = type_by_id(types, id);

	for (unsigned depth = 0; type && depth < DEPTH_MAX; depth++) {
		if (btf_is_array(type))
			type = type_by_id(types, btf_array(type)->type);
		else if (btf_is_mod(type) || btf_is_typedef(type))
			type = type_by_id(types, type->type);
		else
			return type;
	}
	return NULL;
}

static bool find_member(const struct types *types, const struct btf_type *type, const char *path, unsigned depth,
			struct layout_question *place)
{
	size_t len = strcspn(path, ".");

	if (!type || !btf_is_composite(type) || depth == DEPTH_MAX)
		return false;
	for (unsigned i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *text = text_at(types, member->name_off);
		struct layout_question inner = *place;
		uint32_t bits = btf_member_bit_offset(type, i);
		bool same = strncmp(text, path, len) == 0 && text[len] == '\0';

		inner.answer += bits / 8;
		if (same && path[len] == '\0') {
			inner.shift = (uint8_t)(bits % 8);
			inner.width = (uint8_t)btf_member_bitfield_size(type, i);
		} else if (!(same || text[0] == '\0') || !find_member(types, bare_type(types, member->type),
								     same ? path + len + 1 : path, depth + 1, &inner)) {
			continue;
		}
		*place = inner;
		return true;
	}
	return false;
}

/* Whether the question was about this type and is answered now. */
static bool answer(const struct types *types, const struct btf_type *type, uint32_t id,
		   struct layout_question *question)
{
	struct layout_question place = *question;

	if (question->answer != LAYOUT_NONE || (question->member ? !btf_is_struct(type) : !btf_is_func(type)) ||
	    strcmp(text_at(types, type->name_off), question->type) != 0)
		return false;
	place.answer = 0;
	if (!question->member || question->member[0] == '\0')
		question->answer = id;
	else if (find_member(types, type, question->member, 0, &place))
		*question = place;
	return question->answer != LAYOUT_NONE;
}

static int open_types(const void *bytes, size_t len, struct types *ret_types)
{
	const struct btf_header *header = bytes;
	struct types types = {};
	size_t room;

	if (len < sizeof(*header) || header->magic != BTF_MAGIC || header->hdr_len < sizeof(*header) ||
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

/* Types whose names begin otherwise than all that are asked about need not be looked at. */
static void answer_all(const struct types *types, struct layout_question *questions, size_t count)
{
	bool first[UINT8_MAX + 1] = {};

	for (size_t i = 0; i < count; i++) {
		questions[i].answer = LAYOUT_NONE;
		first[(uint8_t)questions[i].type[0]] = true;
	}
	for (uint32_t id = 1; id <= types->starts.count; id++) {
		const struct btf_type *type = type_by_id(types, id);

		if (!type || (!btf_is_struct(type) && !btf_is_func(type)) ||
		    !first[(uint8_t)*text_at(types, type->name_off)])
			continue;
		for (size_t i = 0; i < count; i++)
			(void)answer(types, type, id, &questions[i]);
	}
}

int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count, struct why *why)
{
	struct types types;

	if (open_types(bytes, len, &types) < 0)
		return why_set(why, -EBADMSG, "%s: not the type information of a kernel", TYPES_FILE);
	index_types(&types);
	answer_all(&types, questions, count);
	vec_done(&types.starts);
	for (size_t i = 0; i < count; i++)
		if (questions[i].answer == LAYOUT_NONE && !questions[i].optional)
			return why_set(why, -ENOENT, "the kernel has no %s%s%s", questions[i].type,
				       questions[i].member ? "." : "", questions[i].member ?: "");
	return 0;
}

/* Kernels before 6.15 do not let it be mapped. */
static int find_in_copy(struct layout_question *questions, size_t count, struct why *why)
{
	_cleanup_buf_ struct buf copy = BUF_INIT(TYPES_MAX);
	int r = buf_read_file(&copy, TYPES_FILE);

	if (r < 0)
		return why_set(why, r, "cannot read %s: %s", TYPES_FILE, strerror(-r));
	return layout_find_in(copy.data, copy.len, questions, count, why);
}

int layout_find(struct layout_question *questions, size_t count, struct why *why)
{
	_cleanup_close_ int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	size_t len;
	void *bytes;
	int r;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return why_set(why, -errno, "cannot read %s: %s", TYPES_FILE, strerror(errno));
	len = (size_t)stat.st_size;
	bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return find_in_copy(questions, count, why);
	r = layout_find_in(bytes, len, questions, count, why);
	(void)munmap(bytes, len);
	return r;
}
