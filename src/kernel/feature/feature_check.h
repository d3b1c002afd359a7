/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of one check: what was found, what is lost without it, how to get it. */
#pragma once

#include "base/vec.h"
#include "record/field.h"

enum check_state {
	CHECK_OK,
	CHECK_LIMITED, /* partly available */
	CHECK_MISSING,
	CHECK_UNKNOWN, /* could not be checked; the detail says why */
};

struct check {
	char check[40];
	char group[16];
	uint8_t state;
	char detail[400];
	char without[240];
	char how[320];
};

extern const struct record_type check_type;

struct check_list {
	VEC(struct check) checks;
};

void check_list_done(struct check_list *list);
/* The check of that name, or NULL. */
const struct check *check_find(const struct check_list *list, const char *name);

/* Appends; the pointer is valid until the next call. Texts that do not fit are cut at a character boundary. */
struct check *check_add(struct check_list *list, const char *group, const char *name);
void check_result(struct check *check, enum check_state state, const char *format, ...) _printf_(3, 4);
/* Terminates every text inside its member: for checks read from a file. */
void check_terminate(struct check *check);
/* Ignored for a check that is ok: it needs no advice. */
void check_advise(struct check *check, const char *without, const char *format, ...) _printf_(3, 4);

#define _cleanup_checks_ _cleanup_(check_list_done)

/* "EPERM (Operation not permitted)" of a negative errno; the text is valid until the next call. */
const char *check_error_words(int error);
