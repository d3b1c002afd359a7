/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"
#include "unit.h"

struct pair {
	int key;
	char tag;
};

static int by_key(const void *a, const void *b)
{
	const struct pair *one = a, *other = b;

	return one->key < other->key ? -1 : one->key > other->key;
}

TEST(an_empty_vector)
{
	VEC(struct pair) v = {};
	unsigned seen = 0;

	vec_each(&v, p) {
		CHECK(p != NULL);
		seen++;
	}
	CHECK_EQ_UINT(seen, 0);
	vec_sort(&v, by_key);
	vec_done(&v);
	CHECK(!v.items);
}

TEST(pushing_keeps_order)
{
	VEC(int) v = {};
	int expected = 0;

	for (int i = 0; i < 10000; i++)
		vec_push(&v, i);
	CHECK_EQ_UINT(v.count, 10000);
	CHECK(v.room >= v.count);
	vec_each(&v, item)
		CHECK_EQ_INT(*item, expected++);
	vec_done(&v);
}

TEST(pushing_a_struct_literal)
{
	VEC(struct pair) v = {};

	vec_push(&v, (struct pair){.key = 1, .tag = 'a'});
	vec_push(&v, (struct pair){2, 'b'});
	CHECK_EQ_INT(v.items[0].key, 1);
	CHECK_EQ_INT(v.items[1].tag, 'b');
	vec_done(&v);
}

TEST(added_items_are_zero)
{
	VEC(struct pair) v = {};

	for (int i = 0; i < 100; i++) {
		struct pair *p = vec_add(&v);

		CHECK_EQ_INT(p->key, 0);
		CHECK_EQ_INT(p->tag, 0);
		p->key = -1;
		p->tag = 'x';
	}
	/* Reused memory is zeroed. */
	v.count = 0;
	CHECK_EQ_INT(vec_add(&v)->key, 0);
	vec_done(&v);
}

TEST(reserving_makes_room_once)
{
	VEC(uint64_t) v = {};
	uint64_t *before;

	vec_reserve(&v, 1000);
	CHECK(v.room >= 1000);
	CHECK_EQ_UINT(v.count, 0);
	before = v.items;
	for (uint64_t i = 0; i < 1000; i++)
		vec_push(&v, i);
	CHECK(v.items == before);
	vec_reserve(&v, 10);
	CHECK(v.items == before);
	vec_done(&v);
}

TEST(sorting)
{
	VEC(struct pair) v = {};
	uint64_t seed = 3;

	for (int i = 0; i < 1000; i++)
		vec_push(&v, (struct pair){.key = (int)(unit_random(&seed) % 100)});
	vec_sort(&v, by_key);
	for (size_t i = 1; i < v.count; i++)
		CHECK(v.items[i - 1].key <= v.items[i].key);
	vec_done(&v);
	CHECK_EQ_UINT(v.count, 0);
}

TEST(a_vector_that_is_done_can_be_used_again)
{
	VEC(int) v = {};

	vec_push(&v, 1);
	vec_done(&v);
	vec_push(&v, 2);
	CHECK_EQ_UINT(v.count, 1);
	CHECK_EQ_INT(v.items[0], 2);
	vec_done(&v);
}
