/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More causes on snapshots made by hand (scene.h), each with a near miss. */
#include "scene.h"

/* From the sixth sample on nothing is acknowledged any more, and what is tried again is tried ever more seldom. */
static void stop_moving(struct scene *s, unsigned sample)
{
	if (sample < 6) {
		send_well(s);
		return;
	}
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.backoff = (uint8_t)(1 + sample / 6);
	s->tcp.last_ack_ns += SAMPLE_NS;
	s->socket.timer = SOCKET_TIMER_RETRANSMIT;
}

/* A rule that drops one packet as the connection stops; and one that has always been dropping something. */
static void dropped_once(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->has_rule = true;
	s->rule.packets = sample >= 7;
}

static void dropped_all_along(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->has_rule = true;
	s->rule.packets = sample;
}

static void dropped_and_invalid(struct scene *s, unsigned sample)
{
	dropped_once(s, sample);
	s->has_conntrack = true;
	s->conntrack.invalid = sample >= 7;
}

/* A rule that has always handed packets to a program, which ends when the connection stops; and one that goes on. */
static void handed_to_nobody(struct scene *s, unsigned sample)
{
	dropped_all_along(s, sample);
	s->rule.verdict = VERDICT_QUEUE;
	s->rule.queue = 7;
	s->rule.unheard = sample >= 6;
}

static void handed_to_a_program(struct scene *s, unsigned sample)
{
	handed_to_nobody(s, sample);
	s->rule.unheard = false;
}

TEST(what_is_handed_to_nobody)
{
	CHECK_EQ_TEXT(diagnose(handed_to_nobody), "firewall-drop");
	CHECK_EQ_TEXT(diagnose(handed_to_a_program), "path-blackhole");
}

TEST(what_the_firewall_drops_of_a_stuck_connection)
{
	CHECK_EQ_TEXT(diagnose(dropped_once), "firewall-drop");
	CHECK_EQ_TEXT(diagnose(dropped_all_along), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(dropped_and_invalid), "conntrack-invalid");
}

/* Retransmissions after the connection stopped: lost on this host, or they reach the connection. */
static void arrives_in_vain(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->has_arrival = true;
	s->arrival.arrived = s->arrival.undelivered = sample >= 7 ? sample - 6 : 0;
}

static void arrives(struct scene *s, unsigned sample)
{
	arrives_in_vain(s, sample);
	s->arrival.undelivered = 0;
}

/* Nothing is under way, and the kernel tries again with the window open. */
static void is_not_sent(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	if (sample < 6)
		return;
	s->tcp.unacked = 0;
	s->tcp.notsent_bytes = s->socket.sendq_bytes;
	s->socket.timer = SOCKET_TIMER_PERSIST;
}

static void is_not_sent_without_signal(struct scene *s, unsigned sample)
{
	is_not_sent(s, sample);
	s->link.carrier = sample < 6;
}

TEST(what_the_firewall_drops_without_counting)
{
	CHECK_EQ_TEXT(diagnose(arrives_in_vain), "firewall-drop");
	CHECK_EQ_TEXT(diagnose(arrives), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(is_not_sent), "firewall-drop");
	CHECK_EQ_TEXT(diagnose(is_not_sent_without_signal), "no-carrier");
}

static void refused_source(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->counters[0] = (struct counter_record){.counter = "TcpExtIPReversePathFilter", .value = sample >= 7};
}

static void refused_source_before(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->counters[0] = (struct counter_record){.counter = "TcpExtIPReversePathFilter", .value = 1};
}

TEST(the_reverse_path_filter)
{
	CHECK_EQ_TEXT(diagnose(refused_source), "rp-filter");
	CHECK_EQ_TEXT(diagnose(refused_source_before), "path-blackhole");
}

/* The firewall drops part of what is sent: it stays unsent, with nothing in flight. */
static void dropped_on_the_way_out(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.bytes_sent += 2000;
	s->tcp.bytes_acked += 2000;
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.unacked = 0;
	s->tcp.notsent_bytes = 500;
	s->socket.sendq_bytes = 500;
	s->has_rule = true;
	s->rule.packets += 5;
}

