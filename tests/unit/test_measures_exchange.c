/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and replies by their number: how long each waited, who owes one, what was left unread. */
#include "measured.h"

#include "diagnose/measure/exchange.h"

#define CONN "conn:10.77.1.2:40000-10.77.2.2:5001"

static void check_exchange(scene_fn *step, const struct expected *list, bool quiet)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 2);
	const struct module *conn = module_of(graph, CONN);

	check_some(&exchange_measures_type, conn->measures.exchange, list);
	CHECK_EQ_INT(conn->quiet, quiet);
}

static void listens(struct scene *s)
{
	s->has_other = true;
	s->other_socket = s->socket;
	s->other_socket.state = SOCKET_LISTEN;
	s->other_socket.cookie = 4711;
	s->other_socket.recvq_bytes = 0;
}

/*
 * A request every second, acknowledged 2 ms after and answered 0.8 s after. A hundred were answered before, since the
 * process began: one in a second.
 */
static void is_answered_late(struct scene *s, unsigned sample)
{
	uint64_t phase = sample % 5;

	s->process.start_ns = 190 * MS;
	if (sample == 0)
		s->tcp.data_segs_in = s->tcp.data_segs_out = 100;
	s->tcp.data_segs_out += phase == 0;
	s->tcp.data_segs_in += phase == 4;
	s->tcp.segs_in += phase == 0 || phase == 4;
	s->tcp.last_sent_ns = (phase * 200 + 10) * MS;
	s->tcp.last_ack_ns = phase == 4 ? 10 * MS : (phase * 200 + 8) * MS;
	s->tcp.last_received_ns = phase == 4 ? 10 * MS : (phase * 200 + 210) * MS;
}

/* Of four requests every second, three are answered at once: of such four, fifty were answered before. */
static void is_answered_late_at_times(struct scene *s, unsigned sample)
{
	uint64_t phase = sample % 5;

	is_answered_late(s, sample);
	if (sample == 0)
		s->tcp.data_segs_in = s->tcp.data_segs_out = 97;
	s->tcp.data_segs_out += phase == 0 ? 3 + (sample == 0) : 0;
	s->tcp.data_segs_in += phase == 0 ? 3 : 0;
	if (phase != 4)
		s->tcp.last_received_ns = (phase * 200 + 12) * MS;
}

/* The process is 60 s old: the mean before is 0.6 s. */
static void was_answered_faster(struct scene *s, unsigned sample)
{
	is_answered_late(s, sample);
	s->process.start_ns = 40190 * MS;
}

/* Requests before the run, and the time they took. */
static void has_asked(struct scene *s, unsigned sample, uint32_t requests, uint64_t ms)
{
	is_answered_late(s, sample);
	s->process.start_ns = (100190 - ms) * MS;
	if (sample > 0)
		return;
	s->tcp.data_segs_in = requests;
	s->tcp.data_segs_out = requests + 1;
}

static void has_asked_rarely(struct scene *s, unsigned sample)
{
	has_asked(s, sample, 5, 2500);
}

static void has_asked_twice(struct scene *s, unsigned sample)
{
	has_asked(s, sample, 2, 500);
}

static void has_asked_as_often(struct scene *s, unsigned sample)
{
	has_asked(s, sample, 6, 4500);
}

static void has_asked_more_often(struct scene *s, unsigned sample)
{
	has_asked(s, sample, 6, 3600);
}

