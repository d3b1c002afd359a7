/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "base/embed.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/lean.h"
#include "kernel/libbpf_words.h"
#include "kernel/mounts.h"
#include "kernel/object.h"
#include "kernel/slim.h"
#include "record/enum.h"

/* Sections with global variables, in search order. */
static const char *const data_sections[] = {".rodata", ".data", ".bss"};

/* Memory shared with the running programs. */
struct mapping {
	void *data;
	size_t size;
};

struct kernel_object {
	const char *name;
	const struct embedded_file *file;
	VEC(const char *) chosen; /* chosen before opening */
	struct bpf_object *bpf;   /* NULL: not opened yet */
	VEC(struct bpf_link *) links;
	bool is_loaded;
	int types_fd; /* of lean_make; -1: none */
	struct mapping mappings[ARRAY_SIZE(data_sections)];
};

/* "cannot load x: EPERM (Operation not permitted): libbpf's reason" */
static int fail(struct why *why, int error, const char *doing, const char *what)
{
	const char *name = enum_name_find(&errno_names, (uint64_t)-error);
	const char *gist = libbpf_words_gist();
	size_t len = strlen(gist), words_len = strlen(strerror(-error));

	/* libbpf often ends with the text of the errno, which is already there. */
	if (len > words_len + 2 && strcmp(gist + len - words_len, strerror(-error)) == 0)
		len -= words_len + 2;
	return why_set(why, error, "cannot %s %s: %s (%s)%s%.*s", doing, what, name ? name : "error",
		       enum_describe_errno(-error), len > 0 ? ": " : "", (int)len, gist);
}

/* Releases read-only pages of this program's file: the kernel reads them again on demand. */
static void release_pages(const void *from, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)from + page - 1) / page * page;
	uintptr_t end = (uintptr_t)to / page * page;

	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* Read-only data of this program or a library. */
static int release_constants(struct dl_phdr_info *info, size_t size _unused_, void *context _unused_)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const char *begin = (const char *)(info->dlpi_addr + part->p_vaddr);

		if (part->p_type == PT_LOAD && part->p_flags == PF_R)
			release_pages(begin, begin + part->p_memsz);
	}
	return 0;
}

/* Memory use is at its peak in a load, and most constants were needed only at the start. */
static void release_once(void)
{
	static bool done;

	if (!done)
		(void)dl_iterate_phdr(release_constants, NULL);
	done = true;
}

int kernel_object_find(const char *name, struct kernel_object **ret_object, struct why *why)
{
	const struct embedded_file *file = embed_find(name);
	struct kernel_object *object;

	if (!file)
		return why_set(why, -ENOENT, "no BPF object %s in this program", name);
	object = xzalloc(sizeof(*object));
	object->name = file->name;
	object->file = file;
	object->types_fd = -1;
	*ret_object = object;
	return 0;
}

/* types: a file that replaces the kernel's BTF; NULL: none. */
static int open_memory(struct kernel_object *object, const void *data, size_t size, const char *types, struct why *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = object->name, .btf_custom_path = types);
	struct bpf_program *program;

	libbpf_words_begin();
	object->bpf = bpf_object__open_mem(data, size, &options);
	/* libbpf copied what it needs. */
	release_pages(object->file->begin, object->file->end);
	if (!object->bpf)
		return fail(why, -errno, "open", object->name);
	bpf_object__for_each_program(program, object->bpf) bpf_program__set_autoload(program, false);
	return 0;
}

int kernel_object_open(const char *name, struct kernel_object **ret_object, struct why *why)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	int r = kernel_object_find(name, &object, why);

	if (r == 0)
		r = open_memory(object, object->file->begin, (size_t)(object->file->end - object->file->begin), NULL,
				why);
	if (r < 0)
		return r;
	*ret_object = take_ptr(object);
	return 0;
}

static int no_program(const struct kernel_object *object, const char *program, struct why *why)
{
	return why_set(why, -ENOENT, "%s has no program %s", object->name, program);
}

static bool is_chosen(const char *program, void *context)
{
	const struct kernel_object *object = context;

	vec_each(&object->chosen, chosen)
		if (strcmp(*chosen, program) == 0)
			return true;
	return false;
}