/* The same without a rule that drops: the program holds it back itself. */
static void corked(struct scene *s, unsigned sample)
{
	dropped_on_the_way_out(s, sample);
	s->rule.packets = 0;
}

static void sent_at_once(struct scene *s, unsigned sample)
{
	corked(s, sample);
	s->tcp.notsent_bytes = 0;
	s->tcp.unacked = 1;
}

TEST(what_is_held_back)
{
	CHECK_EQ_TEXT(diagnose(dropped_on_the_way_out), "firewall-drop");
	CHECK_EQ_TEXT(diagnose(corked), "corked");
	CHECK_EQ_TEXT(diagnose(sent_at_once), "");
}

/* A burst every second: the congestion window is small again at its begin though nothing was lost. */
static void restart(struct scene *s, unsigned sample)
{
	bool busy = sample % 5 >= 3;

	s->tcp.srtt_ns = s->tcp.min_rtt_ns = 80000000;
	s->tcp.unacked = busy ? 40 : 0;
	s->tcp.notsent_bytes = busy ? 200000 : 0;
	s->socket.sendq_bytes = busy ? 260000 : 0;
	s->tcp.cwnd = sample % 5 == 3 ? 40 : 400;
	s->tcp.last_sent_ns = busy ? 0 : s->tcp.last_sent_ns + 4 * SAMPLE_NS;
	s->tcp.bytes_acked += busy ? 300000 : 0;
	s->tcp.bytes_sent += busy ? 300000 : 0;
}

static void window_kept(struct scene *s, unsigned sample)
{
	restart(s, sample);
	s->tcp.cwnd = 400;
}

static void window_lost(struct scene *s, unsigned sample)
{
	restart(s, sample);
	s->tcp.total_retrans = sample;
}

TEST(slow_start_after_a_pause)
{
	CHECK_EQ_TEXT(diagnose(restart), "idle-restart");
	CHECK_EQ_TEXT(diagnose(window_kept), "");
	CHECK_EQ_TEXT(diagnose(window_lost), "");
}

/*
 * The large segments are missing and small ones beyond them arrived; or most arrived; or a
 * neighbour with small ones moves.
 */
static void large_ones_vanish(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->tcp.sacked = sample >= 6 ? 1 : 0;
}

static void one_is_lost_for_ever(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->tcp.sacked = sample >= 6 ? 25 : 0;
}

/* Nothing to that host moves any more: what it received before the outage is no news. */
static void gaps_before_an_outage(struct scene *s, unsigned sample)
{
	one_is_lost_for_ever(s, sample);
	s->has_other = true;
	s->other = s->tcp;
	s->other_socket.sendq_bytes = s->socket.sendq_bytes;
}

static void through_a_tunnel(struct scene *s, unsigned sample)
{
	large_ones_vanish(s, sample);
	s->has_tunnel = true;
}

static void tunnel_alone(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->has_tunnel = true;
}

TEST(a_standstill_of_large_segments)
{
	CHECK_EQ_TEXT(diagnose(large_ones_vanish), "path-mtu");
	CHECK_EQ_TEXT(diagnose(one_is_lost_for_ever), "path-loss");
	CHECK_EQ_TEXT(diagnose(gaps_before_an_outage), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(through_a_tunnel), "tunnel-mtu");
	CHECK_EQ_TEXT(diagnose(tunnel_alone), "path-blackhole");
}

static void neighbour_moves(struct scene *s, unsigned sample, uint32_t segment)
{
	tunnel_alone(s, sample);
	s->has_other = true;
	s->other.bytes_sent += 10 * segment;
	s->other.bytes_acked += 10 * segment;
	s->other.data_segs_out += 10;
}

static void small_neighbour(struct scene *s, unsigned sample)
{
	neighbour_moves(s, sample, 100);
}

static void large_neighbour(struct scene *s, unsigned sample)
{
	neighbour_moves(s, sample, 1448);
}

TEST(sizes_of_the_neighbours)
{
	CHECK_EQ_TEXT(diagnose(small_neighbour), "tunnel-mtu");
	CHECK_EQ_TEXT(diagnose(large_neighbour), "path-blackhole");
}

