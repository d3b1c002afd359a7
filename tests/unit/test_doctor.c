/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/out.h"
#include "kernel/feature/doctor_text.h"
#include "kernel/feature/features.h"
#include "unit.h"

static void add(struct check_list *list, const char *group, const char *name, enum check_state state,
		const char *detail)
{
	struct check *check = check_add(list, group, name);

	check_result(check, state, "%s", detail);
	check_advise(check, "something", "somehow");
}

/* Output of doctor_print, without colours and width limit. */
static const char *printed(const struct check_list *list, bool unfolded)
{
	static char text[16384];
	int fd = memfd_create("out", MFD_CLOEXEC);
	struct out out;
	ssize_t n;

	REQUIRE(fd >= 0);
	out_init(&out, fd);
	out.color = out.utf8 = false;
	out.width = 0;
	doctor_print(list, list, unfolded, &out);
	CHECK_OK(out_flush(&out));
	n = pread(fd, text, sizeof(text) - 1, 0);
	REQUIRE(n >= 0);
	text[n] = '\0';
	(void)out_done(&out);
	(void)close(fd);
	return text;
}

static const char *verdict(const struct check_list *list)
{
	static char text[2048];
	_cleanup_buf_ struct buf buf = BUF_INIT(sizeof(text));

	doctor_add_verdict(list, &buf);
	snprintf(text, sizeof(text), "%s", buf_text(&buf));
	return text;
}

TEST(advice_only_where_something_is_wrong)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "g", "fine", CHECK_OK, "there");
	add(&list, "g", "gone", CHECK_MISSING, "not there");
	CHECK_EQ_TEXT(check_find(&list, "fine")->without, "");
	CHECK_EQ_TEXT(check_find(&list, "fine")->how, "");
	CHECK_EQ_TEXT(check_find(&list, "gone")->without, "something");
	CHECK_EQ_TEXT(check_find(&list, "gone")->how, "somehow");
	CHECK(!check_find(&list, "nosuch"));
}

TEST(texts_are_cut_between_characters)
{
	_cleanup_checks_ struct check_list list = {};
	struct check *check = check_add(&list, "g", "long");
	char text[1000];

	/* Two bytes per character, so that one would be cut in the middle: the member has an even size. */
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 3);
	check_result(check, CHECK_OK, "%s", text);
	CHECK_EQ_UINT(strlen(check->detail) % 2, 0);
	CHECK(strlen(check->detail) >= sizeof(check->detail) - 3);
}

TEST(texts_from_elsewhere_end_inside)
{
	struct check check;

	memset(&check, 'x', sizeof(check));
	check_terminate(&check);
	CHECK_EQ_UINT(strlen(check.check), sizeof(check.check) - 1);
	CHECK_EQ_UINT(strlen(check.group), sizeof(check.group) - 1);
	CHECK_EQ_UINT(strlen(check.detail), sizeof(check.detail) - 1);
	CHECK_EQ_UINT(strlen(check.without), sizeof(check.without) - 1);
	CHECK_EQ_UINT(strlen(check.how), sizeof(check.how) - 1);
}

TEST(verdict_of_nothing)
{
	struct check_list list = {};

	CHECK_HAS_TEXT(verdict(&list), "this host: no events");
}

TEST(verdict_names_the_carrier)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "kernel", "btf", CHECK_OK, "there");
	add(&list, "programs", "kprobe", CHECK_OK, "ran");
	CHECK_HAS_TEXT(verdict(&list), "events only from probes on kernel functions");
	add(&list, "programs", "raw_tp", CHECK_OK, "ran");
	CHECK_HAS_TEXT(verdict(&list), "events from plain tracepoints");
	add(&list, "programs", "tp_btf", CHECK_OK, "ran");
	CHECK_HAS_TEXT(verdict(&list), "events from BTF tracepoints");
	CHECK_HAS_TEXT(verdict(&list), "not available: fentry, uprobe");
	add(&list, "tracepoints", "tcp_probe", CHECK_OK, "there");
	add(&list, "tracepoints", "icmp_send", CHECK_MISSING, "not there");
	CHECK_HAS_TEXT(verdict(&list), "(1 of 2 tracepoints exist)");
}

