/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters mean, and what is kept of the last look. */
#include <string.h>

#include "base/alloc.h"
#include "snapshot/proc/counter_meaning.h"
#include "store/counter_history.h"
#include "unit.h"

TEST(counters_have_meanings)
{
	CHECK(strstr(counter_meaning("TcpExtListenOverflows"), "accepts too slowly"));
	CHECK_EQ_TEXT(counter_meaning("IpInReceives"), counter_meaning("Ip6InReceives"));
	CHECK_EQ_TEXT(counter_meaning("IpExtInOctets"), counter_meaning("Ip6InOctets"));
	CHECK_EQ_TEXT(counter_meaning("UdpRcvbufErrors"), counter_meaning("UdpLite6RcvbufErrors"));
	CHECK_EQ_TEXT(counter_meaning("arp_cache.table_fulls"), counter_meaning("ndisc_cache.table_fulls"));
	CHECK_EQ_TEXT(counter_meaning("IcmpMsgInType8"), "ICMP messages of type 8 that arrived");
	CHECK_EQ_TEXT(counter_meaning("Icmp6OutType143"), "ICMPv6 messages of type 143 that were sent");
	CHECK_EQ_TEXT(counter_meaning("IcmpInEchos"), "ICMP: pings that arrived");
	CHECK(!counter_meaning("IcmpMsgInType8x"));
	CHECK(!counter_meaning("TcpExt"));
	CHECK(!counter_meaning("cache"));
	CHECK(!counter_meaning(""));
}

static bool parse(const char *text, struct map *seen)
{
	_cleanup_free_ char *copy = xstrdup(text);

	*seen = MAP_INIT(0, sizeof(struct counter_seen), 8);
	return counter_history_parse(copy, "some-boot", seen);
}

TEST(the_last_look_is_read_back)
{
	const struct counter_seen *one;
	struct map seen;

	CHECK(parse("nest-counters-1 some-boot\n4026531833 77 12 TcpOutSegs\n4026531834 78 13 TcpOutSegs\n", &seen));
	CHECK_EQ_INT(seen.count, 2);
	one = map_get(&seen, "4026531834 TcpOutSegs");
	CHECK(one && one->value == 13 && one->boot_ns == 78);
	map_done(&seen);
}

TEST(what_is_not_one_is_refused)
{
	static const char *const wrong[] = {
		"",
		"nest-counters-1",
		"nest-counters-1 some-boot",
		"nest-counters-1 other-boot\n1 2 3 X\n",
		"nest-counters-2 some-boot\n",
		"nest-counters-1 some-boot\n1 2 3\n",
		"nest-counters-1 some-boot\n-1 2 3 X\n",
		"nest-counters-1 some-boot\n1 2 99999999999999999999999 X\n",
		"nest-counters-1 some-boot\nx\n",
	};
	struct map seen;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		CHECK(!parse(wrong[i], &seen));
		map_done(&seen);
	}
}
