/* SPDX-License-Identifier: GPL-2.0-only */
/* Output of the BPF program that finds unanswered requests. */
#pragma once

#include <linux/types.h>

struct asking_row {
	__u64 cookie;
	__u64 sent_last;
	__u64 delivered_us; /* since data that was sent was last acknowledged */
};
