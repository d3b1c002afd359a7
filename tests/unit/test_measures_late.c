/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a look that begins late goes by: lists of services that a program walks down, ports of a bridge that is down,
   buckets that hold less than a packet. */
#include "measured.h"

#include "diagnose/measure/bucket.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/link_ports.h"
#include "diagnose/measure/path_shared.h"

#define CONN "conn:10.77.1.2:40000-10.77.2.2:5001"

/* Five services, one every second, from one of six sockets each; the first connection moves. */
static void put_try(struct snapshot *snapshot, unsigned service, uint64_t cookie)
{
	struct socket_record socket = *(const struct socket_record *)snapshot_first(snapshot, &socket_type);
	struct tcp_record tcp = *(const struct tcp_record *)snapshot_first(snapshot, &tcp_type);

	socket.state = SOCKET_SYN_SENT;
	socket.timer = SOCKET_TIMER_RETRANSMIT;
	socket.timer_retransmits = 1;
	socket.raddr.bytes[14] = 9;
	socket.cookie = cookie;
	socket.lport = (uint16_t)(41000 + cookie);
	socket.rport = (uint16_t)(5001 + service);
	socket.tcp = (uint32_t)snapshot_table(snapshot, &tcp_type)->count;
	put(snapshot, &socket_type, &socket);
	put(snapshot, &tcp_type, &tcp);
}

static void walks_down_a_list(struct snapshot *snapshot, unsigned sample)
{
	put_try(snapshot, 0, 100);
	for (unsigned i = 1; i < 5; i++)
		if (sample >= i * 4)
			put_try(snapshot, i, 100 + i);
}

static void tries_again(struct snapshot *snapshot, unsigned sample)
{
	put_try(snapshot, 0, sample < SAMPLES ? 100 : 101);
	put_try(snapshot, 1, 102);
}

static void moves(struct scene *s, unsigned sample)
{
	s->tcp.bytes_acked = s->tcp.bytes_sent = sample * UINT64_C(100000);
}

TEST(services_that_a_program_tries)
{
	static const struct expected list[] = {{"app_tried", "5"}, {"app_tried_again", "0"}, {}};
	static const struct expected again[] = {{"app_tried", "2"}, {"app_tried_again", "1"}, {}};
	static const struct expected waits[] = {{"app_asks", "2"}, {"app_asks_others", "2"}, {}};
	_cleanup_measured_ struct graph *graph = measure(moves, walks_down_a_list, 2);

	check_some(&path_measures_type, module_of(graph, CONN)->measures.path, list);
	check_some(&path_measures_type, module_of(graph, "conn:10.77.1.2:41100-10.77.9.2:5001")->measures.path,
		   (struct expected[]){{"app_walks", "true"}, {"others_moving", "1"}, {}});
	graph_free(graph);
	window_free(window);
	graph = measure(moves, tries_again, 2);
	check_some(&path_measures_type, module_of(graph, CONN)->measures.path, again);
	check_some(&path_measures_type, module_of(graph, "conn:10.77.1.2:41101-10.77.9.2:5001")->measures.path,
		   (struct expected[]){{"app_walks", "false"}, {}});
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, waits);
}

/* Bridge br0 goes down after the first window; its port receives a packet in each sample. */
static void has_a_bridge(struct snapshot *snapshot, unsigned sample)
{
	struct link_record bridge = *(const struct link_record *)snapshot_first(snapshot, &link_type), port = bridge;

	bridge.ifindex = 30;
	memcpy(bridge.dev, "br0", 4);
	memcpy(bridge.kind, "bridge", 7);
	bridge.flags = sample < SAMPLES;
	port.ifindex = 31;
	memcpy(port.dev, "veth1", 6);
	port.master = 30;
	port.flags = 1;
	port.rx_packets = 100 + sample;
	put(snapshot, &link_type, &bridge);
	put(snapshot, &link_type, &port);
}

TEST(ports_of_a_bridge_that_is_down)
{
	/* Of the ten samples of a window, the first only shows that it is down. */
	static const struct expected ports[] = {{"ports_of", "\"br0\""},       {"ports_kind", "\"bridge\""},
						{"ports_up", "1"},            {"ports_packets", "9"},
						{"ports_dev", "\"veth1\""}, {}};
	_cleanup_measured_ struct graph *graph = measure(moves, has_a_bridge, 2);

	check_all(&link_ports_measures_type, module_of(graph, "link:br0")->measures.link_ports, ports);
	graph_free(graph);
	window_free(window);
	graph = measure(moves, has_a_bridge, 1);
	CHECK(graph_find(graph, "link:br0") == NULL);
}

static void has_a_small_bucket(struct scene *s, unsigned sample)
{
	moves(s, sample);
	s->link.mtu = 1500;
	memcpy(s->qdisc.dev, "eth0", 5);
	memcpy(s->qdisc.handle, "8001:", 6);
	s->qdisc.burst_bytes = 1000;
	s->qdisc.drops = 65;
	s->qdisc.packets = 10;
	s->qdisc.bytes = 1230;
}

static void has_a_bucket_for_a_packet(struct scene *s, unsigned sample)
{
	has_a_small_bucket(s, sample);
	s->qdisc.burst_bytes = 1514;
}

TEST(a_bucket_that_holds_less_than_a_packet)
{
	static const struct expected bucket[] = {{"bucket_dev", "\"eth0\""},      {"bucket_kind", "\"tbf\""},
						 {"bucket_handle", "\"8001:\""},  {"bucket_bytes", "1000"},
						 {"bucket_packet_bytes", "1514"}, {"bucket_drops_ever", "65"},
						 {"bucket_passed_bytes", "123"},  {}};
	_cleanup_measured_ struct graph *graph = measure(has_a_small_bucket, NULL, 1);
	const struct module *qdisc = module_of(graph, "qdisc:eth0");

	check_all(&bucket_measures_type, qdisc->measures.bucket, bucket);
	graph_free(graph);
	window_free(window);
	graph = measure(has_a_bucket_for_a_packet, NULL, 1);
	qdisc = module_of(graph, "qdisc:eth0");
	CHECK(qdisc->measures.bucket == NULL);
}
