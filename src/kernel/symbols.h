/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel symbols, from /proc/kallsyms. */
#pragma once

#include "base/why.h"

struct kernel_symbols;

/* -EPERM when the kernel hides the addresses. */
int kernel_symbols_load(struct kernel_symbols **ret_symbols, struct why *why) _must_check_;
void kernel_symbols_free(struct kernel_symbols *symbols);
/* Opens the file, for a process that gives up CAP_SYSLOG before the first name is wanted. */
void kernel_symbols_hold(void);
/*
 * Those of this process, loaded once and never freed, so names may be handed out; NULL when they cannot be read, which
 * is not tried again: 122,000 lines take 100 ms. why may be NULL.
 */
const struct kernel_symbols *kernel_symbols_get(struct why *why);
/* Why kernel_symbols_get returned NULL; NULL: it did not. */
const char *kernel_symbols_missing(void);
/* The function at the address; NULL when unknown. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);
/* Calls fn for every function, sorted by address. */
void kernel_symbols_each(const struct kernel_symbols *symbols,
			 void (*fn)(const char *name, uint64_t address, void *context), void *context);
