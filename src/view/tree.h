/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of lines: the caller adds nodes top-down, the view draws branches and wraps lines to the terminal's width. */
#pragma once

#include "base/out.h"

struct tree;
struct tree_node;

struct tree *tree_new(void);
void tree_free(struct tree *tree);
static inline void tree_freep(struct tree **tree)
{
	tree_free(*tree);
}

/* parent NULL adds a root. Text is copied, and escaped when drawn. mark (may be NULL) is a short word before it. */
struct tree_node *tree_add(struct tree *tree, struct tree_node *parent, enum out_style style, const char *mark,
			   const char *format, ...) _printf_(5, 6);
void tree_print(const struct tree *tree, struct out *out);
