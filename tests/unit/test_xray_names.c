/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the functions of an XRay log, from programs that are written here section by section. */
#include <fcntl.h>
#include <gelf.h>

#include "flow/import/xray_names.h"
#include "unit.h"

#define MAP_ADDRESS 0x4000
#define ENTRY_BYTES 32

/* One sled: entry and exit of a function have one each. */
static void put_entry(uint8_t *map, size_t number, uint64_t function, uint8_t version)
{
	uint8_t *entry = map + number * ENTRY_BYTES;

	/* From version 2 on the address is relative to the place where it stands. */
	if (version >= 2)
		function -= MAP_ADDRESS + number * ENTRY_BYTES + 8;
	memcpy(entry + 8, &function, sizeof(function));
	entry[18] = version;
}

static void add_section(Elf *elf, uint32_t name, uint32_t type, void *data, size_t size, uint64_t address,
			uint32_t link)
{
	Elf_Scn *section = elf_newscn(elf);
	Elf_Data *content = elf_newdata(section);
	GElf_Shdr header;

	content->d_buf = data;
	content->d_size = size;
	content->d_align = 8;
	content->d_type = type == SHT_SYMTAB ? ELF_T_SYM : ELF_T_BYTE;
	REQUIRE(gelf_getshdr(section, &header));
	header.sh_name = name;
	header.sh_type = type;
	header.sh_addr = address;
	header.sh_link = link;
	header.sh_entsize = type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0;
	REQUIRE(gelf_update_shdr(section, &header));
}

/* A program with two functions and, where there is a map, their sleds. */
static void write_program(const char *path, uint8_t *map, size_t size)
{
	static char names[] = "\0.symtab\0.strtab\0.shstrtab\0xray_instr_map\0first\0second\0";
	Elf64_Sym symbols[3] = {
		{},
		{.st_name = 42,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = 1,
		 .st_value = 0x1000,
		 .st_size = 0x20},
		{.st_name = 48,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = 1,
		 .st_value = 0x1020,
		 .st_size = 0x10},
	};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	GElf_Ehdr head;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	REQUIRE(fd >= 0);
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	REQUIRE(elf && gelf_newehdr(elf, ELFCLASS64) && gelf_getehdr(elf, &head));
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_type = ET_DYN;
	head.e_machine = EM_X86_64;
	head.e_version = EV_CURRENT;
	head.e_shstrndx = 2;
	REQUIRE(gelf_update_ehdr(elf, &head));
	add_section(elf, 1, SHT_SYMTAB, symbols, sizeof(symbols), 0, 2);
	add_section(elf, 9, SHT_STRTAB, names, sizeof(names), 0, 0);
	if (size)
		add_section(elf, 27, SHT_PROGBITS, map, size, MAP_ADDRESS, 0);
	REQUIRE(elf_update(elf, ELF_C_WRITE) > 0);
	elf_end(elf);
	close(fd);
}

static char path[] = "/tmp/nest-unit-xray-XXXXXX";

static void make_path(void)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
}

TEST(functions_are_numbered_as_in_the_map)
{
	for (uint8_t version = 0; version <= 2; version += 2) {
		uint8_t map[5 * ENTRY_BYTES] = {};
		struct xray_names names;
		struct why why = {};

		unit_note("version %u", version);
		make_path();
		/* Two sleds of one function, two of the next, one without a symbol. */
		put_entry(map, 0, 0x1000, version);
		put_entry(map, 1, 0x1000, version);
		put_entry(map, 2, 0x1020, version);
		put_entry(map, 3, 0x1020, version);
		put_entry(map, 4, 0x9000, version);
		write_program(path, map, sizeof(map));
		REQUIRE(xray_names_read(path, &names, &why) == 0);
		CHECK_EQ_UINT(names.items.count, 3);
		CHECK_EQ_TEXT(xray_name(&names, 1), "first");
		CHECK_EQ_TEXT(xray_name(&names, 2), "second");
		CHECK(!xray_name(&names, 3));
		CHECK(!xray_name(&names, 0));
		CHECK(!xray_name(&names, 4));
		xray_names_done(&names);
		(void)unlink(path);
		memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	}
}

TEST(half_an_entry_is_none)
{
	uint8_t map[2 * ENTRY_BYTES] = {};
	struct xray_names names;
	struct why why = {};

	make_path();
	put_entry(map, 0, 0x1020, 2);
	put_entry(map, 1, 0x1000, 2);
	write_program(path, map, sizeof(map) - 1);
	REQUIRE(xray_names_read(path, &names, &why) == 0);
	CHECK_EQ_UINT(names.items.count, 1);
	CHECK_EQ_TEXT(xray_name(&names, 1), "second");
	xray_names_done(&names);
	(void)unlink(path);
}

TEST(programs_without_a_map_are_refused)
{
	struct xray_names names;
	struct why why = {};
	int fd;

	make_path();
	write_program(path, NULL, 0);
	CHECK_ERR(xray_names_read(path, &names, &why), -EBADMSG);
	CHECK_HAS_TEXT(why.text, "not built with -fxray-instrument");
	xray_names_done(&names);
	fd = open(path, O_WRONLY | O_TRUNC);
	REQUIRE(fd >= 0 && write(fd, "#!/bin/sh\n", 10) == 10);
	close(fd);
	CHECK_ERR(xray_names_read(path, &names, &why), -EBADMSG);
	CHECK_HAS_TEXT(why.text, "not an ELF file");
	xray_names_done(&names);
	(void)unlink(path);
	CHECK_ERR(xray_names_read(path, &names, &why), -ENOENT);
	xray_names_done(&names);
}
