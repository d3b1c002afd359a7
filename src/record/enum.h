/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with names. */
#pragma once

#include "base/macros.h"

struct enum_name {
	uint64_t value;
	const char *name;
	const char *help; /* may be NULL */
};

/* A set of names, in a table or loaded from the running kernel at first use. */
struct enum_names {
	const struct enum_name *items;
	size_t count;
	void (*load)(struct enum_names *names);
	bool learned; /* the table was made by enum_value_learn */
};

/* By value, or NULL. */
const char *enum_name_find(struct enum_names *names, uint64_t value);
/* By name, ignoring case and taking - for _; -ENOENT. */
int enum_value_find(struct enum_names *names, const char *name, uint64_t *ret_value) _must_check_;
/*
 * The same, but a name that is not there gets a number of its own (at most max): files tell names that this kernel does
 * not have. -ENOSPC when there is no room for another.
 */
int enum_value_learn(struct enum_names *names, const char *name, uint64_t max, uint64_t *ret_value) _must_check_;
/* Loads the names if need be. */
const struct enum_names *enum_names_get(struct enum_names *names);
/* The same name but for case, and - for _. */
bool enum_same_word(const char *a, const char *b);

/* ECONNREFUSED and so on; 0 is no error. */
extern struct enum_names errno_names;
