/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "base/text.h"
#include "base/vec.h"
#include "view/tree.h"

struct tree_node {
	char *text;
	char *mark;
	enum out_style style;
	VEC(struct tree_node *) children;
};

struct tree {
	struct tree_node root; /* its children are the roots */
};

struct tree *tree_new(void)
{
	return xzalloc(sizeof(struct tree));
}

static void free_children(struct tree_node *node)
{
	vec_each(&node->children, child) {
		free_children(*child);
		free((*child)->text);
		free((*child)->mark);
		free(*child);
	}
	vec_done(&node->children);
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free_children(&tree->root);
	free(tree);
}

struct tree_node *tree_add(struct tree *tree, struct tree_node *parent, enum out_style style, const char *mark,
			   const char *format, ...)
{
	struct tree_node *node = xzalloc(sizeof(*node));
	va_list args;

	va_start(args, format);
	node->text = xvasprintf(format, args);
	va_end(args);
	node->style = style;
	node->mark = mark ? xstrdup(mark) : NULL;
	vec_push(parent ? &parent->children : &tree->root.children, node);
	return node;
}

struct branches {
	const char *middle, *last, *pass, *blank;
};

static const struct branches line_branches = {"\u251c\u2500 ", "\u2514\u2500 ", "\u2502  ", "   "};
static const struct branches ascii_branches = {"|- ", "`- ", "|  ", "   "};

static void print_node(const struct tree_node *node, struct out *out, size_t at, const char *rest_prefix)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	if (node->mark) {
		buf_add_format(&out->pending, "%s%s%s ", out_style_on(out, node->style), node->mark,
			       out_style_off(out, node->style));
		at += text_columns(node->mark, strlen(node->mark)) + 1;
	} else {
		buf_add_text(&out->pending, out_style_on(out, node->style));
	}
	text_add_terminal(&text, node->text, strlen(node->text));
	out_add_folded(out, buf_text(&text), at, rest_prefix);
	if (!node->mark)
		buf_add_text(&out->pending, out_style_off(out, node->style));
	out_end_line(out);
}

static void print_children(const struct tree_node *node, struct out *out, const char *prefix)
{
	const struct branches *branches = out->utf8 ? &line_branches : &ascii_branches;

	for (size_t i = 0; i < node->children.count; i++) {
		bool last = i + 1 == node->children.count;
		const struct tree_node *child = node->children.items[i];
		_cleanup_free_ char *below = xasprintf("%s%s", prefix, last ? branches->blank : branches->pass);
		/* Wrapped lines of a node keep the line to its children. */
		_cleanup_free_ char *folded = xasprintf("%s%s", below, child->children.count ? branches->pass : "   ");

		buf_add_format(&out->pending, "%s%s", prefix, last ? branches->last : branches->middle);
		print_node(child, out, text_columns(below, strlen(below)), folded);
		print_children(child, out, below);
	}
}

void tree_print(const struct tree *tree, struct out *out)
{
	for (size_t i = 0; i < tree->root.children.count; i++) {
		const struct tree_node *root = tree->root.children.items[i];

		print_node(root, out, 0, "   ");
		print_children(root, out, "");
	}
}
