/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts with many network namespaces: which are empty, what is kept for each, how often settings are read. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "snapshot/core/netns_state.h"
#include "snapshot/core/settings.h"
#include "snapshot/netlink/netns_empty.h"
#include "snapshot/proc/counter.h"
#include "unit.h"

TEST(sockets_in_use)
{
	CHECK(netns_empty_sockstat("sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 8 mem 0\n"));
	CHECK(!netns_empty_sockstat("sockets: used 1\nTCP: inuse 0\n"));
	CHECK(!netns_empty_sockstat("sockets: used 10\n"));
	CHECK(!netns_empty_sockstat("sockets: used\n"));
	CHECK(!netns_empty_sockstat("sockets: used -\n"));
	CHECK(!netns_empty_sockstat("TCP: inuse 0\n"));
	CHECK(!netns_empty_sockstat(""));
}

/* Makes a namespace, in which the words are run and, with_socket, a socket stays open; this thread stays outside. */
static struct netns *add_namespace(struct netns_list *list, int home, const char *words, int *with_socket)
{
	struct netns *netns = vec_add(&list->items);

	CHECK_EQ_INT(unshare(CLONE_NEWNET), 0);
	netns->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	netns->inum = 1000 + (uint32_t)list->items.count;
	if (words && system(words) != 0) /* NOLINT: words of this file */
		SKIP("ip cannot set the namespace up");
	if (with_socket)
		*with_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ_INT(setns(home, CLONE_NEWNET), 0);
	return netns;
}

static size_t count_counters(const struct snapshot *snapshot, uint32_t netns)
{
	size_t count = 0;

	snapshot_each(snapshot, counter_type, const struct counter_record, counter)
		count += counter->netns == netns;
	return count;
}

enum { OWN, FRESH, LOOPBACK, LINK_DOWN, LINK_UP, WITH_SOCKET, WITH_PROCESS, NAMESPACES };

static void make_namespaces(struct netns_list *list, int home, int *ret_socket)
{
	static const char *const words[NAMESPACES] = {
		[LOOPBACK] = "ip link set lo up",
		[LINK_DOWN] = "ip link add va type veth peer name vb",
		[LINK_UP] = "ip link add va type veth peer name vb; ip link set va up",
	};
	struct netns *own = vec_add(&list->items);

	own->fd = dup(home);
	own->inum = 1000 + (uint32_t)list->items.count;
	for (size_t i = FRESH; i < NAMESPACES; i++)
		(void)add_namespace(list, home, words[i], i == WITH_SOCKET ? ret_socket : NULL);
	list->items.items[WITH_PROCESS].processes = 1;
}

static bool is_as(const struct netns_list *list, const bool *empty)
{
	for (size_t i = 0; i < NAMESPACES; i++)
		if (list->items.items[i].is_empty != empty[i])
			return false;
	return true;
}

/* The kernel frees the sockets of who asked or made something there a moment later. */
static void mark_empty(struct snapshot *snapshot, struct netns_list *list, const bool *empty)
{
	for (unsigned tries = 0; tries < 100 && !is_as(list, empty); tries++) {
		(void)usleep(20000);
		netns_empty_mark(snapshot, list);
	}
}

TEST(namespaces_in_which_nothing_can_happen_are_only_listed)
{
	static const struct record_type *const types[] = {&counter_type, NULL};
	static const bool empty[NAMESPACES] = {[FRESH] = true, [LOOPBACK] = true, [LINK_DOWN] = true},
			  later[NAMESPACES] = {[WITH_SOCKET] = true, [LOOPBACK] = true, [LINK_DOWN] = true};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_netns_ struct netns_list list = {};
	struct snapshot_request request = {.namespaces = &list, .types = types, .repeated = true};
	const struct netns_record *records;
	struct why why = {};
	int home, held = -1;

	/* Its own, which is as empty, is looked at all the same. */
	if (unshare(CLONE_NEWNET) < 0)
		SKIP("needs network namespaces of its own (root)");
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	make_namespaces(&list, home, &held);
	mark_empty(snapshot, &list, empty);
	for (size_t i = 0; i < NAMESPACES; i++)
		CHECK_EQ_INT(list.items.items[i].is_empty, empty[i]);
	CHECK_EQ_INT(snapshot_take(snapshot, &request, &why), 0);
	records = snapshot_first(snapshot, &netns_type);
	CHECK_EQ_UINT(snapshot_table(snapshot, &netns_type)->count, NAMESPACES);
	for (size_t i = 0; i < NAMESPACES; i++) {
		CHECK_EQ_INT(records[i].empty, empty[i]);
		CHECK_EQ_INT(count_counters(snapshot, list.items.items[i].inum) > 100, !empty[i]);
	}
	/* One that is used again is sampled again. */
	CHECK_EQ_INT(setns(list.items.items[FRESH].fd, CLONE_NEWNET), 0);
	(void)close(held);
	held = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ_INT(setns(home, CLONE_NEWNET), 0);
	mark_empty(snapshot, &list, later);
	CHECK(!list.items.items[FRESH].is_empty);
	CHECK(list.items.items[WITH_SOCKET].is_empty);
	(void)close(held);
	(void)close(home);
}

