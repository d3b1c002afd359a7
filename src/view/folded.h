/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks, as flame graph programs read them: words;outermost;...;innermost COUNT. */
#pragma once

#include "base/buf.h"
#include "record/field.h"

/* A word of the line. What separates cannot be part of it. */
void folded_add_frame(struct buf *line, const char *text, size_t n);
/* All functions, outermost first, each behind a separator, with the mark ("_[k]" for the kernel's, as in perf). */
void folded_add_stack(struct buf *line, const struct stack *stack, const char *mark);
