/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of /sys and /proc about hardware; golden tests judge whole trees of them. */
#include <string.h>

#include "hardware/nic.h"
#include "unit.h"

static const char *round_trip(const char *text, bool is_mask, struct buf *shown)
{
	struct cpu_list list;

	buf_clear(shown);
	if (!(is_mask ? cpu_list_parse_mask(text, &list) : cpu_list_parse(text, &list)))
		return "refused";
	cpu_list_format(&list, shown);
	return buf_text(shown);
}

TEST(sets_of_cpus_are_read)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(65536);

	CHECK_EQ_TEXT(round_trip("0-3,8\n", false, &shown), "0-3,8");
	CHECK_EQ_TEXT(round_trip("", false, &shown), "");
	CHECK_EQ_TEXT(round_trip("7", false, &shown), "7");
	CHECK_EQ_TEXT(round_trip("8191", false, &shown), "8191");
	CHECK_EQ_TEXT(round_trip("8192", false, &shown), "refused");
	CHECK_EQ_TEXT(round_trip("3-1", false, &shown), "refused");
	CHECK_EQ_TEXT(round_trip("1,x", false, &shown), "refused");
	CHECK_EQ_TEXT(round_trip("00000001,80000003\n", true, &shown), "0-1,31-32");
	CHECK_EQ_TEXT(round_trip("0", true, &shown), "");
	CHECK_EQ_TEXT(round_trip("", true, &shown), "refused");
	CHECK_EQ_TEXT(round_trip("g", true, &shown), "refused");
}

TEST(interrupts_are_read)
{
	_cleanup_interrupts_ struct interrupt_table table = {};
	const struct interrupt_row *row;

	interrupt_table_parse(&table, "           CPU0       CPU2       \n"
				      " 38:          5      27645 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
				      " 16:          1          2   IO-APIC  16-fasteoi   ehci_hcd:usb1, eth0\n"
				      "NMI:          0          0   Non-maskable interrupts\n"
				      "ERR:          0\n");
	REQUIRE(table.rows.count == 2 && table.cpus.count == 2);
	CHECK_EQ_UINT(table.cpus.items[1], 2);
	row = interrupt_table_find(&table, 38);
	REQUIRE(row != NULL);
	CHECK_EQ_TEXT(row->action, "virtio2-input.0");
	CHECK_EQ_UINT(table.counts.items[row->first + 1], 27645);
	CHECK_EQ_TEXT(interrupt_table_find(&table, 16)->action, "ehci_hcd:usb1, eth0");
	CHECK(!interrupt_table_find(&table, 17));
}

TEST(pcie_links_have_a_rate)
{
	struct pcie_link link = pcie_link_parse("8.0 GT/s PCIe", "8");

	CHECK_EQ_UINT(link.width, 8);
	CHECK_NEAR(pcie_link_rate(&link), 63.0e9, 0.1e9);
	link = pcie_link_parse("2.5 GT/s PCIe", "1");
	CHECK_NEAR(pcie_link_rate(&link), 2.0e9, 1);
	link = pcie_link_parse("32.0 GT/s PCIe", "16");
	CHECK_NEAR(pcie_link_rate(&link), 504e9, 1e9);
	CHECK_EQ_UINT(pcie_link_parse("Unknown", "255").width, 0);
	CHECK_EQ_UINT(pcie_link_parse("8.0 GT/s PCIe", "255").width, 0);
	CHECK_EQ_UINT(pcie_link_parse("8.0 GT/s PCIe", "0").width, 0);
	CHECK_EQ_UINT(pcie_link_parse("", "").width, 0);
	link = (struct pcie_link){};
	CHECK_NEAR(pcie_link_rate(&link), 0, 0.1);
}
