/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* func.call: a kernel function was called. */
#pragma once

#include "event/core/head.h"

#define FUNC_CALL_NAME_LEN 64

struct func_call {
	__u64 address;
	char function[FUNC_CALL_NAME_LEN]; /* made in user space from the address */
};

struct func_call_event {
	struct event_head head;
	struct func_call data;
};

/* Functions to probe from the next run on: patterns with * and ?, joined by commas. The text must stay valid. */
void func_call_set_patterns(const char *patterns);
/* Name of the function at the address; NULL: unknown. Never freed. */
const char *func_call_name(unsigned long long address);
