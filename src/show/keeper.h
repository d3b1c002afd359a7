/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory for copies of records: texts and lists that they point to, released together. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/value.h"
#include "snapshot/core/arena.h"

struct keeper {
	struct arena texts;
	VEC(void *) blocks; /* lists inside records */
	struct map copied;  /* texts by the address that they came from */
};

void keeper_init(struct keeper *keeper);
void keeper_clear(struct keeper *keeper);
void keeper_done(struct keeper *keeper);
/* The record was copied byte by byte: its texts and lists become the keeper's. Stacks are left out. */
void keeper_own(struct keeper *keeper, const struct record_type *type, void *data);
