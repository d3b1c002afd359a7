/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User-space symbols: mappings from /proc/PID/maps, functions from the ELF symbol tables of the files. */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "kernel/user_symbols.h"

struct function {
	uint64_t address;
	uint64_t size;
	char *name;
};

/* One mapped file, by its path in the process. */
struct image {
	char *name;
	VEC(struct function) functions;
	VEC(GElf_Phdr) segments;
};

struct mapping {
	uint64_t begin, end, offset;
	struct image *image;
};

struct process {
	VEC(struct mapping) mappings;
};

struct user_symbols {
	struct map images;    /* path -> struct image * */
	struct map processes; /* pid -> struct process */
	struct map answers;   /* "pid address" -> char *, NULL: looked up and not found */
};

#define IMAGES_MAX    10000
#define PROCESSES_MAX 100000
#define ANSWERS_MAX   1000000

struct user_symbols *user_symbols_new(void)
{
	struct user_symbols *symbols = xzalloc(sizeof(*symbols));

	(void)elf_version(EV_CURRENT);
	symbols->images = MAP_INIT(0, sizeof(struct image *), IMAGES_MAX);
	symbols->processes = MAP_INIT(sizeof(uint32_t), sizeof(struct process), PROCESSES_MAX);
	symbols->answers = MAP_INIT(2 * sizeof(uint64_t), sizeof(char *), ANSWERS_MAX);
	return symbols;
}

static void image_free(struct image *image)
{
	vec_each(&image->functions, function)
		free(function->name);
	vec_done(&image->functions);
	vec_done(&image->segments);
	free(image->name);
	free(image);
}

void user_symbols_free(struct user_symbols *symbols)
{
	const void *key;
	void *value;
	size_t at = 0;

	if (!symbols)
		return;
	while (map_next(&symbols->images, &at, &key, &value))
		image_free(*(struct image **)value);
	at = 0;
	while (map_next(&symbols->processes, &at, &key, &value))
		vec_done(&((struct process *)value)->mappings);
	at = 0;
	while (map_next(&symbols->answers, &at, &key, &value))
		free(*(char **)value);
	map_done(&symbols->images);
	map_done(&symbols->processes);
	map_done(&symbols->answers);
	free(symbols);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_functions(struct image *image, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_value)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && *name)
			vec_push(&image->functions, (struct function){symbol.st_value, symbol.st_size, xstrdup(name)});
	}
}

static void read_elf(struct image *image, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t segments = 0;
	GElf_Shdr header;

	if (elf_getphdrnum(elf, &segments) < 0)
		return;
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD)
			vec_push(&image->segments, segment);
	}
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			read_functions(image, elf, section, &header);
	vec_sort(&image->functions, by_address);
}

/* An unreadable file is an image without functions. */
static struct image *get_image(struct user_symbols *symbols, uint32_t pid, const char *path)
{
	struct image **known;
	_cleanup_free_ char *full = xasprintf("/proc/%u/root%s", pid, path);
	_cleanup_close_ int fd = -1;
	const char *slash;
	bool is_new;
	Elf *elf;

	known = map_put(&symbols->images, path, &is_new);
	if (!known || !is_new)
		return known ? *known : NULL;
	*known = xzalloc(sizeof(**known));
	slash = strrchr(path, '/');
	(*known)->name = xstrdup(slash ? slash + 1 : path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf)
		read_elf(*known, elf);
	(void)elf_end(elf);
	return *known;
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

/* "begin-end rwxp offset dev inode   path" */
static void add_mapping(struct user_symbols *symbols, struct process *process, uint32_t pid, char *line)
{
	char *end = strchr(line, '-'), *mode = end ? strchr(end, ' ') : NULL;
	char *offset = mode ? strchr(mode + 1, ' ') : NULL, *path = strchr(line, '/'), hex[32];
	struct mapping mapping = {};
	uint64_t *const values[] = {&mapping.begin, &mapping.end, &mapping.offset};
	const char *const texts[] = {line, end + 1, offset ? offset + 1 : NULL};

	if (!offset || !path || mode[3] != 'x')
		return;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		snprintf(hex, sizeof(hex), "0x%.*s", (int)strcspn(texts[i], "- "), texts[i]);
		if (parse_u64(hex, 0, UINT64_MAX, values[i]) < 0)
			return;
	}
	mapping.image = get_image(symbols, pid, path);
	if (mapping.image)
		vec_push(&process->mappings, mapping);
}

static void read_mappings(struct user_symbols *symbols, struct process *process, uint32_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)16 << 20);
	char path[64], *line, *rest;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	process->mappings.count = 0;
	if (buf_read_file(&text, path) < 0)
		return;
	for (rest = text.data; rest && *rest;) {
		line = strsep(&rest, "\n");
		add_mapping(symbols, process, pid, line);
	}
}

static const struct mapping *find_mapping(const struct process *process, uint64_t address)
{
	vec_each(&process->mappings, mapping)
		if (address >= mapping->begin && address < mapping->end)
			return mapping;
	return NULL;
}

/* From a file offset to the address that symbols use. */
static uint64_t image_address(const struct image *image, uint64_t offset)
{
	vec_each(&image->segments, segment)
		if (offset >= segment->p_offset && offset < segment->p_offset + segment->p_filesz)
			return offset - segment->p_offset + segment->p_vaddr;
	return offset;
}

static char *name_of(const struct mapping *mapping, uint64_t address)
{
	uint64_t at = image_address(mapping->image, address - mapping->begin + mapping->offset);
	size_t low = bisect(mapping->image->functions.items, mapping->image->functions.count, address, at);

	if (low > 0) {
		const struct function *function = &mapping->image->functions.items[low - 1];

		if (at < function->address + max_of(function->size, 1u))
			return xstrdup(function->name);
	}
	return xasprintf("%s+0x%" PRIx64, mapping->image->name, at);
}

const char *user_symbols_find(struct user_symbols *symbols, uint32_t pid, uint64_t address)
{
	uint64_t key[2] = {pid, address};
	const struct mapping *mapping;
	struct process *process;
	bool is_new;
	char **answer = map_put(&symbols->answers, key, &is_new);

	if (!answer || !is_new)
		return answer ? *answer : NULL;
	process = map_put(&symbols->processes, &pid, NULL);
	if (!process)
		return NULL;
	mapping = find_mapping(process, address);
	if (!mapping) {
		read_mappings(symbols, process, pid);
		mapping = find_mapping(process, address);
	}
	if (mapping)
		*answer = name_of(mapping, address);
	return *answer;
}