/* Half the rate of before, delivered evenly: the path is narrower. Unevenly, it is something else. */
static void narrower(struct scene *s, unsigned sample)
{
	uint64_t amount = sample < 6 ? 400000 : 100000;

	send_well(s);
	s->tcp.bytes_sent += amount - 200000;
	s->tcp.bytes_acked += amount - 200000;
	s->tcp.unacked = s->tcp.cwnd = 30;
	s->tcp.notsent_bytes = 500000;
}

static void uneven(struct scene *s, unsigned sample)
{
	narrower(s, sample);
	s->tcp.bytes_acked += sample % 2 ? 60000 : 0;
}

static void full_path(struct scene *s, unsigned sample)
{
	send_well(s);
	(void)sample;
	s->tcp.unacked = s->tcp.cwnd = 30;
	s->tcp.bytes_retrans += 8688;
	s->tcp.srtt_ns = 60000000;
}

TEST(the_rate_of_the_path)
{
	CHECK_EQ_TEXT(diagnose(narrower), "path-congestion");
	CHECK_EQ_TEXT(diagnose(uneven), "");
	CHECK_EQ_TEXT(diagnose(full_path), "");
}

static void policed(struct scene *s, unsigned sample)
{
	narrower(s, sample);
	memcpy(s->tcp.cc, "bbr", 4);
	s->tcp.bytes_retrans += sample < 6 ? 0 : 8000;
}

static void unpoliced(struct scene *s, unsigned sample)
{
	policed(s, sample);
	memcpy(s->tcp.cc, "cubic", 6);
}

TEST(a_policer_slows_what_loss_does_not)
{
	CHECK_EQ_TEXT(diagnose(policed), "path-policed path-congestion");
	CHECK_EQ_TEXT(diagnose(unpoliced), "path-loss");
}

/* Name servers. */
static void answers(struct scene *s, unsigned late)
{
	s->has_lookup = true;
	s->lookup.queries += 2;
	s->lookup.answers += 2;
	s->lookup.slow_answers += late;
	s->lookup.answer_ns += late * UINT64_C(500000000);
}

static void answers_in_time(struct scene *s, unsigned sample)
{
	(void)sample;
	answers(s, 0);
}

static void answers_late(struct scene *s, unsigned sample)
{
	(void)sample;
	answers(s, 2);
}

static void does_not_answer(struct scene *s, unsigned sample)
{
	s->has_lookup = true;
	s->lookup.queries++;
	s->lookup.pending = 1;
	s->lookup.oldest_ns = sample * UINT64_C(200000000);
}

static void not_there(struct scene *s, unsigned sample)
{
	(void)sample;
	s->has_lookup = true;
	s->lookup.queries++;
	s->lookup.unreachable++;
}

static void stub_waits_for_another(struct scene *s, unsigned sample)
{
	does_not_answer(s, sample);
	REQUIRE(addr_parse("127.0.0.53", &s->lookup.raddr) == 0);
}

TEST(name_servers)
{
	CHECK_EQ_TEXT(diagnose(answers_in_time), "");
	CHECK_EQ_TEXT(diagnose(answers_late), "dns-slow");
	CHECK_EQ_TEXT(diagnose(does_not_answer), "dns-dead");
	CHECK_EQ_TEXT(diagnose(not_there), "dns-dead");
	CHECK_EQ_TEXT(diagnose(stub_waits_for_another), "dns-dead");
}

/* Refusals and resets. */
static void refuses(struct scene *s, unsigned sample)
{
	(void)sample;
	s->has_refusal = true;
	s->refusal.refused++;
}

static void refused_long_ago(struct scene *s, unsigned sample)
{
	s->has_refusal = true;
	s->refusal.refused = min_of(sample, 3u);
}

static void rejected_at_home(struct scene *s, unsigned sample)
{
	refuses(s, sample);
	s->has_rule = true;
	s->rule.verdict = VERDICT_REJECT;
	s->rule.packets += 1;
}

static void resets(struct scene *s, unsigned sample)
{
	s->has_refusal = true;
	s->refusal.resets++;
	s->counters[0] = (struct counter_record){.counter = "TcpEstabResets", .value = sample};
}

static void resets_of_nothing(struct scene *s, unsigned sample)
{
	resets(s, sample);
	s->counters[0].value = 1;
}

