/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>

#include "base/addr.h"
#include "unit.h"

static struct addr must_parse(const char *text)
{
	struct addr a = {};

	unit_note("'%s'", text);
	CHECK_OK(addr_parse(text, &a));
	return a;
}

static void check_format(const char *text, const char *want)
{
	struct addr a = must_parse(text);
	char shown[ADDR_TEXT_MAX];
	size_t n = addr_format(&a, shown);

	CHECK_EQ_TEXT(shown, want);
	CHECK_EQ_UINT(n, strlen(want));
}

TEST(addresses_read_and_written)
{
	check_format("0.0.0.0", "0.0.0.0");
	check_format("10.0.0.1", "10.0.0.1");
	check_format("255.255.255.255", "255.255.255.255");
	check_format("192.168.100.99", "192.168.100.99");
	check_format("::", "::");
	check_format("::1", "::1");
	check_format("FE80::1", "fe80::1");
	check_format("2001:db8:0:0:0:0:0:1", "2001:db8::1");
	check_format("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	check_format("::ffff:0:0", "0.0.0.0");
}

TEST(v4_mapped_is_v4)
{
	struct addr plain = must_parse("10.1.2.3"), mapped = must_parse("::ffff:10.1.2.3");
	struct addr hex = must_parse("::ffff:a01:203"), compatible = must_parse("::10.1.2.3");
	uint8_t four[] = {10, 1, 2, 3};
	struct addr from_four = addr_from_v4(four), from_sixteen = addr_from_v6(plain.bytes);

	CHECK_EQ_INT(plain.family, ADDR_V4);
	CHECK(addr_equal(&plain, &mapped));
	CHECK(addr_equal(&plain, &hex));
	CHECK(addr_equal(&plain, &from_four));
	CHECK(addr_equal(&plain, &from_sixteen));
	CHECK(!addr_equal(&plain, &compatible));
	check_format("::ffff:10.1.2.3", "10.1.2.3");
}

TEST(addresses_refused)
{
	static const char *const texts[] = {
		"",
		" ",
		"1",
		"1.2.3",
		"1.2.3.4.5",
		"256.0.0.1",
		"1.2.3.-4",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.4/8",
		"1.2.3.4:80",
		"01.2.3.4",
		"1..2.3",
		"0x7f.0.0.1",
		"[::1]",
		":::",
		"1::2::3",
		"fe80::1%eth0",
		"12345::",
		"::1/64",
		"1:2:3:4:5:6:7",
		"localhost",
		"*",
		"-",
		"1:2:3:4:5:6:7:8:9",
		"::ffff:1.2.3",
		"1.2.3.4\n",
		"::ffff:256.0.0.1",
	};
	struct addr a = {.family = 99};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		unit_note("'%s'", texts[i]);
		CHECK_ERR(addr_parse(texts[i], &a), -EINVAL);
	}
	CHECK_EQ_INT(a.family, 99);
}

TEST(unknown_is_a_dash)
{
	struct addr unknown = {};
	char shown[ADDR_TEXT_MAX];

	CHECK_EQ_UINT(addr_format(&unknown, shown), 1);
	CHECK_EQ_TEXT(shown, "-");
}

/* Every byte value in every place of a v4 address, against the C library. */
TEST(v4_is_written_as_the_library_does)
{
	for (unsigned i = 0; i < 1024; i++) {
		uint8_t four[4] = {1, 20, 203, 0};
		char want[INET_ADDRSTRLEN], got[ADDR_TEXT_MAX];
		struct addr a;

		four[i / 256] = (uint8_t)i;
		a = addr_from_v4(four);
		addr_format(&a, got);
		CHECK_EQ_TEXT(got, inet_ntop(AF_INET, four, want, sizeof(want)));
	}
}

