/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups in BTF compared with libbpf's, for types built by the test and for the running kernel. */
#include <bpf/btf.h>
#include <stddef.h>

#include "base/alloc.h"
#include "kernel/layout.h"
#include "unit.h"

/*
 * An enum, then
 *	struct outer { int first; union { struct { long deep; }; long other; }; };
 *	void hello(void);
 */
static struct btf *example(void)
{
	struct btf *btf = btf__new_empty();
	int integer, inner, both, proto;

	REQUIRE(btf);
	integer = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	REQUIRE(btf__add_enum(btf, "colour", 4) > 0 && btf__add_enum_value(btf, "red", 1) == 0);
	REQUIRE(btf__add_ptr(btf, integer) > 0 && btf__add_array(btf, integer, integer, 3) > 0);
	inner = btf__add_struct(btf, NULL, 16);
	REQUIRE(btf__add_field(btf, "pad", integer, 0, 0) == 0 && btf__add_field(btf, "deep", integer, 64, 0) == 0);
	both = btf__add_union(btf, NULL, 16);
	REQUIRE(btf__add_field(btf, NULL, inner, 0, 0) == 0 && btf__add_field(btf, "other", integer, 0, 0) == 0);
	REQUIRE(btf__add_struct(btf, "outer", 24) > 0);
	REQUIRE(btf__add_field(btf, "first", integer, 0, 0) == 0 && btf__add_field(btf, NULL, both, 64, 0) == 0);
	proto = btf__add_func_proto(btf, 0);
	REQUIRE(proto > 0 && btf__add_func(btf, "hello", BTF_FUNC_GLOBAL, proto) > 0);
	return btf;
}

TEST(answers_of_an_example)
{
	struct layout_question questions[] = {
		{"outer", "first"}, {"outer", "other"}, {"outer", "deep"}, {"hello", NULL}};
	struct btf *btf = example();
	struct why why = {};
	const void *bytes;
	uint32_t len;

	bytes = btf__raw_data(btf, &len);
	REQUIRE(bytes);
	CHECK_OK(layout_find_in(bytes, len, questions, ARRAY_SIZE(questions), &why));
	CHECK_EQ_UINT(questions[0].answer, 0);
	CHECK_EQ_UINT(questions[1].answer, 8);
	CHECK_EQ_UINT(questions[2].answer, 16);
	CHECK_EQ_INT(questions[3].answer, btf__find_by_name_kind(btf, "hello", BTF_KIND_FUNC));
	questions[2].member = "shallow";
	CHECK_ERR(layout_find_in(bytes, len, questions, ARRAY_SIZE(questions), &why), -ENOENT);
	CHECK_EQ_TEXT(why.text, "the kernel has no outer.shallow");
	btf__free(btf);
}

/*
 *	struct whole {
 *		unsigned low : 3, high : 9;
 *		struct part { long pad; struct deeper { long x, y; } inner[2]; } part;
 *	};
 */
TEST(paths_bit_fields_and_what_a_kernel_may_lack)
{
	struct layout_question questions[] = {{"whole", "part.inner.y"},
					      {"whole", "high"},
					      {"whole", "part"},
					      {"whole", ""},
					      {"whole", "none", .optional = true},
					      {"nothing", "at_all", .optional = true},
					      {"whole", "part.none", .optional = true}};
	struct btf *btf = btf__new_empty();
	struct why why = {};
	int number, deeper, array, part, whole;
	const void *bytes;
	uint32_t len;

	REQUIRE(btf);
	number = btf__add_int(btf, "long", 8, 0);
	deeper = btf__add_struct(btf, "deeper", 16);
	REQUIRE(btf__add_field(btf, "x", number, 0, 0) == 0 && btf__add_field(btf, "y", number, 64, 0) == 0);
	array = btf__add_array(btf, number, deeper, 2);
	part = btf__add_struct(btf, "part", 40);
	REQUIRE(btf__add_field(btf, "pad", number, 0, 0) == 0 && btf__add_field(btf, "inner", array, 64, 0) == 0);
	whole = btf__add_struct(btf, "whole", 48);
	REQUIRE(btf__add_field(btf, "low", number, 0, 3) == 0 && btf__add_field(btf, "high", number, 11, 9) == 0 &&
		btf__add_field(btf, "part", part, 64, 0) == 0);
	bytes = btf__raw_data(btf, &len);
	REQUIRE(bytes);
	CHECK_OK(layout_find_in(bytes, len, questions, ARRAY_SIZE(questions), &why));
	CHECK_EQ_UINT(questions[0].answer, 8 + 8 + 8);
	CHECK_EQ_UINT(questions[0].width, 0);
	CHECK_EQ_UINT(questions[1].answer, 1);
	CHECK_EQ_UINT(questions[1].shift, 3);
	CHECK_EQ_UINT(questions[1].width, 9);
	CHECK_EQ_UINT(questions[2].answer, 8);
	CHECK_EQ_INT(questions[3].answer, whole);
	for (unsigned i = 4; i < ARRAY_SIZE(questions); i++)
		CHECK_EQ_UINT(questions[i].answer, LAYOUT_NONE);
	btf__free(btf);
}

/* Truncated anywhere or with any byte changed, it gives an answer or an error; sanitizers report anything else. */
TEST(broken_information)
{
	struct layout_question questions[] = {{"outer", "deep"}, {"hello", NULL}};
	struct btf *btf = example();
	struct why why;
	const void *bytes;
	uint32_t len;
	unsigned refused = 0;

	bytes = btf__raw_data(btf, &len);
	REQUIRE(bytes);
	for (uint32_t n = 0; n < len; n++) {
		uint8_t *copy = xmalloc(max_of(n, 1u));

		memcpy(copy, bytes, n);
		refused += layout_find_in(copy, n, questions, ARRAY_SIZE(questions), &why) < 0;
		free(copy);
	}
	CHECK_EQ_UINT(refused, len);
	refused = 0;
	for (uint32_t n = 0; n < len; n++) {
		uint8_t *copy = xmalloc(len);

		memcpy(copy, bytes, len);
		copy[n] ^= 0xff;
		refused += layout_find_in(copy, len, questions, ARRAY_SIZE(questions), &why) < 0;
		free(copy);
	}
	CHECK(refused > 0);
	btf__free(btf);
}

TEST(the_running_kernel_as_libbpf_sees_it)
{
	struct layout_question questions[] = {
		{"task_struct", "tgid"}, {"inode", "i_ino"}, {"bpf_iter_task_file", NULL}};
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	const struct btf_type *task;
	struct why why = {};
	uint32_t offset = UINT32_MAX;

	if (!btf)
		SKIP("this kernel tells nothing about its types");
	CHECK_OK(layout_find(questions, ARRAY_SIZE(questions), &why));
	CHECK_EQ_INT(questions[2].answer, btf__find_by_name_kind(btf, "bpf_iter_task_file", BTF_KIND_FUNC));
	task = btf__type_by_id(btf, (uint32_t)btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT));
	REQUIRE(task);
	for (unsigned i = 0; i < btf_vlen(task); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(task)[i].name_off), "tgid") == 0)
			offset = btf_member_bit_offset(task, i) / 8;
	CHECK_EQ_UINT(questions[0].answer, offset);
	CHECK(questions[1].answer < 4096);
	btf__free(btf);
}
