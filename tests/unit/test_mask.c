/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mask.h"
#include "unit.h"

static const char *masked(struct mask *mask, const char *text)
{
	static struct buf out;

	buf_done(&out);
	out = BUF_INIT(4096);
	mask_text(mask, text, &out);
	return buf_text(&out);
}

TEST(addresses_are_replaced)
{
	_cleanup_mask_ struct mask mask = {};

	CHECK_EQ_TEXT(masked(&mask, "from 10.1.2.3 to 192.0.2.7:443."), "from ADDRESS-1 to ADDRESS-2:443.");
	CHECK_EQ_TEXT(masked(&mask, "[2001:db8::1]:80, fe80::1%eth0"), "[ADDRESS-3]:80, ADDRESS-4%eth0");
	CHECK_EQ_TEXT(masked(&mask, "10.1.2.3/32 at 52:54:00:12:34:56: up"), "ADDRESS-1/32 at MAC-1: up");
	CHECK_EQ_TEXT(masked(&mask, "52:54:00:AB:cd:ef"), "MAC-2");
}

TEST(what_identifies_nobody_stays)
{
	_cleanup_mask_ struct mask mask = {};
	const char *text = "Linux 6.18.44-fc 127.0.0.1:9 ::1 0.0.0.0 :: bad:cafe 12:34:56 5.15. e1000 a.b std::x\n";

	CHECK_EQ_TEXT(masked(&mask, text), text);
	CHECK_EQ_TEXT(masked(&mask, ""), "");
}

TEST(words_are_replaced_whole)
{
	_cleanup_mask_ struct mask mask = {};

	mask_add_word(&mask, "web-7", "HOST");
	mask_add_word(&mask, "ab", "USER");
	CHECK_EQ_TEXT(masked(&mask, "WEB-7: /srv/web-7/x web-70 ab"), "HOST: /srv/HOST/x web-70 ab");
	/* The first name counts. */
	mask_add_word(&mask, "web-7", "OTHER");
	CHECK_EQ_TEXT(masked(&mask, "web-7"), "HOST");
}