TEST(requests_that_wait)
{
	static const struct expected late[] = {
		{"serves", "false"},
		{"reply_wait_share", "0.8"},
		{"reply_wait_ns", "null"},
		{"unreplied_ns", "null"},
		{"owed_share", "0.2"},
		{"owed_ns", "null"},
		{"bare_acks_share", "1"},
		{"answers_base", "2"},
		{"answers_share", "1"},
		{"given_base", "1"},
		{"given_share", "2"},
		{"answers_timed", "4"},
		{"answer_ns", "800000000"},
		{"late", "4"},
		{"late_wait_ns", "800000000"},
		{"slow", "4"},
		{"quick", "0"},
		{"asking_share", "0.8"},
		{"service_asked_share", "0.8"},
		{"past_exchange_ns", "1000000000"},
		{"past_exchanges", "100"},
		{"late_times", "0.8"},
		{"run_exchange_ns", "null"},
		{"as_ever", "true"},
		{"open_wait_ns", "null"},
		{"unread_ns", "0"},
		{"app_unread", "0"},
		{"app_asks", "0"},
		{},
	};

	static const struct expected at_times[] = {{"late", "4"},
						   {"late_wait_ns", "800000000"},
						   {"quick", "5"},
						   {"past_exchange_ns", "2000000000"},
						   {"late_times", "0.4"},
						   {"run_exchange_ns", "338666666"},
						   {"run_times", "0.1693333"},
						   {"as_ever", "false"},
						   {}};

	static const struct expected faster[] = {{"past_exchanges", "100"}, {"as_ever", "false"}, {}};
	static const struct expected rarely[] = {
		{"past_exchanges", "5"}, {"past_exchange_ns", "500000000"}, {"as_ever", "true"}, {}};
	static const struct expected twice[] = {
		{"past_exchanges", "2"}, {"past_exchange_ns", "250000000"}, {"as_ever", "false"}, {}};
	static const struct expected as_often[] = {
		{"past_exchanges", "6"}, {"past_exchange_ns", "750000000"}, {"as_ever", "true"}, {}};
	static const struct expected more_often[] = {
		{"past_exchanges", "6"}, {"past_exchange_ns", "600000000"}, {"as_ever", "false"}, {}};

	scene_boot_ns = 100 * NSEC_PER_SEC;
	check_exchange(is_answered_late, late, false);
	check_exchange(is_answered_late_at_times, at_times, false);
	check_exchange(was_answered_faster, faster, false);
	check_exchange(has_asked_rarely, rarely, false);
	check_exchange(has_asked_twice, twice, false);
	check_exchange(has_asked_as_often, as_often, false);
	check_exchange(has_asked_more_often, more_often, false);
}

/* 64 bytes have waited in the receive queue since the first sample, a quarter of its buffer with what they cost. */
static void leaves_unread(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.bytes_received = 1064;
	s->socket.recvq_bytes = 64;
	s->socket.rmem_bytes = 1000000;
	s->tcp.data_segs_in = 1;
	s->tcp.last_received_ns = (uint64_t)(sample + 1) * SAMPLE_NS;
	s->tcp.last_sent_ns = s->tcp.last_ack_ns = s->tcp.last_received_ns + 1000 * MS;
}

static void leaves_a_request_unread(struct scene *s, unsigned sample)
{
	leaves_unread(s, sample);
	listens(s);
}

/*
 * A request every 400 ms, which is there for 50 ms in one sample and for 250 ms in the next; then it is read, and the
 * next one comes.
 */
static void reads_late(struct scene *s, unsigned sample)
{
	uint64_t requests = sample / 2 + 1;

	listens(s);
	s->tcp.bytes_received = 1000 + 64 * requests;
	s->socket.recvq_bytes = 64;
	s->socket.rmem_bytes = 1000;
	s->tcp.data_segs_in = (uint32_t)requests;
	s->tcp.data_segs_out = (uint32_t)requests - 1;
	s->tcp.last_received_ns = (sample % 2 ? 250 : 50) * MS;
	s->tcp.last_sent_ns = s->tcp.last_ack_ns = s->tcp.last_received_ns + 1 * MS;
}

/* A request that came 10 ms before each sample, and is answered at once. */
static void reads_at_once(struct scene *s, unsigned sample)
{
	reads_late(s, 2 * sample);
	s->tcp.last_received_ns = 10 * MS;
}

