// SPDX-License-Identifier: GPL-2.0-only
/* Names the kernel function at an address, as the kernel prints it (BPF_PROG_TEST_RUN). */
#include "kernel/symbol_at.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u64 symbol_address;
char symbol_name[SYMBOL_AT_MAX];

SEC("raw_tp")
int symbol_at(void *ctx)
{
	__u64 arguments[] = {symbol_address};
	static const char format[] = "%ps";

	bpf_snprintf(symbol_name, sizeof(symbol_name), format, arguments, sizeof(arguments));
	return 0;
}
