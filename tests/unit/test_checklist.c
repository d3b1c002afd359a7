/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every cause belongs to a step of the checklist, and the steps name commands that exist. */
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/rules/knowledge.h"
#include "report/checklist_steps.h"
#include "run/command.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "unit.h"

TEST(every_cause_has_a_step)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	unsigned steps[CHECKLIST_STEPS] = {};
	struct why why = {};

	CHECK(knowledge_load(&knowledge, &why) == 0);
	vec_each(&knowledge->causes, cause) {
		struct finding_record finding = {.cause = (*cause)->name, .layer = (*cause)->layer};
		unsigned step = checklist_step_of(&finding);

		CHECK(step < CHECKLIST_STEPS);
		/* An unknown layer would also go to the first step. */
		CHECK(step > 0 || strcmp((*cause)->name, "tcp-memory") == 0);
		steps[step]++;
	}
	CHECK(steps[0] && steps[1] && steps[2] && steps[3] && steps[4] && steps[5] && steps[8]);
	CHECK(!steps[6] && !steps[7] && !steps[9]);
}

TEST(steps_name_commands_that_exist)
{
	for (unsigned i = 0; i < CHECKLIST_STEPS; i++) {
		CHECK(checklist_steps[i].title && checklist_steps[i].describe && checklist_steps[i].next[0]);
		for (const char *const *next = checklist_steps[i].next; *next; next++) {
			char word[32];

			if (strncmp(*next, "nest ", 5) != 0)
				continue;
			snprintf(word, sizeof(word), "%.*s", (int)strcspn(*next + 5, " "), *next + 5);
			if (!command_exists(word))
				fprintf(stderr, "%s\n", *next);
			CHECK(command_exists(word));
		}
	}
}

/* --- what the steps say --- */

static void put_counter(struct snapshot *snapshot, const char *name, uint64_t value)
{
	struct counter_record *counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));

	REQUIRE(counter);
	counter->netns = 0;
	counter->counter = name;
	counter->value = value;
}

static struct link_record *put_link(struct snapshot *snapshot, uint32_t ifindex, const char *dev, uint64_t rx,
				    uint64_t tx)
{
	struct link_record *link = snapshot_table_add(snapshot_table(snapshot, &link_type));

	REQUIRE(link);
	for (uint32_t i = 0; i < link_type.field_count; i++)
		value_set_unknown(&link_type.fields[i], link);
	link->ifindex = ifindex;
	link->netns = 0;
	snprintf(link->dev, sizeof(link->dev), "%s", dev);
	link->rx_bytes = rx;
	link->tx_bytes = tx;
	link->rx_dropped = link->tx_dropped = link->rx_errors = link->tx_errors = 0;
	return link;
}

static const char *described(unsigned step, const struct checklist_view *view)
{
	static char text[1024];
	_cleanup_buf_ struct buf found = BUF_INIT(sizeof(text));

	unit_note("step %u", step + 1);
	checklist_steps[step].describe(view, &found);
	snprintf(text, sizeof(text), "%s", buf_text(&found));
	return text;
}

/* Two seconds apart, on a host without connections. */
struct pair {
	struct snapshot *before, *after;
	struct window *window;
	struct checklist_view view;
};

static void pair_make(struct pair *pair)
{
	*pair = (struct pair){.before = snapshot_new(), .after = snapshot_new(), .window = window_new()};
	pair->before->begin_boot_ns = 1000000000;
	pair->after->begin_boot_ns = 3000000000;
	window_add(pair->window, pair->after);
	pair->view.graph = window_finish(pair->window);
	pair->view.before = pair->before;
	pair->view.after = pair->after;
	REQUIRE(pair->view.graph && pair->view.graph->netns == 0);
}

static void pair_done(struct pair *pair)
{
	graph_free((struct graph *)pair->view.graph);
	window_free(pair->window);
	snapshot_free(pair->before);
	snapshot_free(pair->after);
}

static void count_both(struct pair *pair, const char *name, uint64_t before, uint64_t after)
{
	put_counter(pair->before, name, before);
	put_counter(pair->after, name, after);
}

TEST(counters_are_rates_between_two_looks)
{
	_cleanup_(pair_done) struct pair pair;

	pair_make(&pair);
	count_both(&pair, "IpInReceives", 1000, 1600);
	count_both(&pair, "Ip6InReceives", 10, 410);
	count_both(&pair, "IpOutRequests", 0, 100);
	count_both(&pair, "TcpActiveOpens", 5, 25);
	count_both(&pair, "TcpOutSegs", 100, 490);
	count_both(&pair, "TcpRetransSegs", 7, 17);
	count_both(&pair, "TcpAttemptFails", 3, 6);
	count_both(&pair, "TcpExtTCPTimeouts", 1, 3);
	count_both(&pair, "UdpRcvbufErrors", 10, 14);
	count_both(&pair, "Udp6RcvbufErrors", 10, 11);
	/* Both families; 10 of 400 segments; what is not counted is unknown, not 0. */
	CHECK_EQ_TEXT(described(0, &pair.view),
		      "500 packets/s in, 50 out; 10 connects/s, - accepts/s; 10 retransmits (2.5 %)");
	CHECK_EQ_TEXT(described(1, &pair.view), "0 connections, 0 listeners, 0 UDP; 3 failed connects, - resets");
	CHECK_EQ_TEXT(described(3, &pair.view), "2 RTOs, - resets sent; drops: - listen, 5 UDP buffer, - CPU backlog");
	pair.view.before = NULL;
	CHECK_EQ_TEXT(described(0, &pair.view), "recording: nest report and nest counters -f show its rates");
	CHECK_EQ_TEXT(described(1, &pair.view), "0 connections, 0 listeners, 0 UDP");
}

TEST(the_busiest_interface_is_named)
{
	_cleanup_(pair_done) struct pair pair;
	struct link_record *link;

	pair_make(&pair);
	CHECK_EQ_TEXT(described(2, &pair.view), "no interface found");
	(void)put_link(pair.before, 1, "lo", 0, 0);
	(void)put_link(pair.before, 2, "eth0", 1000000, 5000000);
	(void)put_link(pair.before, 4, "gone", 0, 0);
	link = put_link(pair.after, 1, "lo", 2000000, 2000000);
	link = put_link(pair.after, 2, "eth0", 2000000, 7500000);
	link->rx_dropped = 7;
	link->tx_errors = 2;
	(void)put_link(pair.after, 3, "new", 900000000, 0);
	/* 2.5 MB in 2 s are 10 Mbit/s: the new one has no rate yet. */
	CHECK_EQ_TEXT(described(2, &pair.view), "busiest eth0 1.25 MB/s (speed unknown); all: 7 drops, 2 errors");
	link->speed = 100000000;
	CHECK_EQ_TEXT(described(2, &pair.view), "busiest eth0 1.25 MB/s (10 % of its speed); all: 7 drops, 2 errors");
	pair.view.before = NULL;
	CHECK_EQ_TEXT(described(2, &pair.view), "recording: nest links -f shows its interface counters");
}

TEST(what_is_not_there_is_said)
{
	_cleanup_(pair_done) struct pair pair;

	pair_make(&pair);
	CHECK_EQ_TEXT(described(4, &pair.view), "no name lookups (configured: 0 name servers)");
	CHECK_EQ_TEXT(described(5, &pair.view), "no connection with an RTT");
	CHECK_EQ_TEXT(described(8, &pair.view), "CPU times are unknown");
	CHECK(!checklist_is_busy(8, &pair.view));
}
