/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities that nest may need, and those that this process holds. */
#pragma once

#include <linux/capability.h>

#include "base/macros.h"

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

/* The effective set. Needs no /proc. */
int capability_get(uint64_t *ret_mask) _must_check_;
/* Whether this process is in a user namespace of its own, whose capabilities do not count for the host. */
bool capability_is_elsewhere(void);
/* "CAP_BPF and CAP_PERFMON" for the bits of a mask; bits without a name are omitted. */
void capability_names(uint64_t mask, char *text, size_t size);
/*
 * Why the kernel denied something that these capabilities allow: "needs CAP_BPF", or that they are held and did not
 * help (a security module, another user namespace).
 */
void capability_refusal(uint64_t mask, char *text, size_t size);
/* In the syntax of setcap: "cap_bpf,cap_perfmon". */
void capability_setcap(uint64_t mask, char *text, size_t size);