TEST(what_is_left_unread)
{
	static const struct expected client[] = {{"serves", "false"},
						 {"unread_ns", "3800000000"},
						 {"unread_recent_ns", "3800000000"},
						 {"unread_recent_fill", "0.25"},
						 {"unaccepted", "false"},
						 {"app_unread", "0"},
						 {}};
	static const struct expected server[] = {
		{"serves", "true"}, {"unread_ns", "3800000000"}, {"app_unread", "1"}, {"unaccepted", "false"}, {}};

	static const struct expected late[] = {{"unread_ns", "250000000"},
					       {"unread_recent_ns", "250000000"},
					       {"app_unread_longest_ns", "250000000"},
					       {}};
	static const struct expected at_once[] = {{"unread_ns", "10000000"}, {"unread_recent_ns", "10000000"}, {}};

	check_exchange(leaves_unread, client, false);
	check_exchange(leaves_a_request_unread, server, false);
	check_exchange(reads_late, late, false);
	check_exchange(reads_at_once, at_once, false);
}

/* One request, sent 1 s before the first sample; nothing has ever been received. */
static void is_never_answered(struct scene *s, unsigned sample)
{
	s->tcp.data_segs_out = 1;
	s->tcp.last_sent_ns = 1000 * MS + (uint64_t)sample * SAMPLE_NS;
	s->tcp.last_ack_ns = s->tcp.last_sent_ns - 2 * MS;
	s->tcp.last_received_ns = UINT64_MAX;
}

/* The same after a reply, with bytes that are not acknowledged: the path may hold them. */
static void is_not_acknowledged(struct scene *s, unsigned sample)
{
	is_never_answered(s, sample);
	s->tcp.data_segs_in = 1;
	s->tcp.last_received_ns = s->tcp.last_sent_ns + 100 * MS;
	s->socket.sendq_bytes = 64;
}

TEST(requests_without_a_reply)
{
	static const struct expected first[] = {{"reply_wait_share", "0"},
						{"reply_wait_ns", "null"},
						{"unreplied_ns", "4800000000"},
						{"owed_share", "0"},
						{}};
	static const struct expected unacknowledged[] = {
		{"reply_wait_share", "0"}, {"unreplied_ns", "null"}, {"asking_share", "0"}, {}};

	check_exchange(is_never_answered, first, false);
	check_exchange(is_not_acknowledged, unacknowledged, false);
}

/* Asked once, 5 s before the first sample, and answered 100 ms after. */
static void rests(struct scene *s, unsigned sample)
{
	s->tcp.data_segs_in = s->tcp.data_segs_out = 1;
	s->tcp.last_sent_ns = 5000 * MS + (uint64_t)sample * SAMPLE_NS;
	s->tcp.last_received_ns = s->tcp.last_ack_ns = s->tcp.last_sent_ns - 100 * MS;
}

/* The same seen from the other end. */
static void rests_here(struct scene *s, unsigned sample)
{
	rests(s, sample);
	s->tcp.last_received_ns = s->tcp.last_sent_ns + 100 * MS;
	s->tcp.last_ack_ns = s->tcp.last_sent_ns - 1 * MS;
	listens(s);
}

static void owes_here(struct scene *s, unsigned sample)
{
	rests(s, sample);
	listens(s);
}

static void sends(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
	s->socket.sendq_bytes = 0;
}

TEST(connections_at_rest)
{
	static const struct expected client[] = {{"serves", "false"}, {"reply_wait_share", "0"}, {}};
	static const struct expected server[] = {{"serves", "true"}, {"owed_share", "0"}, {}};
	static const struct expected owes[] = {{"serves", "true"}, {"owed_share", "1"}, {"owed_ns", "8700000000"}, {}};
	static const struct expected none[] = {{}};

	check_exchange(rests, client, true);
	check_exchange(rests_here, server, true);
	check_exchange(owes_here, owes, false);
	check_exchange(sends, none, false);
}

/* --- a service that pauses --- */

/* Of every second, 0.6 s with five exchanges each 0.2 s, and then nothing: the last request waits for 320 ms. */
static void asks_in_spells(struct tcp_record *t, unsigned sample)
{
	uint64_t phase = sample % 5, age_ns = phase < 3 ? 0 : (phase - 3) * 200 * MS + 110 * MS;

	t->data_segs_out += phase < 3 ? 5 : phase == 3;
	t->data_segs_in += phase == 0 && sample > 0 ? 6 : phase < 3 ? 5 : 0;
	t->last_received_ns = age_ns + 10 * MS;
	t->last_sent_ns = age_ns + (phase < 3 ? 12 * MS : 5 * MS);
	t->last_ack_ns = age_ns + (phase < 3 ? 10 * MS : 4 * MS);
}

