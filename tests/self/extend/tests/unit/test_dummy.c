/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

TEST(dummy)
{
	CHECK(true);
}
