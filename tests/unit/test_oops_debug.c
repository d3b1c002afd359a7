/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug information for reports: that of this program, of which the log pretends to tell. */
#include "oops/oops_debug.h"
#include "oops/oops_disasm.h"
#include "unit.h"

struct peer {
	uint64_t since;
	const struct peer *next;
};

typedef const struct thing {
	uint64_t number;
	struct {
		uint32_t first, second;
		union {
			uint32_t count;
			uint8_t bytes[4];
		} sum;
	} inner;
	const struct peer *peer;
} thing_type;

#if __has_attribute(noipa)
#define KEPT __attribute__((noipa, used))
#else
#define KEPT __attribute__((noinline, used))
#endif

enum { LINE = __LINE__ + 1 };
KEPT static uint64_t debugged_function(thing_type *thing, uint64_t more)
{
	return thing->inner.sum.count + thing->peer->since + more;
}
enum { LAST_LINE = __LINE__ - 1 };

/* A report of that function with these instructions; the size in the log counts what follows a function. */
static void read_report(struct oops_list *list, const char *offset, const char *code)
{
	char text[1024];
	struct why why;

	snprintf(text, sizeof(text),
		 "BUG: kernel NULL pointer dereference, address: 0000000000000018\n"
		 "RIP: 0010:debugged_function+%s\nCode: %s\n"
		 "RAX: 0000000000000001 RBX: 0000000000000002 RSI: 0000000000000003\nRDI: ffff888012345678\n"
		 "Call Trace:\n debugged_function+0x1/0xfff\n ? debugged_function+0x0/0x1\n no_such_function+0x1/0x2\n"
		 " debugged_function+0x0/0x1\n---[ end trace 0 ]---\n",
		 offset, code);
	oops_read(text, strlen(text), list);
	REQUIRE(list->items.count == 1);
	REQUIRE(oops_disasm_all(list, &why) == 0);
}

/* NULL: this program has none. */
static struct oops_debug *own_debug(void)
{
	struct oops_debug *debug = NULL;
	struct why why = {};

#ifndef __x86_64__
	SKIP("the report is one of x86-64");
#endif
	if (oops_debug_open(&debug, &why) < 0)
		SKIP("%s", why.text);
	if (oops_debug_add(debug, "/proc/self/exe", &why) < 0) {
		oops_debug_close(debug);
		SKIP("%s", why.text);
	}
	return debug;
}

TEST(places_have_their_line)
{
	_cleanup_(oops_debug_closep) struct oops_debug *debug = own_debug();
	_cleanup_oops_ struct oops_list list = {};
	const struct oops *oops;

	read_report(&list, "0x0/0xfff", "<8b> 47 10");
	/* The frame of another size; the one with a question mark may be of anything. */
	CHECK_EQ_UINT(oops_debug_apply(debug, &list), 1);
	oops = list.items.items[0];
	REQUIRE(oops->report.file);
	CHECK_EQ_TEXT(oops->report.file, "tests/unit/test_oops_debug.c");
	CHECK(oops->report.line >= LINE && oops->report.line <= LAST_LINE);
	REQUIRE(oops->frames.count == 4);
	REQUIRE(oops->frames.items[0].file);
	CHECK_EQ_TEXT(oops->frames.items[0].file, "tests/unit/test_oops_debug.c");
	CHECK(oops->frames.items[0].line >= LINE && oops->frames.items[0].line <= LAST_LINE);
	for (unsigned i = 1; i < 4; i++)
		CHECK(!oops->frames.items[i].file);
}

TEST(registers_and_members_have_names)
{
	static const struct {
		const char *offset, *code, *member;
	} cases[] = {
		{"0x0/0xfff", "<8b> 47 10", "thing->inner.sum.count (struct thing, offset 0x10)"},
		{"0x0/0xfff", "<8b> 07", "thing->number (struct thing, offset 0x0)"},
		{"0x0/0xfff", "<8b> 47 0c", "thing->inner.second (struct thing, offset 0xc)"},
		{"0x0/0xfff", "<48> 8b 47 18", "thing->peer (struct thing, offset 0x18)"},
		{"0x4/0xfff", "48 8b 47 18 <48> 8b 40 08", "thing->peer->next (struct peer, offset 0x8)"},
		/* Behind the structure, through a number, and a stack pointer. */
		{"0x0/0xfff", "<8b> 47 60", NULL},
		{"0x0/0xfff", "<8b> 46 10", NULL},
		{"0x0/0xfff", "<8b> 44 24 10", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(oops_debug_closep) struct oops_debug *debug = own_debug();
		_cleanup_oops_ struct oops_list list = {};
		const struct oops *oops;
		const char *holds = NULL;

		read_report(&list, cases[i].offset, cases[i].code);
		(void)oops_debug_apply(debug, &list);
		oops = list.items.items[0];
		unit_note("case %zu", i);
		CHECK_EQ_TEXT(oops->report.member ?: "-", cases[i].member ?: "-");
		vec_each(&oops->registers, reg)
			if (strcmp(reg->name, "RDI") == 0)
				holds = reg->holds;
		CHECK_EQ_TEXT(holds ?: "-", "thing (struct thing *)");
	}
}

/* Of another build: nothing is claimed. */
TEST(functions_of_another_size_have_no_line)
{
	_cleanup_(oops_debug_closep) struct oops_debug *debug = own_debug();
	_cleanup_oops_ struct oops_list list = {};

	read_report(&list, "0x0/0x2", "<8b> 47 10");
	CHECK_EQ_UINT(oops_debug_apply(debug, &list), 2);
	CHECK(!list.items.items[0]->report.file);
	CHECK(!list.items.items[0]->report.member);
}

TEST(files_without_debug_information_are_refused)
{
	_cleanup_(oops_debug_closep) struct oops_debug *debug = own_debug();
	struct why why = {};

	CHECK_ERR(oops_debug_add(debug, "/nonexistent", &why), -EINVAL);
	CHECK_ERR(oops_debug_add(debug, "/etc/passwd", &why), -EINVAL);
	CHECK(why.text[0]);
}