TEST(any_v6_is_read_back)
{
	uint64_t seed = 99;

	for (unsigned i = 0; i < 20000; i++) {
		struct addr a, back = {};
		uint8_t bytes[16];
		char text[ADDR_TEXT_MAX];

		/* Many zeros, for the places where :: may stand. */
		for (unsigned j = 0; j < 16; j++)
			bytes[j] = unit_random(&seed) % 3 ? 0 : (uint8_t)unit_random(&seed);
		a = addr_from_v6(bytes);
		CHECK(addr_format(&a, text) < ADDR_TEXT_MAX);
		unit_note("%s", text);
		if (!CHECK_OK(addr_parse(text, &back)) || !CHECK(addr_equal(&a, &back)))
			return;
	}
}

TEST(order)
{
	static const char *const sorted[] = {"0.0.0.0", "9.255.255.255", "10.0.0.0", "10.0.0.1",
					     "::",      "::1",           "fe80::1"};
	struct addr unknown = {};

	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			struct addr a = must_parse(sorted[i]), b = must_parse(sorted[j]);
			int r = addr_compare(&a, &b);

			unit_note("%s and %s", sorted[i], sorted[j]);
			CHECK_EQ_INT((r > 0) - (r < 0), (i > j) - (i < j));
			CHECK_EQ_INT(addr_equal(&a, &b), i == j);
			CHECK(addr_compare(&unknown, &b) < 0);
		}
}

static void check_prefix(const char *text, const char *want)
{
	char addr[ADDR_TEXT_MAX], shown[ADDR_TEXT_MAX + 8];
	struct prefix p = {};

	unit_note("'%s'", text);
	if (!CHECK_OK(prefix_parse(text, &p)))
		return;
	addr_format(&p.addr, addr);
	snprintf(shown, sizeof(shown), "%s/%u", addr, p.addr.family == ADDR_V4 ? p.bits - 96u : p.bits);
	CHECK_EQ_TEXT(shown, want);
}

TEST(prefixes_read_and_written)
{
	check_prefix("10.0.0.0/8", "10.0.0.0/8");
	check_prefix("10.0.0.1", "10.0.0.1/32");
	check_prefix("10.0.0.1/32", "10.0.0.1/32");
	check_prefix("0.0.0.0/0", "0.0.0.0/0");
	check_prefix("192.168.128.0/17", "192.168.128.0/17");
	check_prefix("::/0", "::/0");
	check_prefix("::1", "::1/128");
	check_prefix("fe80::/10", "fe80::/10");
	check_prefix("2001:db8::/127", "2001:db8::/127");
	check_prefix("::ffff:10.0.0.0/104", "10.0.0.0/8");
	check_prefix("::ffff:0:0/96", "0.0.0.0/0");
}

TEST(prefixes_refused)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{"10.0.0.0/33", -ERANGE},
		{"10.0.0.0/0x8", -EINVAL},
		{"10.0.0.0/08", -EINVAL},
		{"::/129", -ERANGE},
		{"10.0.0.0/256", -ERANGE},
		{"10.0.0.1/8", -EINVAL},
		{"10.0.0.0/4", -EINVAL},
		{"10.128.0.0/8", -EINVAL},
		{"fe80::1/64", -EINVAL},
		{"::ffff:0:0/95", -EINVAL},
		{"10.0.0.1/31", -EINVAL},
		{"", -EINVAL},
		{"/", -EINVAL},
		{"/8", -EINVAL},
		{"10.0.0.0/", -EINVAL},
		{"10.0.0.0/8/8", -EINVAL},
		{"10.0.0.0/ 8", -EINVAL},
		{"10.0.0.0/8 ", -EINVAL},
		{"10.0.0.0/-8", -EINVAL},
		{"10.0.0.0/8abc", -EINVAL},
		{"10/8", -EINVAL},
		{"*/8", -EINVAL},
		{"10.0.0.0/255.0.0.0", -EINVAL},
		{"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000/64", -EINVAL},
	};
	struct prefix p = {.bits = 77};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unit_note("'%s'", cases[i].text);
		CHECK_ERR(prefix_parse(cases[i].text, &p), cases[i].result);
	}
	CHECK_EQ_UINT(p.bits, 77);
}

