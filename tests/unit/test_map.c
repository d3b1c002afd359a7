/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/alloc.h"
#include "base/map.h"
#include "unit.h"

TEST(an_empty_map)
{
	struct map m = MAP_INIT(4, 4, 0);
	const void *k;
	void *v;
	size_t at = 0;
	uint32_t key = 1;

	CHECK(!map_get(&m, &key));
	CHECK(!map_remove(&m, &key));
	CHECK(!map_next(&m, &at, &k, &v));
	map_done(&m);
	map_done(&m);
	CHECK_EQ_UINT(m.count, 0);
}

TEST(put_get_remove)
{
	struct map m = MAP_INIT(sizeof(uint32_t), sizeof(uint64_t), 0);
	uint32_t key = 7;
	uint64_t *value;
	bool is_new = false;

	value = map_put(&m, &key, &is_new);
	REQUIRE(value);
	CHECK(is_new);
	CHECK_EQ_UINT(*value, 0);
	*value = 49;
	value = map_put(&m, &key, &is_new);
	CHECK(!is_new);
	CHECK_EQ_UINT(*value, 49);
	CHECK_EQ_UINT(m.count, 1);
	value = map_get(&m, &key);
	REQUIRE(value);
	CHECK_EQ_UINT(*value, 49);
	CHECK(map_remove(&m, &key));
	CHECK(!map_remove(&m, &key));
	CHECK(!map_get(&m, &key));
	CHECK_EQ_UINT(m.count, 0);
	/* A new entry in a removed slot must not see the old value. */
	value = map_put(&m, &key, NULL);
	CHECK_EQ_UINT(*value, 0);
	map_done(&m);
}

TEST(values_are_aligned)
{
	struct map m = MAP_INIT(3, sizeof(uint64_t), 0);

	for (uint8_t i = 0; i < 100; i++) {
		uint8_t key[3] = {i, 1, 2};
		uint64_t *value = map_put(&m, key, NULL);

		CHECK_EQ_UINT((uintptr_t)value % 8, 0);
		*value = i;
	}
	for (uint8_t i = 0; i < 100; i++) {
		uint8_t key[3] = {i, 1, 2};

		CHECK_EQ_UINT(*(uint64_t *)map_get(&m, key), i);
	}
	map_done(&m);
}

TEST(a_set_has_values_of_no_size)
{
	struct map m = MAP_INIT(8, 0, 0);

	for (uint64_t key = 0; key < 1000; key++)
		CHECK(map_put(&m, &key, NULL));
	for (uint64_t key = 0; key < 2000; key++)
		CHECK_EQ_INT(map_get(&m, &key) != NULL, key < 1000);
	map_done(&m);
}

TEST(strings_are_copied)
{
	struct map m = MAP_INIT(0, sizeof(int), 0);
	char name[] = "eth0";

	*(int *)map_put(&m, name, NULL) = 1;
	name[3] = '1';
	CHECK(!map_get(&m, name));
	*(int *)map_put(&m, name, NULL) = 2;
	*(int *)map_put(&m, "", NULL) = 3;
	CHECK_EQ_INT(*(int *)map_get(&m, "eth0"), 1);
	CHECK_EQ_INT(*(int *)map_get(&m, "eth1"), 2);
	CHECK_EQ_INT(*(int *)map_get(&m, ""), 3);
	CHECK(!map_get(&m, "eth"));
	CHECK(map_remove(&m, "eth0"));
	CHECK_EQ_UINT(m.count, 2);
	map_done(&m);
}

TEST(the_cap_holds)
{
	struct map m = MAP_INIT(4, 4, 10);
	uint32_t key;

	for (key = 0; key < 10; key++)
		CHECK(map_put(&m, &key, NULL));
	CHECK(!map_put(&m, &key, NULL));
	CHECK_EQ_UINT(m.count, 10);
	/* At the cap, existing entries stay reachable, and a removal makes room. */
	key = 3;
	CHECK(map_put(&m, &key, NULL));
	CHECK(map_remove(&m, &key));
	key = 99;
	CHECK(map_put(&m, &key, NULL));
	map_done(&m);
	CHECK_EQ_UINT(m.cap, 10);
}

