/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of program a file is, for those who want to load a library into it. */
#pragma once

enum elf_kind {
	ELF_KIND_OTHER = 0, /* a script, or nothing that could be read */
	ELF_KIND_DYNAMIC,   /* the loader loads what it is told to */
	ELF_KIND_STATIC,    /* there is no loader */
	ELF_KIND_SECURE,    /* set-user-ID of somebody else: the loader listens to nobody */
};

/* Of the program that execvp() would start under that name. */
enum elf_kind elf_kind_of(const char *command);