static void one_waits_in_spells(struct scene *s, unsigned sample)
{
	s->process.start_ns = 90 * NSEC_PER_SEC;
	s->tcp.min_rtt_ns = s->other.min_rtt_ns = 1 * MS;
	if (sample == 0)
		s->tcp.data_segs_in = s->tcp.data_segs_out = s->other.data_segs_in = s->other.data_segs_out = 200;
	asks_in_spells(&s->tcp, sample);
}

/* A second connection, at the same time. */
static void both_wait_in_spells(struct scene *s, unsigned sample)
{
	one_waits_in_spells(s, sample);
	s->has_other = true;
	asks_in_spells(&s->other, sample);
}

/* The next request has been sent when the sample is taken: of five replies, one may have taken long. */
static void both_ask_at_once(struct scene *s, unsigned sample)
{
	both_wait_in_spells(s, sample);
	if (sample % 5 < 3)
		s->tcp.last_sent_ns = s->other.last_sent_ns = 5 * MS;
	s->tcp.data_segs_out -= sample % 5 == 2 ? 2 : 0;
	s->tcp.data_segs_in -= sample % 5 == 2 ? 2 : 0;
	s->other.data_segs_out -= sample % 5 == 2 ? 2 : 0;
	s->other.data_segs_in -= sample % 5 == 2 ? 2 : 0;
}

/* What takes a few RTTs is the path's. */
static void both_wait_for_a_far_one(struct scene *s, unsigned sample)
{
	both_wait_in_spells(s, sample);
	s->tcp.min_rtt_ns = s->other.min_rtt_ns = 40 * MS;
}

/* A second connection that has waited for news all the time. */
static void another_waits_for_news(struct scene *s, unsigned sample)
{
	both_wait_in_spells(s, sample);
	s->other.data_segs_in = s->other.data_segs_out = 200;
	s->other.last_received_ns = (sample + 5) * SAMPLE_NS;
	s->other.last_sent_ns = s->other.last_received_ns - 5 * MS;
	s->other.last_ack_ns = s->other.last_received_ns - 6 * MS;
}

TEST(a_service_that_pauses)
{
	/* The last sample counts when the next one comes. */
	static const struct expected both[] = {{"service_pauses", "7"},
					       {"service_pause_ns", "320000000"},
					       {"service_fast_share", "1"},
					       /* 205 in 10.2 s before */
					       {"pause_times", "6.431373"},
					       {}};
	/* 5, 5 and 3 replies at a time, the 3 in 67 ms each on average: 12 of 13, less the 5 of the first sample. */
	static const struct expected at_once[] = {{"service_pauses", "7"}, {"service_fast_share", "0.9148936"}, {}};
	static const struct expected none[] = {{"service_pauses", "0"}, {"service_pause_ns", "null"}, {}};

	scene_boot_ns = 100 * NSEC_PER_SEC;
	check_exchange(both_wait_in_spells, both, false);
	check_exchange(both_ask_at_once, at_once, false);
	check_exchange(one_waits_in_spells, none, false);
	check_exchange(both_wait_for_a_far_one, none, false);
	check_exchange(another_waits_for_news, none, false);
}

/* --- a proxy --- */

/* Its program asks 1 s before the first sample, on a new connection; its client asked 100 ms before that. */
static void relays(struct scene *s, unsigned sample)
{
	is_never_answered(s, sample);
	s->process.start_ns = 99 * NSEC_PER_SEC;
	s->has_other = true;
	s->other_socket.inode = s->socket.inode;
	s->other_socket.lport = 7001;
	s->other_socket.rport = 50000;
	s->other.data_segs_in = 101;
	s->other.data_segs_out = 100;
	s->other.last_received_ns = s->tcp.last_sent_ns + 100 * MS;
	s->other.last_sent_ns = s->other.last_ack_ns = s->other.last_received_ns + 1000 * MS;
}

