/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a look that begins late goes by: lists of services that a program walks down, ports of a bridge that is down,
 * buckets that hold less than a packet, requests in the tick of an answer.
 */
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
	static const struct expected ports[] = {{"ports_of", "\"br0\""},    {"ports_kind", "\"bridge\""},
						{"ports_up", "1"},          {"ports_packets", "9"},
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

/* A request that went out in the tick in which the answer before it came: 5 s ago, of a hundred in a minute. */
static void asks_in_the_tick_of_an_answer(struct scene *s, unsigned sample)
{
	s->process.start_ns = 35 * NSEC_PER_SEC;
	s->tcp.data_segs_in = s->tcp.data_segs_out = 100;
	s->tcp.last_sent_ns = s->tcp.last_received_ns = (5000 + sample * 200) * MS;
	/* Of the reply to a keep-alive probe. */
	s->tcp.last_ack_ns = 10 * MS;
	s->has_asking = true;
	s->asking.cookie = s->socket.cookie;
	s->asking.sent_last = true;
}

static void is_answered_in_the_tick(struct scene *s, unsigned sample)
{
	asks_in_the_tick_of_an_answer(s, sample);
	s->asking.sent_last = false;
}

TEST(a_request_in_the_tick_of_an_answer)
{
	static const struct expected open[] = {{"open_wait_ns", "8800000000"}, {"app_asks_others", "0"}, {}};
	static const struct expected idle[] = {{"open_wait_ns", "null"}, {"open_times", "null"}, {}};
	_cleanup_measured_ struct graph *graph = NULL;

	scene_boot_ns = 100 * NSEC_PER_SEC;
	graph = measure(asks_in_the_tick_of_an_answer, NULL, 2);
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, open);
	graph_free(graph);
	window_free(window);
	graph = measure(is_answered_in_the_tick, NULL, 2);
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, idle);
}

/* A server that never reads: quiet, or sending a line after what it has not read. */
static void leaves_unread(struct snapshot *snapshot, unsigned sample _unused_)
{
	struct socket_record listener = *(const struct socket_record *)snapshot_first(snapshot, &socket_type);

	listener.cookie = 4711;
	listener.state = SOCKET_LISTEN;
	listener.rport = 0;
	listener.recvq_bytes = 0;
	put(snapshot, &socket_type, &listener);
}

static void is_quiet(struct scene *s, unsigned sample)
{
	s->tcp.bytes_received = s->socket.recvq_bytes = 20;
	s->tcp.data_segs_in = 1;
	s->tcp.last_received_ns = (60000 + sample * 200) * MS;
	s->tcp.last_sent_ns = (61000 + sample * 200) * MS;
}

static void talks_on(struct scene *s, unsigned sample)
{
	is_quiet(s, sample);
	s->tcp.data_segs_out = 20;
	s->tcp.last_sent_ns = 2000 * MS;
}

TEST(requests_that_nobody_reads)
{
	static const struct expected quiet[] = {
		{"serves", "true"}, {"sent_since", "false"}, {"app_unread", "1"}, {"app_clients_wait", "1"}, {}};
	static const struct expected talks[] = {{"serves", "true"}, {"sent_since", "true"}, {"app_unread", "0"}, {}};
	_cleanup_measured_ struct graph *graph = measure(is_quiet, leaves_unread, 2);

	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, quiet);
	graph_free(graph);
	window_free(window);
	graph = measure(talks_on, leaves_unread, 2);
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, talks);
}