static void refused_here(struct scene *s, unsigned sample)
{
	send_well(s);
	s->has_refusal = true;
	s->refusal.here = sample;
}

TEST(refusals_and_resets)
{
	CHECK_EQ_TEXT(diagnose(refused_here), "firewall-reject");
	CHECK_EQ_TEXT(diagnose(refuses), "peer-refused");
	CHECK_EQ_TEXT(diagnose(refused_long_ago), "");
	CHECK_EQ_TEXT(diagnose(rejected_at_home), "firewall-reject");
	CHECK_EQ_TEXT(diagnose(resets), "peer-reset");
	CHECK_EQ_TEXT(diagnose(resets_of_nothing), "");
}

static void memory_short(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
	s->has_protocol = true;
	s->protocol.pressure = true;
}

static void memory_plenty(struct scene *s, unsigned sample)
{
	memory_short(s, sample);
	s->protocol.pressure = false;
}

TEST(memory_of_tcp)
{
	CHECK_EQ_TEXT(diagnose(memory_short), "tcp-memory");
	CHECK_EQ_TEXT(diagnose(memory_plenty), "");
}

/* Loss with packets that the interface received damaged, and with errors of long ago. */
static void damaged(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.bytes_retrans += 8688;
	s->link.rx_errors = sample;
}

static void damaged_long_ago(struct scene *s, unsigned sample)
{
	damaged(s, sample);
	s->link.rx_errors = 100;
}

TEST(errors_of_an_interface)
{
	CHECK_EQ_TEXT(diagnose(damaged), "interface-errors");
	CHECK_EQ_TEXT(diagnose(damaged_long_ago), "path-loss");
}

/* It connects again and again, and gives up before the kernel sends its SYN again; or it is established in the end. */
static void gives_up(struct scene *s, unsigned sample)
{
	s->socket.state = SOCKET_SYN_SENT;
	s->socket.cookie = 100 + sample / 4;
	s->socket.lport = (uint16_t)(40000 + sample / 4);
	s->socket.timer_retransmits = 0;
}

static void takes_its_time(struct scene *s, unsigned sample)
{
	gives_up(s, sample);
	s->socket.state = sample % 4 < 3 ? SOCKET_SYN_SENT : SOCKET_ESTABLISHED;
}

/* Each was seen before its SYN had left: no timer runs yet. */
static void just_begun(struct scene *s, unsigned sample)
{
	s->socket.state = SOCKET_SYN_SENT;
	s->socket.cookie = 100 + sample;
	s->socket.lport = (uint16_t)(40000 + sample);
	s->socket.timer_retransmits = UINT8_MAX;
}

TEST(connections_given_up)
{
	CHECK_EQ_TEXT(diagnose(just_begun), "");
	CHECK_EQ_TEXT(diagnose(gives_up), "connect-dropped");
	CHECK_EQ_TEXT(diagnose(takes_its_time), "");
}

/* Loss while a processor's queue overflows: with packets of this interface, and with those of another namespace. */
static void overflows(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.bytes_retrans += 8688;
	s->has_softnet = true;
	s->softnet.dropped = 50 * sample;
	s->link.rx_dropped = 50 * sample;
}

static void overflows_elsewhere(struct scene *s, unsigned sample)
{
	overflows(s, sample);
	s->link.rx_dropped = 3;
}

TEST(a_queue_that_all_namespaces_share)
{
	CHECK_EQ_TEXT(diagnose(overflows), "softirq-overload");
	CHECK_EQ_TEXT(diagnose(overflows_elsewhere), "path-loss");
}

/* The signal goes and comes back within the window, or went once. */
static void comes_and_goes(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->link.carrier = sample % 10 < 5;
	s->link.carrier_changes = 2 + sample / 5;
}

static void gone(struct scene *s, unsigned sample)
{
	stop_moving(s, sample);
	s->link.carrier = sample < 6;
	s->link.carrier_changes = 2 + (sample >= 6);
}

TEST(an_interface_that_comes_and_goes)
{
	CHECK_EQ_TEXT(diagnose(comes_and_goes), "link-flapping");
	CHECK_EQ_TEXT(diagnose(gone), "no-carrier");
}