TEST(walking_sees_each_once)
{
	struct map m = MAP_INIT(4, 4, 0);
	bool seen[500] = {};
	const void *k;
	void *v;
	size_t at = 0, count = 0;

	for (uint32_t key = 0; key < 500; key++)
		*(uint32_t *)map_put(&m, &key, NULL) = key * 3;
	while (map_next(&m, &at, &k, &v)) {
		uint32_t key;

		memcpy(&key, k, 4);
		REQUIRE(key < 500);
		CHECK(!seen[key]);
		CHECK_EQ_UINT(*(uint32_t *)v, key * 3);
		seen[key] = true;
		count++;
	}
	CHECK_EQ_UINT(count, 500);
	map_done(&m);
}

TEST(removing_while_walking)
{
	struct map m = MAP_INIT(0, 4, 0);
	const void *k;
	void *v;
	size_t at = 0, count = 0;

	for (uint32_t i = 0; i < 300; i++) {
		_cleanup_free_ char *name = xasprintf("name %u", i);

		*(uint32_t *)map_put(&m, name, NULL) = i;
	}
	while (map_next(&m, &at, &k, &v)) {
		count++;
		if (*(uint32_t *)v % 2)
			CHECK(map_remove(&m, k));
	}
	CHECK_EQ_UINT(count, 300);
	CHECK_EQ_UINT(m.count, 150);
	CHECK(map_get(&m, "name 4"));
	CHECK(!map_get(&m, "name 5"));
	map_done(&m);
}

/* Random operations on few keys, so that slots are removed and reused, compared with an array. */
TEST(agrees_with_a_model)
{
	struct map m = MAP_INIT(sizeof(uint16_t), sizeof(uint32_t), 0);
	static struct {
		bool there;
		uint32_t value;
	} model[1024];
	uint64_t seed = 4711;
	size_t count = 0;

	for (int i = 0; i < 200000; i++) {
		uint16_t key = (uint16_t)(unit_random(&seed) % 1024);
		uint32_t *value;
		bool is_new;

		switch (unit_random(&seed) % 4) {
		case 0:
		case 1:
			value = map_put(&m, &key, &is_new);
			if (!CHECK(value && is_new == !model[key].there && *value == model[key].value))
				return;
			count += is_new;
			model[key].there = true;
			model[key].value = *value = (uint32_t)unit_random(&seed);
			break;
		case 2:
			if (!CHECK_EQ_INT(map_remove(&m, &key), model[key].there))
				return;
			count -= model[key].there;
			model[key].there = false;
			model[key].value = 0;
			break;
		default:
			value = map_get(&m, &key);
			if (!CHECK(!value == !model[key].there && (!value || *value == model[key].value)))
				return;
		}
		if (!CHECK_EQ_UINT(m.count, count))
			return;
	}
	map_done(&m);
}

TEST(adding_and_removing_forever_does_not_grow_it)
{
	struct map m = MAP_INIT(8, 8, 0);

	for (uint64_t key = 0; key < 1000000; key++) {
		uint64_t old = key - 8;

		map_put(&m, &key, NULL);
		if (key >= 8)
			map_remove(&m, &old);
	}
	CHECK_EQ_UINT(m.count, 8);
	CHECK(m.slots <= 64);
	map_done(&m);
}

/* Keys chosen by an attacker who has read map.c; with colliding hashes this would take hours. */
TEST(chosen_keys_do_not_collide)
{
	static const uint64_t poisons[] = {0xe7037ed1a0b428db, 0xa0761d6478bd642f, 0, UINT64_MAX};
	struct map m = MAP_INIT(24, 0, 0);

	for (size_t p = 0; p < ARRAY_SIZE(poisons); p++)
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t key[3] = {i, poisons[p], poisons[p]};

			if (!map_put(&m, key, NULL))
				CHECK(!"no room");
		}
	CHECK_EQ_UINT(m.count, 400000);
	map_done(&m);
}
