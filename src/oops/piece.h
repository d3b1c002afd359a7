/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of lines of a kernel log. Every function takes terminated text and stays inside it. */
#pragma once

#include "base/macros.h"

/* name+0x12/0x34 [module] */
struct piece_symbol {
	const char *name;
	size_t name_len;
	uint32_t offset;
	uint32_t size;
	const char *module; /* NULL: none */
	size_t module_len;
};

/* The rest after the prefix; NULL: the text does not begin with it. */
const char *piece_after(const char *text, const char *prefix);
/* The rest after the first occurrence. */
const char *piece_behind(const char *text, const char *part);
const char *piece_blanks(const char *text);
/* Hexadecimal digits, at most 16, with or without 0x; returns what follows, or NULL. */
const char *piece_hex(const char *text, uint64_t *ret_value);
const char *piece_number(const char *text, uint64_t max, uint64_t *ret_value);
/* A symbol at the start; returns what follows, or NULL. */
const char *piece_symbol(const char *text, struct piece_symbol *ret_symbol);
/* The first symbol anywhere. */
const char *piece_find_symbol(const char *text, struct piece_symbol *ret_symbol);
/* "net/sched/sch_api.c:1191": its length, 0 when there is none. */
size_t piece_source(const char *text, size_t *ret_file_len, uint32_t *ret_line);
