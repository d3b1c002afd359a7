/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/interrupts */
#pragma once

#include "base/vec.h"

struct interrupt_row {
	uint32_t irq;
	char action[64]; /* "eth0-TxRx-0", "virtio2-input.0"; of several handlers the whole list */
	size_t first;    /* of its counts, one per CPU column */
};

struct interrupt_table {
	VEC(uint32_t) cpus; /* the number of each column */
	VEC(uint64_t) counts;
	VEC(struct interrupt_row) rows;
};

/* Lines of any form are accepted; those without a number are left out. */
void interrupt_table_parse(struct interrupt_table *table, const char *text);
void interrupt_table_done(struct interrupt_table *table);
/* NULL: it is not there. */
const struct interrupt_row *interrupt_table_find(const struct interrupt_table *table, uint32_t irq);
#define _cleanup_interrupts_ _cleanup_(interrupt_table_done)