TEST(verdict_blames_the_privilege)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "kernel", "btf", CHECK_OK, "there");
	add(&list, "privileges", "cap_bpf", CHECK_OK, "held");
	add(&list, "privileges", "cap_perfmon", CHECK_MISSING, "not held");
	CHECK_HAS_TEXT(verdict(&list), "no events: this user lacks cap_perfmon;");
}

TEST(verdict_blames_the_missing_types)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "kernel", "btf", CHECK_MISSING, "gone");
	add(&list, "programs", "raw_tp", CHECK_OK, "ran");
	CHECK_HAS_TEXT(verdict(&list), "no events: cannot read the kernel's BTF");
}

TEST(tree_folds_what_is_fine)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "first", "a", CHECK_OK, "detail of a");
	add(&list, "second", "b", CHECK_LIMITED, "detail of b");
	add(&list, "first", "c", CHECK_OK, "detail of c");
	CHECK_HAS_TEXT(printed(&list, false),
		       "first 2 ok\n`- ok a, c\nsecond 1 limited\n"
		       "`- limited b: detail of b\n   |- without it: something\n   `- how: somehow\n");
	CHECK_HAS_TEXT(printed(&list, true), "first 2 ok\n|- ok a: detail of a\n`- ok c: detail of c\n");
}

TEST(tree_tells_one_answer_once)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "g", "a", CHECK_MISSING, "EPERM");
	add(&list, "g", "b", CHECK_MISSING, "ENOENT");
	add(&list, "g", "c", CHECK_MISSING, "EPERM");
	CHECK_HAS_TEXT(printed(&list, false), "|- missing a, c: EPERM\n|  |- without them: something\n");
	CHECK_HAS_TEXT(printed(&list, true), "|- missing a: EPERM\n");
	/* Different losses are listed separately. */
	snprintf(list.checks.items[2].without, sizeof(list.checks.items[2].without), "more");
	CHECK_HAS_TEXT(
		printed(&list, false),
		"|- missing a, c: EPERM\n|  |- without a: something\n|  |- without c: more\n|  `- how: somehow\n");
}

TEST(tree_of_many_losses_points_to_all)
{
	_cleanup_checks_ struct check_list list = {};

	for (unsigned i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "c%u", i);
		add(&list, "g", name, CHECK_MISSING, "EPERM");
		snprintf(list.checks.items[i].without, sizeof(list.checks.items[i].without), "loss %u", i);
	}
	CHECK_HAS_TEXT(printed(&list, false), "without them: nest doctor --all");
	CHECK_HAS_TEXT(printed(&list, true), "without it: loss 19");
}

TEST(tree_takes_any_state)
{
	_cleanup_checks_ struct check_list list = {};

	add(&list, "", "odd", CHECK_OK, "from a later version");
	list.checks.items[0].state = 0xff;
	CHECK_HAS_TEXT(printed(&list, false), "others 1 unknown\n`- unknown odd: from a later version\n");
}

/* As the user who runs the tests: every group has results, every name occurs once, with advice where needed. */
TEST(looking_answers_everything)
{
	static const char *const groups[] = {"kernel",     "programs", "data",   "tracepoints",
					     "privileges", "host",     "sockets"};
	_cleanup_checks_ struct check_list list = {};
	unsigned counts[ARRAY_SIZE(groups)] = {};

	features_look(&list);
	REQUIRE(list.checks.count > 80);
	for (size_t i = 0; i < list.checks.count; i++) {
		const struct check *check = &list.checks.items[i];

		unit_note("%s", check->check);
		CHECK(check->state <= CHECK_UNKNOWN && check->detail[0]);
		CHECK((check->state == CHECK_OK) == (check->how[0] == '\0'));
		CHECK((check->state == CHECK_OK) == (check->without[0] == '\0'));
		CHECK(check_find(&list, check->check) == check);
		for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
			counts[g] += strcmp(check->group, groups[g]) == 0;
		/* Nothing is truncated. */
		CHECK(strlen(check->detail) < sizeof(check->detail) - 1 && strlen(check->how) < sizeof(check->how) - 1);
		CHECK(strlen(check->without) < sizeof(check->without) - 1);
	}
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		CHECK(counts[g] >= 5);
}
