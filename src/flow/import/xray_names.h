/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the function numbers of an XRay log, from the program's section xray_instr_map. */
#pragma once

#include "base/vec.h"
#include "base/why.h"

struct xray_names {
	VEC(char *) items; /* name of function N at N - 1; NULL: no symbol */
};

int xray_names_read(const char *program, struct xray_names *ret_names, struct why *why) _must_check_;
void xray_names_done(struct xray_names *names);

static inline const char *xray_name(const struct xray_names *names, uint32_t number)
{
	return number && number <= names->items.count ? names->items.items[number - 1] : NULL;
}
