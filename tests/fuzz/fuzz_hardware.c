/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of /sys and /proc about hardware as no kernel writes them. */
#include "fuzz.h"
#include "hardware/nic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_interrupts_ struct interrupt_table table = {};
	_cleanup_buf_ struct buf shown = BUF_INIT(BUF_CAP_DEFAULT);
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct cpu_list list, again;
	struct pcie_link link;

	interrupt_table_parse(&table, text);
	fuzz_require(table.counts.count == table.rows.count * table.cpus.count);
	vec_each(&table.rows, row)
		fuzz_require(strnlen(row->action, sizeof(row->action)) < sizeof(row->action));
	if (cpu_list_parse(text, &list)) {
		cpu_list_format(&list, &shown);
		fuzz_require(cpu_list_parse(buf_text(&shown), &again) && memcmp(&list, &again, sizeof(list)) == 0);
	}
	(void)cpu_list_parse_mask(text, &list);
	link = pcie_link_parse(text, "4");
	fuzz_require(pcie_link_rate(&link) >= 0);
	return 0;
}
