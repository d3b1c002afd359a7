/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses: of the kernel from /proc/kallsyms, of processes from their mapped files. */
#pragma once

#include "base/why.h"

struct kernel_symbols;

/* -EPERM when the kernel hides the addresses. */
int kernel_symbols_load(struct kernel_symbols **ret_symbols, struct why *why) _must_check_;
void kernel_symbols_free(struct kernel_symbols *symbols);
/* The function that the address is in; NULL when none is known. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);
/* Calls fn for every function in the order of their addresses. */
void kernel_symbols_each(const struct kernel_symbols *symbols,
			 void (*fn)(const char *name, uint64_t address, void *context), void *context);

struct user_symbols;

struct user_symbols *user_symbols_new(void);
void user_symbols_free(struct user_symbols *symbols);
/*
 * "function" or "file+0x1234"; NULL when the process is gone or nothing is mapped there. Files are read once, mappings of
 * a process whenever an address is not in those that are known. Valid until the symbols are freed.
 */
const char *user_symbols_find(struct user_symbols *symbols, uint32_t pid, uint64_t address);
