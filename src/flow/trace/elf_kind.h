/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kind of an executable, to decide whether a library can be preloaded. */
#pragma once

enum elf_kind {
	ELF_KIND_OTHER = 0, /* a script, or unreadable */
	ELF_KIND_DYNAMIC,   /* LD_PRELOAD works */
	ELF_KIND_STATIC,    /* statically linked */
	ELF_KIND_SECURE,    /* set-user-ID of another user: the loader ignores LD_PRELOAD */
};

/* Of the program that execvp() would run. */
enum elf_kind elf_kind_of(const char *command);
