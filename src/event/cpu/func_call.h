/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* func.call: a function of the kernel was called. */
#pragma once

#include "event/core/head.h"

#define FUNC_CALL_NAME_LEN 64

struct func_call {
	__u64 address;
	char function[FUNC_CALL_NAME_LEN]; /* made by the program from the address */
};

struct func_call_event {
	struct event_head head;
	struct func_call data;
};

/* Which functions, from the next run on: patterns with * and ?, joined by commas. The text must live as long. */
void func_call_set_patterns(const char *patterns);
/* The name of the function that the address is in; NULL when there is none. Lives as long as the program. */
const char *func_call_name(unsigned long long address);