/* It sends, and the window is closed. */
static void sends_to_one_that_does_not_read(struct scene *s, unsigned sample)
{
	relays(s, sample);
	s->socket.sendq_bytes = s->tcp.notsent_bytes = 50000;
	s->tcp.busy_ns = s->tcp.rwnd_limited_ns = (uint64_t)sample * SAMPLE_NS;
}

/* A second client, as the first, and the port of both. */
static void has_clients(struct snapshot *snapshot, unsigned sample _unused_)
{
	const struct socket_record *sockets = snapshot_first(snapshot, &socket_type);
	const struct tcp_record *tcps = snapshot_first(snapshot, &tcp_type);
	struct socket_record client = sockets[1], listener = client;
	struct tcp_record tcp = tcps[1];

	client.cookie = 9;
	client.rport = 50001;
	client.tcp = 2;
	listener.cookie = 4711;
	listener.state = SOCKET_LISTEN;
	listener.rport = 0;
	put(snapshot, &socket_type, &client);
	put(snapshot, &tcp_type, &tcp);
	put(snapshot, &socket_type, &listener);
}

TEST(clients_wait_while_their_server_sends)
{
	static const struct expected client[] = {{"serves", "true"}, {"app_asks", "1"}, {"app_asks_others", "1"}, {}};
	_cleanup_measured_ struct graph *graph = NULL;

	scene_boot_ns = 100 * NSEC_PER_SEC;
	graph = measure(sends_to_one_that_does_not_read, has_clients, 2);
	check_some(&exchange_measures_type, module_of(graph, "conn:10.77.1.2:7001-10.77.2.2:50000")->measures.exchange,
		   client);
}

/* Another connection of the program to the same service, from the fifth sample on: a request, and no reply yet. */
static void asks_again(struct snapshot *snapshot, unsigned sample)
{
	struct socket_record again = *(const struct socket_record *)snapshot_first(snapshot, &socket_type);
	struct tcp_record tcp = *(const struct tcp_record *)snapshot_first(snapshot, &tcp_type);

	if (sample < 5)
		return;
	again.cookie = 9;
	again.lport = 40001;
	again.tcp = 1;
	tcp.data_segs_in = 0;
	tcp.data_segs_out = 1;
	put(snapshot, &socket_type, &again);
	put(snapshot, &tcp_type, &tcp);
}

TEST(connections_that_begin_and_wait)
{
	_cleanup_measured_ struct graph *graph = NULL;

	scene_boot_ns = 100 * NSEC_PER_SEC;
	graph = measure(is_never_answered, asks_again, 2);
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange,
		   (struct expected[]){{"app_asks_first", "1"}, {"app_asks", "1"}, {}});
}

TEST(clients_of_a_proxy_wait)
{
	static const struct expected upstream[] = {{"serves", "false"},
						   {"unreplied_ns", "4800000000"},
						   {"app_overdue", "2"},
						   {"app_oldest_ns", "4900000000"},
						   {"app_asks", "0"},
						   {"app_asks_others", "0"},
						   {"app_clients_wait", "2"},
						   {"app_asks_late", "0"},
						   {"app_delayed", "2"},
						   {"app_delayed_share", "1"},
						   {"app_delayed_since_ns", "4900000000"},
						   {}};
	static const struct expected client[] = {{"serves", "true"},
						 {"open_wait_ns", "4900000000"},
						 {"past_exchanges", "100"},
						 {"past_exchange_ns", "1000000"},
						 {"open_times", "4900"},
						 {"app_asks", "1"},
						 {}};
	_cleanup_measured_ struct graph *graph = NULL;

	scene_boot_ns = 100 * NSEC_PER_SEC;
	graph = measure(relays, has_clients, 2);
	check_some(&exchange_measures_type, module_of(graph, CONN)->measures.exchange, upstream);
	check_some(&exchange_measures_type, module_of(graph, "conn:10.77.1.2:7001-10.77.2.2:50000")->measures.exchange,
		   client);
}