struct kept {
	struct netns_state base;
	unsigned number;
};

static unsigned released;

static void release_kept(struct netns_state *state)
{
	released += ((struct kept *)state)->number;
}

static void sample_namespaces(struct snapshot *snapshot, uint32_t first, uint32_t count)
{
	snapshot_clear(snapshot);
	snapshot->begin_boot_ns += NSEC_PER_SEC;
	for (uint32_t i = 0; i < count; i++)
		((struct netns_record *)snapshot_table_add(snapshot_table(snapshot, &netns_type)))->netns = first + i;
}

TEST(what_is_kept_for_a_namespace_goes_with_it)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct netns_states states = {};
	struct kept *kept;
	bool is_new;

	released = 0;
	sample_namespaces(snapshot, 100, 50);
	for (uint32_t i = 0; i < 50; i++) {
		snapshot->netns = 100 + i;
		kept = netns_state_find(&states, snapshot, sizeof(*kept), release_kept, &is_new);
		CHECK(is_new);
		CHECK_EQ_UINT(kept->base.netns, 100 + i);
		CHECK_EQ_UINT(kept->number, 0);
		kept->number = 1;
	}
	sample_namespaces(snapshot, 100, 50);
	snapshot->netns = 120;
	kept = netns_state_find(&states, snapshot, sizeof(*kept), release_kept, &is_new);
	CHECK(!is_new);
	CHECK_EQ_UINT(kept->number, 1);
	CHECK_EQ_UINT(released, 0);
	/* 100 to 119 are gone; 120 stays what it was. */
	sample_namespaces(snapshot, 120, 30);
	CHECK(netns_state_find(&states, snapshot, sizeof(*kept), release_kept, &is_new) == kept);
	CHECK(!is_new);
	CHECK_EQ_UINT(released, 20);
	/* Others come in their place: as many as before. */
	sample_namespaces(snapshot, 140, 30);
	snapshot->netns = 160;
	kept = netns_state_find(&states, snapshot, sizeof(*kept), release_kept, &is_new);
	CHECK(is_new);
	CHECK_EQ_UINT(released, 40);
	netns_states_done(&states, release_kept);
	CHECK_EQ_UINT(released, 50);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ_INT(fclose(file), 0);
}

static void check_setting(struct settings *settings, const char *path, uint64_t now_ns, const char *want)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	CHECK_EQ_INT(settings_read(settings, 7, path, now_ns, &text), 0);
	CHECK_EQ_TEXT(buf_text(&text), want);
}

TEST(settings_are_read_less_often_where_there_are_many_namespaces)
{
	struct settings few = {.namespaces = 1}, many = {.namespaces = 64};
	char path[] = "/tmp/nest-setting-XXXXXX";
	int fd = mkstemp(path);
	uint64_t start_ns = 5 * NSEC_PER_SEC;

	CHECK(fd >= 0);
	(void)close(fd);
	write_file(path, "1");
	check_setting(&few, path, start_ns, "1");
	check_setting(&many, path, start_ns, "1");
	write_file(path, "2");
	check_setting(&few, path, start_ns + NSEC_PER_SEC - 1, "1");
	check_setting(&few, path, start_ns + NSEC_PER_SEC, "2");
	check_setting(&many, path, start_ns + 3 * NSEC_PER_SEC - 1, "1");
	check_setting(&many, path, start_ns + 3 * NSEC_PER_SEC, "2");
	(void)unlink(path);
	settings_done(&few);
	settings_done(&many);
}
