/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of user processes, from their mapped files. */
#pragma once

#include "base/macros.h"

struct user_symbols;

struct user_symbols *user_symbols_new(void);
void user_symbols_free(struct user_symbols *symbols);
/*
 * "function" or "file+0x1234"; NULL when the process is gone or the address is not mapped. Files are read once, the
 * mappings of a process whenever an address is not in the known ones. Valid until the symbols are freed.
 */
const char *user_symbols_find(struct user_symbols *symbols, uint32_t pid, uint64_t address);
