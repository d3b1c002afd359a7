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
#define STRIDE     16

struct types {
	const char *first, *end; /* of the types */
	const char *texts;
	size_t texts_len;         /* ends with a NUL */
	VEC(const char *) starts; /* start of every STRIDE-th type */
};

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
static inline const struct btf_type *next_type(const struct types *types, const char **at)
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
static const struct btf_type *type_by_id(const struct types *types, uint32_t id)
{
	const struct btf_type *type = NULL;
	const char *at;

	if (id == 0 || (id - 1) / STRIDE >= types->starts.count)
		return NULL;
	at = types->starts.items[(id - 1) / STRIDE];
	for (uint32_t i = (id - 1) / STRIDE * STRIDE; i < id; i++) {
		type = next_type(types, &at);
		if (!type)
			return NULL;
	}
	return type;
}

static const char *text_at(const struct types *types, uint32_t offset)
{
	return offset < types->texts_len ? types->texts + offset : "";
}

/* A member's type without typedefs and qualifiers; of an array, its element. */
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
		} else if (!(same || text[0] == '\0') ||
			   !find_member(types, bare_type(types, member->type), same ? path + len + 1 : path, depth + 1,
					&inner)) {
			continue;
		}
		*place = inner;
		return true;
	}
	return false;
}

/* Answers the question if it is about this type. */
static void answer(const struct types *types, const struct btf_type *type, uint32_t id,
		   struct layout_question *question)
{
	struct layout_question place = *question;

	if (question->answer != LAYOUT_NONE || (question->member ? !btf_is_struct(type) : !btf_is_func(type)) ||
	    strcmp(text_at(types, type->name_off), question->type) != 0)
		return;
	place.answer = 0;
	if (!question->member || question->member[0] == '\0')
		question->answer = id;
	else if (find_member(types, type, question->member, 0, &place))
		*question = place;
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

/* Hash of a name's first characters, for a filter of the names in question. */
static inline uint8_t mark_of(const char *text)
{
	return text[0] ? (uint8_t)(text[0] * 31 + text[1] * 7 + (text[1] ? text[2] : 0)) : 0;
}

struct candidate {
	const struct btf_type *type;
	uint32_t id;
};

/* Finds all structures and functions in question in one pass; a second pass finds members. */
static void answer_all(struct types *types, struct layout_question *questions, size_t count)
{
	VEC(struct candidate) found = {};
	bool marks[UINT8_MAX + 1] = {};
	const struct btf_type *type;
	const char *at = types->first;

	for (size_t i = 0; i < count; i++) {
		questions[i].answer = LAYOUT_NONE;
		marks[mark_of(questions[i].type)] = true;
	}
	vec_push(&types->starts, at);
	for (uint32_t id = 1; (type = next_type(types, &at)); id++) {
		if (id % STRIDE == 0)
			vec_push(&types->starts, at);
		if ((btf_is_struct(type) || btf_is_func(type)) && marks[mark_of(text_at(types, type->name_off))])
			vec_push(&found, (struct candidate){type, id});
	}
	vec_each(&found, candidate)
		for (size_t i = 0; i < count; i++)
			answer(types, candidate->type, candidate->id, &questions[i]);
	vec_done(&found);
}

int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count, struct why *why)
{
	struct types types;

	if (open_types(bytes, len, &types) < 0)
		return why_set(why, -EBADMSG, "%s: not the BTF of a kernel", TYPES_FILE);
	answer_all(&types, questions, count);
	vec_done(&types.starts);
	for (size_t i = 0; i < count; i++)
		if (questions[i].answer == LAYOUT_NONE && !questions[i].optional)
			return why_set(why, -ENOENT, "the kernel has no %s%s%s", questions[i].type,
				       questions[i].member ? "." : "", questions[i].member ?: "");
	return 0;
}

/* Kernels before 6.15 do not support mmap of BTF. */
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
