/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

static void answer_all(const struct types *types, struct layout_question *questions, size_t count)
{
	bool marks[TYPES_MARKS] = {};
	const struct btf_type *type;
	uint32_t id = 0;

	for (size_t i = 0; i < count; i++) {
		questions[i].answer = LAYOUT_NONE;
		marks[types_mark(questions[i].type)] = true;
	}
	while ((type = types_next_marked(types, marks, &id)))
		if (btf_is_struct(type) || btf_is_func(type) || btf_is_var(type))
			for (size_t i = 0; i < count; i++)
				answer(types, type, id, &questions[i]);
}

static int find_in(const struct types *types, struct layout_question *questions, size_t count, struct why *why)
{
	answer_all(types, questions, count);
	for (size_t i = 0; i < count; i++)
		if (questions[i].answer == LAYOUT_NONE && !questions[i].optional)
			return why_set(why, -ENOENT, "the kernel has no %s%s%s", questions[i].type,
				       questions[i].member ? "." : "", questions[i].member ?: "");
	return 0;
}

int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count, struct why *why)
{
	_cleanup_(types_index_done) struct types_index index = {};
	struct types types;

	if (types_open(bytes, len, &types) < 0)
		return why_set(why, -EBADMSG, "%s: not the BTF of a kernel", TYPES_FILE);
	types_index_make(&types, &index);
	types.index = &index;
	return find_in(&types, questions, count, why);
}

/* Of the kernel's types, which do not change; two threads may come here at once. */
static const struct types_index *kernel_index(const struct types *types)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct types_index index;

	(void)pthread_mutex_lock(&lock);
	if (index.starts.count == 0)
		types_index_make(types, &index);
	(void)pthread_mutex_unlock(&lock);
	return &index;
}

static int open_types(struct types_file *file, int fd, size_t size, struct types *ret_types)
{
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int r;

	if (bytes != MAP_FAILED) {
		file->mapped = bytes;
		file->size = size;
		return types_open(bytes, size, ret_types);
	}
	r = buf_read_fd(&file->copy, fd);
	return r < 0 ? r : types_open(file->copy.data, file->copy.len, ret_types);
}

int types_file_open(struct types_file *file, struct types *ret_types)
{
	_cleanup_close_ int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	int r;

	*file = (struct types_file){.copy = BUF_INIT(TYPES_MAX)};
	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	r = open_types(file, fd, (size_t)stat.st_size, ret_types);
	if (r == 0)
		ret_types->index = kernel_index(ret_types);
	return r;
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

void layout_prepare(void)
{
	_cleanup_(types_file_close) struct types_file file = {};
	struct types types;

	(void)!types_file_open(&file, &types);
}
