/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts on both sides of a router: how long they are remembered. */
#include "unit.h"

#include "diagnose/measure/passing_host.h"

static struct addr host(uint8_t last)
{
	return addr_from_v4((const uint8_t[]){10, 0, 0, last});
}

/* A window of one sample, in which that many packets pass from one host to the other. */
static void pass(struct passing_hosts *hosts, uint64_t number, uint64_t packets)
{
	struct addr from = host(1), to = host(2);

	passing_hosts_note(hosts, number, &(struct passing_step){&from, &to, packets, 0});
	passing_hosts_end_sample(hosts, number, number * 1000000000, (number - 1) * 1000000000);
	passing_hosts_end_window(hosts);
}

TEST(hosts_without_packets_are_forgotten)
{
	struct passing_hosts hosts = {};
	struct addr from = host(1), to = host(2);

	for (uint64_t i = 2; i < 200; i++)
		pass(&hosts, i, 1);
	CHECK(passing_hosts_find(&hosts, &from) && passing_hosts_find(&hosts, &to));
	/* Retransmissions may be two minutes apart. */
	for (uint64_t i = 200; i < 319; i++)
		passing_hosts_end_window(&hosts);
	CHECK(passing_hosts_find(&hosts, &from) && passing_hosts_find(&hosts, &to));
	for (uint64_t i = 319; i < 323; i++)
		passing_hosts_end_window(&hosts);
	CHECK(!passing_hosts_find(&hosts, &from) && !passing_hosts_find(&hosts, &to));
	/* A connection that is only known keeps nobody. */
	pass(&hosts, 400, 1);
	for (uint64_t i = 401; i < 525; i++)
		if (passing_hosts_find(&hosts, &from))
			pass(&hosts, i, 0);
	CHECK(!passing_hosts_find(&hosts, &from));
	passing_hosts_done(&hosts);
}
