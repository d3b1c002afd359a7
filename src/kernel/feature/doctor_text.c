/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "kernel/feature/doctor_text.h"
#include "view/tree.h"

static const struct {
	const char *word;
	enum out_style style;
} states[] = {
	[CHECK_OK] = {"ok", OUT_GREEN},
	[CHECK_LIMITED] = {"limited", OUT_YELLOW},
	[CHECK_MISSING] = {"missing", OUT_RED},
	[CHECK_UNKNOWN] = {"unknown", OUT_YELLOW},
};

/* A file written by a later version may hold a state that this one does not know. */
static unsigned state_of(const struct check *check)
{
	return min_of(check->state, (unsigned)CHECK_UNKNOWN);
}

static bool is_ok(const struct check_list *list, const char *name)
{
	const struct check *check = check_find(list, name);

	return check && check->state == CHECK_OK;
}

/* Also false where an older version did not check it. */
static bool is_refused(const struct check_list *list, const char *name)
{
	const struct check *check = check_find(list, name);

	return check && check->state == CHECK_MISSING;
}

/* "a, b and c": the named checks that are not ok; false when all are ok. */
static bool add_lacking(const struct check_list *list, const char *const *names, size_t count, struct buf *text)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		left += !is_ok(list, names[i]);
	if (left == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (is_ok(list, names[i]))
			continue;
		left--;
		buf_add_format(text, "%s%s", names[i], left > 1 ? ", " : left == 1 ? " and " : "");
	}
	return true;
}

/* Which kind of program delivers events; false when none does. */
static bool add_event_source(const struct check_list *list, struct buf *text)
{
	static const char *const privileges[] = {"cap_bpf", "cap_perfmon"};
	_cleanup_buf_ struct buf lacking = BUF_INIT(256);

	if (!is_ok(list, "btf")) {
		buf_add_text(text, "no events: cannot read the kernel's BTF");
		return false;
	}
	if (is_ok(list, "tp_btf")) {
		buf_add_text(text, "events from BTF tracepoints");
	} else if (is_ok(list, "raw_tp") || is_ok(list, "tracepoint")) {
		buf_add_text(text, "events from plain tracepoints");
	} else if (is_ok(list, "fentry") || is_ok(list, "kprobe")) {
		buf_add_text(text, "events only from probes on kernel functions");
	} else {
		buf_add_text(text, "no events");
		if (add_lacking(list, privileges, ARRAY_SIZE(privileges), &lacking))
			buf_add_format(text, ": this user lacks %s", buf_text(&lacking));
		return false;
	}
	if (is_refused(list, "atomics"))
		buf_add_text(text, ", without BPF atomics");
	return true;
}

/* The number of tracepoints available, and the other hooks that are not. */
static void add_hooks(const struct check_list *list, struct buf *text)
{
	static const char *const hooks[] = {"fentry", "kprobe", "uprobe", "iter_tcp", "sockops", "ring_buffer"};
	_cleanup_buf_ struct buf lacking = BUF_INIT(256);
	size_t there = 0, total = 0;

	vec_each(&list->checks, check) {
		if (strcmp(check->group, "tracepoints") != 0)
			continue;
		total++;
		there += check->state == CHECK_OK;
	}
	if (total > 0)
		buf_add_format(text, " (%zu of %zu tracepoints exist)", there, total);
	if (add_lacking(list, hooks, ARRAY_SIZE(hooks), &lacking))
		buf_add_format(text, "; not available: %s", buf_text(&lacking));
}

void doctor_add_verdict(const struct check_list *list, struct buf *text)
{
	static const char *const diag[] = {"sock_diag_tcp", "sock_diag_udp", "sock_diag_unix"};
	const struct check *kernel = check_find(list, "kernel");
	_cleanup_buf_ struct buf lacking = BUF_INIT(256);

	if (kernel && kernel->detail[0])
		text_add_terminal(text, kernel->detail, strnlen(kernel->detail, sizeof(kernel->detail)));
	else
		buf_add_text(text, "this host");
	buf_add_text(text, ": ");
	if (add_event_source(list, text))
		add_hooks(list, text);
	if (add_lacking(list, diag, ARRAY_SIZE(diag), &lacking))
		buf_add_format(text, "; not available: %s.", buf_text(&lacking));
	else
		buf_add_text(text, "; sock_diag works.");
}

/* Checks of one group with the same result share one line. */
static bool is_same_result(const struct check *a, const struct check *b)
{
	return a->state == b->state && strcmp(a->detail, b->detail) == 0 && strcmp(a->how, b->how) == 0;
}

struct section {
	VEC(const struct check *) checks;
	VEC(bool) shown;
};

/* More than these appear only with --all. */
#define WITHOUT_MAX 8

