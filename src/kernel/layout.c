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
#include "kernel/types_walk.h"

#define TYPES_MAX ((size_t)256 << 20)
#define DEPTH_MAX 8

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
		const char *text = types_text_at(types, member->name_off);
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

static bool is_of_kind(const struct btf_type *type, const struct layout_question *question)
{
	if (question->is_variable)
		return btf_is_var(type);
	return question->member ? btf_is_struct(type) : btf_is_func(type);
}

/* Answers the question if it is about this type. */
static void answer(const struct types *types, const struct btf_type *type, uint32_t id,
		   struct layout_question *question)
{
	struct layout_question place = *question;

	if (question->answer != LAYOUT_NONE || !is_of_kind(type, question) ||
	    strcmp(types_text_at(types, type->name_off), question->type) != 0)
		return;
	place.answer = 0;
	if (!question->member || question->member[0] == '\0')
		question->answer = id;
	else if (find_member(types, type, question->member, 0, &place))
		*question = place;
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
	for (uint32_t id = 1; (type = types_next(types, &at)); id++) {
		if (id % STRIDE == 0)
			vec_push(&types->starts, at);
		if ((btf_is_struct(type) || btf_is_func(type) || btf_is_var(type)) &&
		    marks[mark_of(types_text_at(types, type->name_off))])
			vec_push(&found, (struct candidate){type, id});
	}
	vec_each(&found, candidate)
		for (size_t i = 0; i < count; i++)
			answer(types, candidate->type, candidate->id, &questions[i]);
	vec_done(&found);
}

static int find_in(struct types *types, struct layout_question *questions, size_t count, struct why *why)
{
	answer_all(types, questions, count);
	vec_done(&types->starts);
	for (size_t i = 0; i < count; i++)
		if (questions[i].answer == LAYOUT_NONE && !questions[i].optional)
			return why_set(why, -ENOENT, "the kernel has no %s%s%s", questions[i].type,
				       questions[i].member ? "." : "", questions[i].member ?: "");
	return 0;
}

int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count, struct why *why)
{
	struct types types;

	if (types_open(bytes, len, &types) < 0)
		return why_set(why, -EBADMSG, "%s: not the BTF of a kernel", TYPES_FILE);
	return find_in(&types, questions, count, why);
}

int types_file_open(struct types_file *file, struct types *ret_types)
{
	_cleanup_close_ int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *bytes;
	int r;

	*file = (struct types_file){.copy = BUF_INIT(TYPES_MAX)};
	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes != MAP_FAILED) {
		file->mapped = bytes;
		file->size = (size_t)stat.st_size;
		return types_open(bytes, file->size, ret_types);
	}
	r = buf_read_fd(&file->copy, fd);
	return r < 0 ? r : types_open(file->copy.data, file->copy.len, ret_types);
}

void types_file_close(struct types_file *file)
{
	if (file->mapped)
		(void)munmap(file->mapped, file->size);
	buf_done(&file->copy);
}

int layout_find(struct layout_question *questions, size_t count, struct why *why)
{
	_cleanup_(types_file_close) struct types_file file = {};
	struct types types;
	int r = types_file_open(&file, &types);

	if (r < 0)
		return why_set(why, r, "cannot read %s: %s", TYPES_FILE, strerror(-r));
	return find_in(&types, questions, count, why);
}
