/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters mean, and what is kept of the last look. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
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
	CHECK_EQ_TEXT(counter_meaning("IcmpMsgInType8"), "ICMP messages of type 8 received");
	CHECK_EQ_TEXT(counter_meaning("Icmp6OutType143"), "ICMPv6 messages of type 143 sent");
	CHECK_EQ_TEXT(counter_meaning("IcmpInEchos"), "ICMP echo requests (ping) received");
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

/* --- the file --- */

static char room[] = "/tmp/nest-unit-counters-XXXXXX";

/* Where $XDG_STATE_HOME or $HOME is; the directories come with the first look. */
static char *make_room(void)
{
	REQUIRE(mkdtemp(room));
	setenv("XDG_STATE_HOME", room, 1);
	return counter_history_path();
}

static void remove_room(const char *path)
{
	_cleanup_free_ char *dir = xasprintf("%s/nest", room);

	(void)unlink(path);
	(void)rmdir(dir);
	CHECK_EQ_INT(rmdir(room), 0);
}

static void put(struct map *seen, const char *key, uint64_t value, uint64_t boot_ns)
{
	struct counter_seen *one = map_put(seen, key, NULL);

	REQUIRE(one);
	*one = (struct counter_seen){.value = value, .boot_ns = boot_ns};
}

TEST(the_place_of_the_file)
{
	_cleanup_free_ char *state = NULL, *home = NULL, *none = NULL;

	setenv("XDG_STATE_HOME", "/state", 1);
	setenv("HOME", "/users/x", 1);
	state = counter_history_path();
	CHECK_EQ_TEXT(state, "/state/nest/counters");
	/* A path that is not absolute is no place. */
	setenv("XDG_STATE_HOME", "state", 1);
	home = counter_history_path();
	CHECK_EQ_TEXT(home, "/users/x/.local/state/nest/counters");
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "x", 1);
	none = counter_history_path();
	CHECK(!none);
}

TEST(a_look_is_kept_for_a_week)
{
	uint64_t now_ns = 8 * 86400 * NSEC_PER_SEC, day_ns = 86400 * NSEC_PER_SEC;
	struct map seen = MAP_INIT(0, sizeof(struct counter_seen), 8),
		   back = MAP_INIT(0, sizeof(struct counter_seen), 8);
	const struct counter_seen *one;
	_cleanup_free_ char *path = make_room();
	struct why why = {};
	struct stat file;

	put(&seen, "4026531833 TcpOutSegs", UINT64_MAX, now_ns);
	put(&seen, "4026531834 arp_cache.table_fulls", 3, now_ns - 7 * day_ns);
	put(&seen, "4026531835 TcpOutSegs", 4, now_ns - 7 * day_ns - 1);
	CHECK_OK(counter_history_save(path, &seen, now_ns, &why));
	REQUIRE(stat(path, &file) == 0);
	CHECK_EQ_UINT(file.st_mode & 07777, 0600);
	CHECK_OK(counter_history_load(path, &back, &why));
	CHECK_EQ_UINT(back.count, 2);
	one = map_get(&back, "4026531833 TcpOutSegs");
	CHECK(one && one->value == UINT64_MAX && one->boot_ns == now_ns);
	one = map_get(&back, "4026531834 arp_cache.table_fulls");
	CHECK(one && one->value == 3 && one->boot_ns == day_ns);
	/* The next look takes its place. */
	map_done(&seen);
	map_done(&back);
	seen = MAP_INIT(0, sizeof(struct counter_seen), 8);
	back = MAP_INIT(0, sizeof(struct counter_seen), 8);
	put(&seen, "1 X", 5, now_ns);
	CHECK_OK(counter_history_save(path, &seen, now_ns, &why));
	CHECK_OK(counter_history_load(path, &back, &why));
	CHECK_EQ_UINT(back.count, 1);
	map_done(&seen);
	map_done(&back);
	remove_room(path);
}

TEST(a_file_of_another_boot_is_empty)
{
	struct map seen = MAP_INIT(0, sizeof(struct counter_seen), 8);
	_cleanup_free_ char *path = make_room(), *below = NULL;
	struct why why = {};
	int fd;

	/* None yet. */
	CHECK_OK(counter_history_load(path, &seen, &why));
	CHECK_OK(counter_history_save(path, &seen, 1, &why));
	fd = open(path, O_WRONLY | O_TRUNC);
	REQUIRE(fd >= 0 && dprintf(fd, "nest-counters-1 an-older-boot\n1 2 3 X\n") > 0);
	close(fd);
	CHECK_OK(counter_history_load(path, &seen, &why));
	CHECK_EQ_UINT(seen.count, 0);
	/* A directory that is a file; a file that is a directory. */
	below = xasprintf("%s/x/counters", path);
	CHECK_ERR(counter_history_save(below, &seen, 1, &why), -ENOTDIR);
	CHECK_HAS_TEXT(why.text, "cannot save the counters in");
	CHECK_ERR(counter_history_load(room, &seen, &why), -EISDIR);
	CHECK_HAS_TEXT(why.text, "cannot read");
	map_done(&seen);
	remove_room(path);
}
