/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that the kernel gives addresses, against /proc/kallsyms. */
#include "unit.h"

#include "kernel/symbol_at.h"
#include "kernel/symbols.h"

struct wanted {
	const char *name;
	uint64_t address;
};

static void find(const char *name, uint64_t address, void *context)
{
	struct wanted *wanted = context;

	if (strcmp(name, wanted->name) == 0)
		wanted->address = address;
}

TEST(addresses_of_functions)
{
	static const char *const names[] = {"tcp_v4_rcv", "ip_error", "nf_hook_slow", "kfree_skb_list_reason"};
	const struct kernel_symbols *symbols;
	struct why why;
	unsigned found = 0;

	symbols = kernel_symbols_get(&why);
	if (!symbols)
		SKIP("%s", why.text);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct wanted wanted = {names[i], 0};

		kernel_symbols_each(symbols, find, &wanted);
		if (!wanted.address)
			continue;
		found++;
		/* Twice: the second answer is the one that was kept. */
		for (unsigned round = 0; round < 2; round++) {
			CHECK_EQ_TEXT(kernel_symbol_at(wanted.address + 4), names[i]);
			CHECK(kernel_symbol_at(wanted.address + 4) == kernel_symbol_at(wanted.address + 4));
		}
	}
	CHECK(found >= 3);
}

TEST(addresses_of_nothing)
{
	CHECK(kernel_symbol_at(16) == NULL);
}
