/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests that go wrong in every way a test can, for unit.t to see what the harness makes of them. */
#include "../unit/unit.h"

TEST(good)
{
	CHECK(true);
}

TEST(bad_check)
{
	CHECK_EQ_INT(2 + 2, 5);
	CHECK_EQ_TEXT("left", "right");
	CHECK_ERR(-EINVAL, -ERANGE);
	CHECK(true);
}

TEST(no_check)
{
}

TEST(crash)
{
	CHECK(true);
	raise(SIGSEGV);
}

TEST(abort)
{
	puts("last words");
	abort();
}

TEST(early_exit)
{
	CHECK(true);
	exit(3);
}

TEST(hang)
{
	CHECK(true);
	for (;;)
		pause();
}

TEST(skipped)
{
	SKIP("because of %s", "a reason");
}

TEST(required)
{
	REQUIRE(1 == 2);
	puts("not reached");
}

TEST(noise)
{
	puts("not ok 99 - this is output, not a result");
	CHECK(true);
}

TEST(wrong_death)
{
	CHECK_DIES(SIGABRT, raise(SIGTERM));
	CHECK_DIES(SIGABRT, (void)0);
}

TEST(after_all_that)
{
	unit_note("case %d", 7);
	CHECK(true);
}
