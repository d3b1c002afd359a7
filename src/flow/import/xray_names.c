/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/import/xray_names.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>

#include "flow/trace/elf_names.h"

#define ENTRY_BYTES    32
#define ENTRY_FUNCTION 8
#define ENTRY_VERSION  18
/* From this version on an entry holds a relative address. */
#define VERSION_DISTANCE 2
#define FUNCTIONS_MAX    ((size_t)1 << 20)

struct reader {
	Elf *elf;
	size_t names_section;
	struct elf_names symbols;
	struct xray_names *names;
};

/* Functions are numbered in order of appearance; each has several consecutive entries. */
static void read_map(struct reader *r, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && data->d_buf ? data->d_size / ENTRY_BYTES : 0;
	uint64_t last = 0;

	for (size_t i = 0; i < count && r->names->items.count < FUNCTIONS_MAX; i++) {
		const uint8_t *entry = (const uint8_t *)data->d_buf + i * ENTRY_BYTES;
		const struct elf_name *name;
		uint64_t function;

		memcpy(&function, entry + ENTRY_FUNCTION, sizeof(function));
		if (entry[ENTRY_VERSION] >= VERSION_DISTANCE)
			function += header->sh_addr + i * ENTRY_BYTES + ENTRY_FUNCTION;
		if (i && function == last)
			continue;
		last = function;
		name = elf_names_find(&r->symbols, function);
		vec_push(&r->names->items, name ? xstrdup(name->name) : NULL);
	}
}

static void find_map(struct reader *r)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(r->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(r->elf, r->names_section, header.sh_name);
		if (name && strcmp(name, "xray_instr_map") == 0)
			read_map(r, section, &header);
	}
}

int xray_names_read(const char *program, struct xray_names *ret_names, struct why *why)
{
	_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct reader r = {.names = ret_names};
	int result = 0;

	*ret_names = (struct xray_names){};
	if (fd < 0)
		return why_set(why, -errno, "%s: %s", program, strerror(errno));
	(void)elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!r.elf || elf_kind(r.elf) != ELF_K_ELF || elf_getshdrstrndx(r.elf, &r.names_section) < 0) {
		result = why_set(why, -EBADMSG, "%s: not an ELF file", program);
	} else {
		elf_names_take(r.elf, &r.symbols);
		find_map(&r);
		if (!ret_names->items.count)
			result = why_set(why, -EBADMSG, "%s: not built with -fxray-instrument", program);
	}
	elf_names_done(&r.symbols);
	elf_end(r.elf);
	return result;
}

void xray_names_done(struct xray_names *names)
{
	vec_each(&names->items, name)
		free(*name);
	vec_done(&names->items);
}