int kernel_object_open_chosen(struct kernel_object *object, struct why *why)
{
	_cleanup_free_ void *data = NULL;
	char types[64];
	size_t size;
	int r;

	vec_each(&object->chosen, program)
		if (!slim_section_of(object->file, *program))
			return no_program(object, *program, why);
	data = slim_copy(object->file, is_chosen, object, &size);
	r = lean_make(data, &object->types_fd);
	if (r < 0)
		log_debug("%s: using the kernel's own BTF: %s", object->name, strerror(-r));
	snprintf(types, sizeof(types), "/proc/self/fd/%d", object->types_fd);
	r = open_memory(object, data, size, r < 0 ? NULL : types, why);

	vec_each(&object->chosen, program)
		if (r == 0)
			r = kernel_object_choose(object, *program, why);
	return r;
}

void kernel_object_detach(struct kernel_object *object)
{
	/* In reverse order: programs may depend on those attached before them. */
	for (size_t i = object->links.count; i > 0; i--)
		bpf_link__destroy(object->links.items[i - 1]);
	vec_done(&object->links);
}

void kernel_object_close(struct kernel_object *object)
{
	if (!object)
		return;
	kernel_object_detach(object);
	for (size_t i = 0; i < ARRAY_SIZE(object->mappings); i++)
		if (object->mappings[i].data)
			(void)munmap(object->mappings[i].data, object->mappings[i].size);
	bpf_object__close(object->bpf);
	vec_done(&object->chosen);
	closep(&object->types_fd);
	free(object);
}

struct bpf_program *kernel_object_program(const struct kernel_object *object, const char *program)
{
	return bpf_object__find_program_by_name(object->bpf, program);
}

static int find_program(const struct kernel_object *object, const char *name, struct bpf_program **ret_program,
			struct why *why)
{
	*ret_program = kernel_object_program(object, name);
	return *ret_program ? 0 : no_program(object, name, why);
}

int kernel_object_choose(struct kernel_object *object, const char *program, struct why *why)
{
	struct bpf_program *found;
	int r;

	if (!object->bpf) {
		vec_push(&object->chosen, program);
		return 0;
	}
	r = find_program(object, program, &found, why);
	if (r < 0)
		return r;
	bpf_program__set_autoload(found, true);
	return 0;
}

int kernel_object_omit_map(struct kernel_object *object, const char *map)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object->bpf, map);

	return found ? bpf_map__set_autocreate(found, false) : -ENOENT;
}

void kernel_object_omit_maps(struct kernel_object *object, bool (*omit)(const char *map, void *context), void *context)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object->bpf) if (omit(bpf_map__name(map), context))(void)
		bpf_map__set_autocreate(map, false);
}

int kernel_object_size_map(struct kernel_object *object, const char *map, uint32_t entries)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object->bpf, map);

	return found ? bpf_map__set_max_entries(found, entries) : -ENOENT;
}

int kernel_object_inner_map(struct kernel_object *object, const char *map, int inner_fd)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object->bpf, map);

	return found ? bpf_map__set_inner_map_fd(found, inner_fd) : -ENOENT;
}

const char *kernel_object_section(const struct kernel_object *object, const char *program)
{
	return slim_section_of(object->file, program);
}

void kernel_object_each_section(const struct kernel_object *object, void (*fn)(const char *section, void *context),
				void *context)
{
	slim_each_section(object->file, fn, context);
}

const char *kernel_object_missing_extern(const struct kernel_object *object, const char *program,
					 bool (*has)(const char *name, bool is_weak))
{
	return slim_missing_extern(object->file, program, has);
}

static struct bpf_prog_info program_info(const struct kernel_object *object, const char *program)
{
	const struct bpf_program *found = kernel_object_program(object, program);
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (!found || bpf_obj_get_info_by_fd(bpf_program__fd(found), &info, &size) < 0)
		return (struct bpf_prog_info){};
	return info;
}

uint64_t kernel_object_misses(const struct kernel_object *object, const char *program)
{
	return program_info(object, program).recursion_misses;
}

uint64_t kernel_object_run_ns(const struct kernel_object *object, const char *program)
{
	return program_info(object, program).run_time_ns;
}