TEST(what_a_prefix_contains)
{
	static const struct {
		const char *prefix, *address;
		bool inside;
	} cases[] = {
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.0.0.0/8", "9.255.255.255", false},
		{"10.0.0.1/32", "10.0.0.1", true},
		{"10.0.0.1/32", "10.0.0.2", false},
		{"0.0.0.0/0", "255.255.255.255", true},
		{"0.0.0.0/0", "::1", false},
		{"::/0", "fe80::1", true},
		{"::/0", "10.0.0.1", false},
		{"10.0.0.0/9", "10.127.255.255", true},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"10.0.0.0/31", "10.0.0.1", true},
		{"10.0.0.0/31", "10.0.0.2", false},
		{"fe80::/10", "febf::1", true},
		{"fe80::/10", "fec0::1", false},
		{"10.0.0.0/8", "::ffff:10.1.1.1", true},
		{"::ffff:10.0.0.0/104", "10.1.1.1", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a = must_parse(cases[i].address);
		struct prefix p = {};

		unit_note("%s in %s", cases[i].address, cases[i].prefix);
		CHECK_OK(prefix_parse(cases[i].prefix, &p));
		CHECK_EQ_INT(prefix_contains(&p, &a), cases[i].inside);
	}
}

TEST(an_unknown_address_is_in_no_prefix)
{
	struct addr unknown = {};
	struct prefix p = {};

	CHECK_OK(prefix_parse("0.0.0.0/0", &p));
	CHECK(!prefix_contains(&p, &unknown));
	CHECK_OK(prefix_parse("::/0", &p));
	CHECK(!prefix_contains(&p, &unknown));
}

TEST(endpoints_read_and_written)
{
	static const struct {
		const char *text, *want;
		uint8_t family;
		uint16_t port;
	} cases[] = {
		{"10.0.0.1:80", "10.0.0.1:80", ADDR_V4, 80},
		{"10.0.0.1", "10.0.0.1:*", ADDR_V4, 0},
		{"10.0.0.1:*", "10.0.0.1:*", ADDR_V4, 0},
		{"[::1]:65535", "[::1]:65535", ADDR_V6, 65535},
		{"::1", "[::1]:*", ADDR_V6, 0},
		{"[::1]:*", "[::1]:*", ADDR_V6, 0},
		{"[::ffff:10.0.0.1]:22", "10.0.0.1:22", ADDR_V4, 22},
		{":22", "*:22", ADDR_UNKNOWN, 22},
		{"*:22", "*:22", ADDR_UNKNOWN, 22},
		{"*:*", "*:*", ADDR_UNKNOWN, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf shown = BUF_INIT(100);
		struct endpoint e = {};

		unit_note("'%s'", cases[i].text);
		CHECK_OK(addr_parse_endpoint(cases[i].text, &e));
		CHECK_EQ_INT(e.addr.family, cases[i].family);
		CHECK_EQ_UINT(e.port, cases[i].port);
		addr_format_endpoint(&e, &shown);
		CHECK_EQ_TEXT(buf_text(&shown), cases[i].want);
	}
}

TEST(endpoints_refused)
{
	static const char *const texts[] = {
		"",
		":",
		"10.0.0.1:",
		"10.0.0.1:80abc",
		"10.0.0.1:-1",
		"[::1]",
		"[::1]80",
		"[::1:80",
		"::1]:80",
		"[]:80",
		"[*]:80",
		"[10.0.0.1:80",
		"[::1] :80",
		"10.0.0.1 :80",
		"host:80",
		"10.0.0:80",
		"[[::1]]:80",
		"*",
		"1:2:3:80",
		"10.0.0.1:80:80",
		"[10.0.0.1]:80",
	};
	struct endpoint e = {.port = 7};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		unit_note("'%s'", texts[i]);
		CHECK_ERR(addr_parse_endpoint(texts[i], &e), -EINVAL);
	}
	CHECK_ERR(addr_parse_endpoint("10.0.0.1:70000", &e), -ERANGE);
	CHECK_ERR(addr_parse_endpoint("[::1]:65536", &e), -ERANGE);
	CHECK_EQ_UINT(e.port, 7);
}
