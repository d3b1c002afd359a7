/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps kernel functions to layers of the network stack. */
#pragma once

#include "record/field.h"

/*
 * Layer of the innermost function that has one: a copy or an allocation counts for its caller. "user" without a kernel
 * stack, "idle" for an idle CPU, "other" for the rest of the kernel. Returns constants.
 */
const char *net_layer_of_stack(const struct stack *stack);
/* Layer of one function; NULL: none. */
const char *net_layer_of(const char *function);