bool kernel_object_comes_before(const struct kernel_object *object, const char *program, const char *other)
{
	struct bpf_program *at;

	bpf_object__for_each_program(at, object->bpf)
	{
		if (strcmp(bpf_program__name(at), other) == 0)
			return false;
		if (strcmp(bpf_program__name(at), program) == 0)
			return true;
	}
	return false;
}

/* libbpf maps a section's memory only for generated skeletons; this does it for other objects. */
static int share_section(struct kernel_object *object, size_t section)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object->bpf, data_sections[section]);
	struct mapping *mapping = &object->mappings[section];
	bool is_frozen = section == 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *data;

	if (!map || bpf_map__fd(map) < 0 || !(bpf_map__map_flags(map) & BPF_F_MMAPABLE))
		return 0;
	mapping->size = (bpf_map__value_size(map) + page - 1) / page * page;
	data = mmap(NULL, mapping->size, is_frozen ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map),
		    0);
	if (data == MAP_FAILED)
		return -errno;
	mapping->data = data;
	return 0;
}

int kernel_object_load(struct kernel_object *object, struct why *why)
{
	int r;

	libbpf_words_begin();
	release_once();
	r = bpf_object__load(object->bpf);
	if (r < 0 && *mounts_hint("/sys/kernel/btf"))
		return why_set(why, r, "cannot read /sys/kernel/btf%s", mounts_hint("/sys/kernel/btf"));
	if (r < 0)
		return fail(why, r, "load", object->name);
	object->is_loaded = true;
	for (size_t i = 0; i < ARRAY_SIZE(data_sections); i++) {
		r = share_section(object, i);
		if (r < 0)
			return fail(why, r, "map the variables of", object->name);
	}
	return 0;
}

int kernel_object_keep_link(struct kernel_object *object, const char *program, struct bpf_link *link, struct why *why)
{
	if (!link)
		return fail(why, errno ? -errno : -EINVAL, "attach", program);
	vec_push(&object->links, link);
	return 0;
}

int kernel_object_attach(struct kernel_object *object, const char *program, struct why *why)
{
	struct bpf_program *found;
	int r = find_program(object, program, &found, why);

	if (r < 0)
		return r;
	libbpf_words_begin();
	return kernel_object_keep_link(object, program, bpf_program__attach(found), why);
}

int kernel_object_map_fd(const struct kernel_object *object, const char *map)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object->bpf, map);
	int fd;

	if (!found)
		return -ENOENT;
	fd = bpf_map__fd(found);
	return fd < 0 ? -EBADF : fd;
}

/* Offset of a variable in its data section, from the object's BTF; -ENOENT. */
static int section_find(const struct btf *btf, const struct btf_type *section, const char *variable, size_t size)
{
	const struct btf_var_secinfo *info = btf_var_secinfos(section);

	for (unsigned i = 0; i < btf_vlen(section); i++, info++) {
		const struct btf_type *type = btf__type_by_id(btf, info->type);

		if (!type || strcmp(btf__name_by_offset(btf, type->name_off), variable) != 0)
			continue;
		return info->size == size ? (int)info->offset : -EINVAL;
	}
	return -ENOENT;
}

/* Before the load a section is memory of libbpf, copied to the kernel by the load; afterwards it is the map itself. */
static void *section_data(const struct kernel_object *object, size_t section, size_t *ret_size)
{
	struct bpf_map *map;

	if (object->is_loaded) {
		*ret_size = object->mappings[section].size;
		return object->mappings[section].data;
	}
	map = bpf_object__find_map_by_name(object->bpf, data_sections[section]);
	return map ? (void *)bpf_map__initial_value(map, ret_size) : NULL;
}

int kernel_object_variable(const struct kernel_object *object, const char *variable, size_t size, void **ret_address)
{
	const struct btf *btf = bpf_object__btf(object->bpf);

	if (!btf)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(data_sections); i++) {
		int id = btf__find_by_name_kind(btf, data_sections[i], BTF_KIND_DATASEC);
		int offset = id < 0 ? -ENOENT : section_find(btf, btf__type_by_id(btf, (unsigned)id), variable, size);
		size_t room = 0;
		char *data;

		if (offset == -ENOENT)
			continue;
		if (offset < 0)
			return offset;
		data = section_data(object, i, &room);
		if (!data || (size_t)offset + size > room)
			return -ENOENT;
		*ret_address = data + offset;
		return 0;
	}
	return -ENOENT;
}
