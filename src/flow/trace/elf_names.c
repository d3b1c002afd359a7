/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/elf_names.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include "base/bisect.h"

#define NAMES_MAX ((size_t)4 << 20)

static int by_address(const void *a, const void *b)
{
	const struct elf_name *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

/* Local symbols follow the one of their source file. */
static void take_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct elf_names *names)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	const char *file = NULL;

	for (size_t i = 0; data && i < count && names->items.count < NAMES_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		if (GELF_ST_TYPE(symbol.st_info) == STT_FILE)
			file = *name ? name : NULL;
		else if (*name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value)
			vec_push(&names->items,
				 (struct elf_name){
					 .address = symbol.st_value,
					 .size = symbol.st_size,
					 .name = xstrdup(name),
					 .file = file && GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? xstrdup(file)
												   : NULL,
				 });
	}
}

static void take_build_id(Elf_Scn *section, struct elf_names *names)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name, description;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0) {
		const uint8_t *bytes = (const uint8_t *)data->d_buf + description;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
		    note.n_descsz * 2 >= sizeof(names->build_id))
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			snprintf(names->build_id + i * 2, 3, "%02x", bytes[i]);
	}
}

void elf_names_take(Elf *elf, struct elf_names *ret_names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*ret_names = (struct elf_names){};
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			take_symbols(elf, section, &header, ret_names);
		else if (header.sh_type == SHT_NOTE)
			take_build_id(section, ret_names);
	}
	vec_sort(&ret_names->items, by_address);
}

int elf_names_read(const char *path, struct elf_names *ret_names, struct why *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int result = 0;
	Elf *elf;

	*ret_names = (struct elf_names){};
	if (fd < 0 || fstat(fd, &st) < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EBADMSG, "%s: not a regular file", path);
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		elf_names_take(elf, ret_names);
	else
		result = why_set(why, -EBADMSG, "%s: not an ELF file", path);
	elf_end(elf);
	return result;
}

void elf_names_done(struct elf_names *names)
{
	vec_each(&names->items, item) {
		free(item->name);
		free(item->file);
	}
	vec_done(&names->items);
}

const struct elf_name *elf_names_find(const struct elf_names *names, uint64_t address)
{
	size_t low = bisect(names->items.items, names->items.count, address, address);

	/* An address may have several symbols, some without a size. */
	while (low-- > 0) {
		const struct elf_name *item = &names->items.items[low];

		if (address == item->address || address - item->address < item->size)
			return item;
		if (item->size)
			break;
	}
	return NULL;
}
