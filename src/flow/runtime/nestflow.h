/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For programs that mark handovers between threads in their traces: report what is pushed to and popped from a queue.
 * The functions are weak: without libnestflow.so preloaded they are NULL, and NESTFLOW does nothing.
 *
 *   NESTFLOW(push, job);
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void nestflow_push(const void *handed) __attribute__((weak));
void nestflow_pop(const void *handed) __attribute__((weak));
void nestflow_value(uint64_t seen) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#define NESTFLOW(what, value)                                                                                          \
	do {                                                                                                           \
		if (nestflow_##what)                                                                                   \
			nestflow_##what(value);                                                                        \
	} while (0)
