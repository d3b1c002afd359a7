/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened, as a sentence, and the signature under which it is found again. */
#pragma once

#include "oops/oops.h"

void oops_what_say(struct oops *oops);
void oops_what_sign(struct oops *oops);
/* Which earlier reports each may be a consequence of. */
void oops_what_relate(struct oops_list *list);
/* The meaning of a taint flag; NULL: unknown. */
const char *oops_what_taint(char flag);
