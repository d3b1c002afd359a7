/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of records as a table in an open output. */
#pragma once

#include "base/out.h"
#include "record/value.h"

void list_print(struct out *out, const struct record_type *type, const struct list *list);
