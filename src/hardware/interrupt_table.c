/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hardware/interrupt_table.h"

#include <string.h>

#include "snapshot/core/scan.h"

/* Beyond any machine. */
#define COLUMNS_MAX 8192
#define ROWS_MAX    65536

/* "           CPU0       CPU1": CPUs that are offline have no column. */
static void parse_head(struct interrupt_table *table, const char *line)
{
	const char *word;
	size_t len;

	while (scan_word(&line, &word, &len) && table->cpus.count < COLUMNS_MAX) {
		uint32_t cpu = 0;

		if (len < 4 || len > 8 || memcmp(word, "CPU", 3) != 0)
			continue;
		for (size_t i = 3; i < len && word[i] >= '0' && word[i] <= '9'; i++)
			cpu = cpu * 10 + (uint32_t)(word[i] - '0');
		vec_push(&table->cpus, cpu);
	}
}

/* " 38:  0  27645  PCI-MSIX-0000:00:03.0  1-edge  virtio2-input.0": counts, chip, hardware number, action. */
static void parse_row(struct interrupt_table *table, const char *line)
{
	struct interrupt_row row = {.first = table->counts.count};
	const char *word, *end = line + strcspn(line, "\n");
	uint64_t value = 0;
	size_t len;

	if (!scan_word(&line, &word, &len) || len < 2 || len > 9 || word[len - 1] != ':')
		return;
	for (size_t i = 0; i + 1 < len; i++) {
		if (word[i] < '0' || word[i] > '9')
			return;
		value = value * 10 + (uint64_t)(word[i] - '0');
	}
	row.irq = (uint32_t)value;
	for (size_t i = 0; i < table->cpus.count; i++) {
		if (!scan_u64(&line, &value))
			value = 0;
		vec_push(&table->counts, value);
	}
	/* The action is what follows the words of the chip: the last blanks of more than one stand before it. */
	for (const char *at = end; at > line + 1; at--)
		if (at[-1] == ' ' && at[-2] == ' ') {
			snprintf(row.action, sizeof(row.action), "%.*s",
				 (int)min_of((size_t)(end - at), sizeof(row.action) - 1), at);
			break;
		}
	vec_push(&table->rows, row);
}

void interrupt_table_parse(struct interrupt_table *table, const char *text)
{
	parse_head(table, text);
	while (scan_next_line(&text) && table->rows.count < ROWS_MAX)
		parse_row(table, text);
}

void interrupt_table_done(struct interrupt_table *table)
{
	vec_done(&table->cpus);
	vec_done(&table->counts);
	vec_done(&table->rows);
}

const struct interrupt_row *interrupt_table_find(const struct interrupt_table *table, uint32_t irq)
{
	vec_each(&table->rows, row)
		if (row->irq == irq)
			return row;
	return NULL;
}