/* One line per loss, with the names of the checks that share it. */
static void add_each_without(struct tree *tree, struct tree_node *node, const struct section *section,
			     const struct check *leader)
{
	for (size_t i = 0; i < section->checks.count; i++) {
		_cleanup_buf_ struct buf names = BUF_INIT(BUF_CAP_DEFAULT);
		const struct check *check = section->checks.items[i];
		bool is_first = true;

		for (size_t k = 0; k < section->checks.count; k++) {
			const struct check *other = section->checks.items[k];

			if (!is_same_result(other, leader) || strcmp(other->without, check->without) != 0)
				continue;
			is_first = is_first && k >= i;
			buf_add_format(&names, "%s%s", names.len ? ", " : "", other->check);
		}
		if (is_first && is_same_result(check, leader))
			tree_add(tree, node, OUT_PLAIN, "without", "%s: %s", buf_text(&names), check->without);
	}
}

/* What is lost without the checks that share one result: once when it is the same for all, else per check. */
static void add_without(struct tree *tree, struct tree_node *node, const struct section *section, size_t first)
{
	const struct check *leader = section->checks.items[first];
	unsigned same = 0, different = 0;

	for (size_t i = first; i < section->checks.count; i++) {
		const struct check *check = section->checks.items[i];

		if (is_same_result(check, leader))
			*(strcmp(check->without, leader->without) == 0 ? &same : &different) += 1;
	}
	if (different == 0 && leader->without[0])
		tree_add(tree, node, OUT_PLAIN, same > 1 ? "without them:" : "without it:", "%s", leader->without);
	else if (same + different > WITHOUT_MAX)
		tree_add(tree, node, OUT_PLAIN, "without them:", "nest doctor --all lists what is lost without each");
	else if (different > 0)
		add_each_without(tree, node, section, leader);
}

/* The check and the later ones with the same result. */
static void add_result(struct tree *tree, struct tree_node *parent, struct section *section, size_t first,
		       bool unfolded)
{
	const struct check *leader = section->checks.items[first];
	_cleanup_buf_ struct buf names = BUF_INIT(BUF_CAP_DEFAULT);
	unsigned state = state_of(leader);
	struct tree_node *node;

	for (size_t i = first; i < section->checks.count; i++) {
		if (i != first && (unfolded || !is_same_result(section->checks.items[i], leader)))
			continue;
		section->shown.items[i] = true;
		buf_add_format(&names, "%s%s", names.len ? ", " : "", section->checks.items[i]->check);
		if (unfolded)
			break;
	}
	node = tree_add(tree, parent, states[state].style, states[state].word, "%s%s%s", buf_text(&names),
			leader->detail[0] ? ": " : "", leader->detail);
	if (unfolded && leader->without[0])
		tree_add(tree, node, OUT_PLAIN, "without it:", "%s", leader->without);
	else if (!unfolded)
		add_without(tree, node, section, first);
	if (leader->how[0])
		tree_add(tree, node, OUT_PLAIN, "how:", "%s", leader->how);
}

/* Checks that are ok, by name only. */
static void add_folded(struct tree *tree, struct tree_node *parent, const struct section *section)
{
	_cleanup_buf_ struct buf names = BUF_INIT(BUF_CAP_DEFAULT);

	vec_each(&section->checks, check)
		if ((*check)->state == CHECK_OK)
			buf_add_format(&names, "%s%s", names.len ? ", " : "", (*check)->check);
	if (names.len > 0)
		tree_add(tree, parent, OUT_GREEN, "ok", "%s", buf_text(&names));
}

static void add_section(struct tree *tree, const char *group, struct section *section, bool unfolded)
{
	_cleanup_buf_ struct buf title = BUF_INIT(256);
	unsigned counts[ARRAY_SIZE(states)] = {};
	struct tree_node *root;

	vec_each(&section->checks, check)
		counts[state_of(*check)]++;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (counts[i] > 0)
			buf_add_format(&title, "%s%u %s", title.len ? ", " : "", counts[i], states[i].word);
	root = tree_add(tree, NULL, OUT_BOLD, group[0] ? group : "others", "%s", buf_text(&title));
	if (!unfolded)
		add_folded(tree, root, section);
	for (size_t i = 0; i < section->checks.count; i++) {
		bool folded_away = !unfolded && section->checks.items[i]->state == CHECK_OK;

		if (!folded_away && !section->shown.items[i])
			add_result(tree, root, section, i, unfolded);
	}
}

/* Groups in the order of their first check. */
static void add_group(struct tree *tree, const struct check_list *list, size_t first, bool unfolded)
{
	const char *group = list->checks.items[first].group;
	struct section section = {};

	for (size_t i = 0; i < first; i++)
		if (strcmp(list->checks.items[i].group, group) == 0)
			return;
	for (size_t i = first; i < list->checks.count; i++)
		if (strcmp(list->checks.items[i].group, group) == 0) {
			vec_push(&section.checks, &list->checks.items[i]);
			vec_push(&section.shown, false);
		}
	add_section(tree, group, &section, unfolded);
	vec_done(&section.checks);
	vec_done(&section.shown);
}

void doctor_print(const struct check_list *all, const struct check_list *wanted, bool unfolded, struct out *out)
{
	_cleanup_(tree_freep) struct tree *tree = tree_new();

	doctor_add_verdict(all, &out->pending);
	out_end_line(out);
	for (size_t i = 0; i < wanted->checks.count; i++)
		add_group(tree, wanted, i, unfolded);
	if (wanted->checks.count > 0)
		out_end_line(out);
	tree_print(tree, out);
}
