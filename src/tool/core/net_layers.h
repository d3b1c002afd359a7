/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which layer of the network stack a function of the kernel belongs to: a table of names. */
#pragma once

#include "record/field.h"

/*
 * The layer of the innermost function that has one: a copy or an allocation counts for whoever asked for it. "user" for
 * no stack at all, "idle" for a processor without work, "other" for the rest of the kernel. The texts are constants.
 */
const char *net_layer_of_stack(const struct stack *stack);
/* Of one function; NULL when it belongs to none. */
const char *net_layer_of(const char *function);
