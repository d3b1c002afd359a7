/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks, the input of flame graph programs: words;outermost;...;innermost COUNT. */
#pragma once

#include "base/buf.h"
#include "record/field.h"

/* All functions, outermost first, each after a separator, with the mark ("_[k]" for kernel functions, as in perf). */
void folded_add_stack(struct buf *line, const struct stack *stack, const char *mark);
