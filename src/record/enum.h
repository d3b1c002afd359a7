/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named numbers. */
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
	bool learned; /* the table was allocated by enum_value_learn */
};

/* By value, or NULL. */
const char *enum_name_find(struct enum_names *names, uint64_t value);
/* By name; ignores case, - equals _; -ENOENT. */
int enum_value_find(struct enum_names *names, const char *name, uint64_t *ret_value) _must_check_;
/*
 * The same, but an unknown name gets a new number (at most max): files may hold names that this kernel does not have.
 * -ENOSPC when no number is left.
 */
int enum_value_learn(struct enum_names *names, const char *name, uint64_t max, uint64_t *ret_value) _must_check_;
/* Loads the names on first use. */
const struct enum_names *enum_names_get(struct enum_names *names);
/* Equal, ignoring case, with - equal to _. */
bool enum_same_word(const char *a, const char *b);

/* ECONNREFUSED and so on; 0: no error. */
extern struct enum_names errno_names;
/* What a person reads about it, as strerror, also for codes that are internal to the kernel. */
const char *enum_describe_errno(int error);
