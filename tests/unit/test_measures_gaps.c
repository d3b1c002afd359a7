/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes and goes, by its number: loss in spells, interruptions, closed windows, pauses. */
#include "measured.h"

#include "diagnose/measure/hole.h"
#include "diagnose/measure/interruption.h"
#include "diagnose/measure/spell.h"

#define CONN "conn:10.77.1.2:40000-10.77.2.2:5001"

/* --- segments that are missing --- */

static void check_hole(scene_fn *step, const struct expected *list, enum activity activity)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 2);

	check_all(&hole_measures_type, module_of(graph, CONN)->measures.hole, list);
	CHECK_EQ_INT(module_of(graph, CONN)->activity, activity);
}

/* Since sample 12 nothing in order has come, and 3 kB wait behind it. */
static void waits_for_a_segment(struct scene *s, unsigned sample)
{
	s->tcp.data_segs_in = 20;
	s->tcp.bytes_received = 20000;
	s->tcp.last_received_ns = sample < 12 ? 10 * MS : (sample - 12) * 200 * MS + 100 * MS;
	s->tcp.last_sent_ns = s->tcp.last_received_ns + 50 * MS;
	s->tcp.rcv_ooopack = sample < 12 ? 0 : 3;
	s->socket.recvq_bytes = 0;
	s->socket.rmem_bytes = sample < 12 ? 0 : 3000;
}

/* Its program has not read what came last: no hole. */
static void has_to_be_read(struct scene *s, unsigned sample)
{
	waits_for_a_segment(s, sample);
	s->socket.recvq_bytes = s->socket.rmem_bytes / 2;
}

/* It came back within 30 ms each time. */
static void is_reordered(struct scene *s, unsigned sample)
{
	waits_for_a_segment(s, sample);
	s->tcp.last_received_ns = 30 * MS;
}

/* The RTT is longer than the wait. */
static void is_far_away(struct scene *s, unsigned sample)
{
	waits_for_a_segment(s, sample);
	s->tcp.last_received_ns = 300 * MS;
	s->tcp.srtt_ns = 200 * MS;
}

static void is_long(struct scene *s, unsigned sample)
{
	waits_for_a_segment(s, sample);
	s->tcp.bytes_received = 2000000;
}

TEST(segments_that_are_missing)
{
	static const struct expected missing[] = {{"hole_ns", "1500000000"}, {"path_holes", "1"},
						  {"path_unordered", "1"},   {"path_unordered_share", "1"},
						  {"path_hole_share", "1"},  {NULL, NULL}};
	static const struct expected none[] = {{"hole_ns", "0"},         {"path_holes", "0"},
					       {"path_unordered", "1"},  {"path_unordered_share", "1"},
					       {"path_hole_share", "0"}, {NULL, NULL}};
	static const struct expected alone[] = {{"hole_ns", "1500000000"},   {"path_holes", "0"},
						{"path_unordered", "0"},     {"path_unordered_share", "null"},
						{"path_hole_share", "null"}, {NULL, NULL}};

	check_hole(waits_for_a_segment, missing, ACTIVITY_WAITING);
	check_hole(has_to_be_read, none, ACTIVITY_WAITING);
	check_hole(is_reordered, none, ACTIVITY_IDLE);
	check_hole(is_far_away, none, ACTIVITY_IDLE);
	check_hole(is_long, alone, ACTIVITY_WAITING);
}

/* --- loss in spells ---
 *
 * 20 samples; the last 15 intervals count, which end with samples 5 to 19. A calm one moves 200 kB in 200 ms, one with
 * a loss 50 kB.
 */

static void check_spell(scene_fn *step, const struct expected *list)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 2);

	check_all(&spell_measures_type, module_of(graph, CONN)->measures.spell, list);
}

static void send_bytes(struct scene *s, bool lossy)
{
	uint64_t bytes = lossy ? 50000 : 200000;

	s->tcp.bytes_sent += bytes;
	s->tcp.bytes_acked += bytes;
	s->tcp.unacked = 30;
	s->tcp.total_retrans += lossy;
}

/* One lasts since before the 15, two begin in them: 4 of 15 intervals. */
static void loses_now_and_then(struct scene *s, unsigned sample)
{
	send_bytes(s, sample == 3 || sample == 4 || sample == 5 || sample == 9 || sample == 10 || sample == 14);
}

/* Retransmitted, but the peer had it: no loss. */
static void had_it_already(struct scene *s, unsigned sample)
{
	loses_now_and_then(s, sample);
	s->tcp.dsack_dups = s->tcp.total_retrans;
}

/* In recovery: a loss was noticed, nothing retransmitted between these samples. */
static void in_recovery(struct scene *s, unsigned sample)
{
	s->tcp.ca_state = sample >= 10 ? 3 : 0;
	send_bytes(s, false);
}

/* Calm for two intervals, 0.4 s, or for one. */
static void calm_for(struct scene *s, unsigned sample, unsigned calm)
{
	send_bytes(s, sample < 20 - calm);
}

static void calm_for_two(struct scene *s, unsigned sample)
{
	calm_for(s, sample, 2);
}

static void calm_for_one(struct scene *s, unsigned sample)
{
	calm_for(s, sample, 1);
}

/* Nothing moves but while it loses. */
static void moves_while_it_loses(struct scene *s, unsigned sample)
{
	s->tcp.unacked = 30;
	if (sample % 5 == 4)
		send_bytes(s, true);
}

/* As much received as sent: its own losses count. */
static void echoes(struct scene *s, unsigned sample)
{
	loses_now_and_then(s, sample);
	s->tcp.bytes_received = s->tcp.bytes_acked;
}

/* A receiver: what arrives out of order shows the loss. */
static void receives(struct scene *s, unsigned sample)
{
	bool lossy = sample == 8 || sample == 9;

	s->tcp.bytes_received += lossy ? 50000 : 200000;
	s->tcp.rcv_ooopack += lossy;
	s->tcp.last_received_ns = 1000000;
}

TEST(loss_in_spells)
{
	static const struct expected now_and_then[] = {{"spell_count", "2"},       {"spell_share", "0.2666667"},
						       {"spell_rate", "250000"},   {"calm_rate", "1000000"},
						       {"spell_slowdown", "0.25"}, {}};
	static const struct expected none[] = {{"spell_count", "0"},       {"spell_share", "0"},
					       {"spell_rate", "null"},     {"calm_rate", "800000"},
					       {"spell_slowdown", "null"}, {}};
	static const struct expected recovery[] = {{"spell_count", "1"},      {"spell_share", "0.6666667"},
						   {"spell_rate", "1000000"}, {"calm_rate", "1000000"},
						   {"spell_slowdown", "1"},   {}};
	static const struct expected receiving[] = {{"spell_count", "1"},       {"spell_share", "0.1333333"},
						    {"spell_rate", "250000"},   {"calm_rate", "1000000"},
						    {"spell_slowdown", "0.25"}, {}};

	check_spell(loses_now_and_then, now_and_then);
	check_spell(echoes, now_and_then);
	check_spell(had_it_already, none);
	check_spell(in_recovery, recovery);
	check_spell(receives, receiving);
}

TEST(a_baseline_needs_calm)
{
	static const struct expected two[] = {{"spell_count", "0"},       {"spell_share", "0.8666667"},
					      {"spell_rate", "250000"},   {"calm_rate", "1000000"},
					      {"spell_slowdown", "0.25"}, {}};
	static const struct expected one[] = {{"spell_count", "0"},       {"spell_share", "0.9333333"},
					      {"spell_rate", "250000"},   {"calm_rate", "null"},
					      {"spell_slowdown", "null"}, {}};
	static const struct expected nothing[] = {{"spell_count", "3"},       {"spell_share", "0.2"},
						  {"spell_rate", "250000"},   {"calm_rate", "0"},
						  {"spell_slowdown", "null"}, {}};

	check_spell(calm_for_two, two);
	check_spell(calm_for_one, one);
	check_spell(moves_while_it_loses, nothing);
}

/* --- interruptions ---
 *
 * 30 samples, one per 200 ms, the first at 0.2 s; what ended from 3.0 s on counts. Silent are samples 6 to 8, 14 to 16
 * and 22 to 25, and the ACK before came 1 ms before its sample: 2.799 to 3.4 s, and 4.399 to 5.2 s.
 */

static bool is_silent(unsigned sample)
{
	return sample >= 6 && (sample % 8 >= 6 || sample % 8 == 0 || sample == 25);
}

static void stop_or_go(struct tcp_record *t, bool silent)
{
	if (silent) {
		t->last_ack_ns += SAMPLE_NS;
		t->backoff++;
		t->total_rto++;
		t->total_retrans++;
		return;
	}
	t->bytes_sent += 200000;
	t->bytes_acked += 200000;
	t->segs_in += 70;
	t->unacked = 30;
	t->backoff = 0;
	t->last_ack_ns = 1000000;
	t->last_received_ns = UINT64_MAX;
}

static void interrupted(struct scene *s, unsigned sample)
{
	s->socket.sendq_bytes = 30 * 1448;
	stop_or_go(&s->tcp, is_silent(sample));
}

/* The carrier changes when each begins and ends; two segments were retransmitted when all was well. */
static void with_its_link(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->link.carrier_changes += is_silent(sample) != is_silent(sample - 1) && sample > 0;
	s->tcp.total_retrans += sample == 19 ? 2 : 0;
}

static void with_another(struct scene *s, unsigned sample, const char *raddr)
{
	interrupted(s, sample);
	s->has_other = true;
	REQUIRE(addr_parse(raddr, &s->other_socket.raddr) == 0);
	s->other_socket.sendq_bytes = 1448;
	stop_or_go(&s->other, is_silent(sample));
}

static void two_to_a_host(struct scene *s, unsigned sample)
{
	with_another(s, sample, "10.77.2.2");
}

static void two_hosts(struct scene *s, unsigned sample)
{
	with_another(s, sample, "10.77.2.3");
}

/* Another connection to this host asks and is answered outside of them, and has nothing in flight. */
static void beside_a_quiet_one(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->has_other = true;
	s->other.last_ack_ns = s->other.last_received_ns = s->other.last_sent_ns = s->tcp.last_ack_ns;
}

static void check_gaps(scene_fn *step, const struct expected *list)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 3);

	check_some(&interruption_measures_type, module_of(graph, CONN)->measures.interruption, list);
}

TEST(interruptions)
{
	static const struct expected alone[] = {{"gap_count", "2"},
						{"gap_ns", "801000000"},
						{"gap_timeouts", "4"},
						{"gap_open_ns", "0"},
						{"gap_conns", "0"},
						{"gap_others", "0"},
						{"gap_path_quiet_ns", "801000000"},
						{"gap_host_quiet_ns", "801000000"},
						{"path_gap_ns", "801000000"},
						{"gap_link_changes", "4"},
						{"gap_retrans", "7"},
						{"gap_free_retrans", "2"},
						{"gap_free_share", "0.2222222"},
						{"window_gap_count", "0"},
						{"window_gap_share", "0"},
						{"hush_count", "0"},
						{}};
	static const struct expected same[] = {{"gap_conns", "1"}, {"gap_others", "0"}, {"gap_link_changes", "0"}, {}};
	static const struct expected others[] = {{"gap_conns", "0"}, {"gap_others", "1"}, {}};

	check_gaps(with_its_link, alone);
	check_gaps(two_to_a_host, same);
	check_gaps(two_hosts, others);
}

TEST(interruptions_of_another_connection)
{
	static const struct expected none[] = {{"gap_count", "0"}, {"path_gap_ns", "801000000"}, {}};
	_cleanup_measured_ struct graph *graph = measure(beside_a_quiet_one, NULL, 3);

	check_some(&interruption_measures_type,
		   module_of(graph, "conn:10.77.1.2:40001-10.77.2.2:5001")->measures.interruption, none);
}

/* The peer's window closes at the same times, for 0.6 and 0.8 s. */
static void window_closes(struct scene *s, unsigned sample)
{
	s->tcp.notsent_bytes = s->socket.sendq_bytes = 50000;
	if (!is_silent(sample))
		stop_or_go(&s->tcp, false);
	else
		s->tcp.last_ack_ns += SAMPLE_NS;
	s->tcp.unacked = is_silent(sample) ? 0 : 30;
	s->tcp.snd_wnd = is_silent(sample) ? 0 : 3000000;
	s->socket.timer = is_silent(sample) ? SOCKET_TIMER_PERSIST : SOCKET_TIMER_RETRANSMIT;
}

TEST(a_window_that_closes)
{
	static const struct expected closed[] = {{"window_gap_count", "2"},
						 {"window_gap_ns", "801000000"},
						 {"window_gap_share", "0.4673333"},
						 {"gap_count", "0"},
						 {}};

	check_gaps(window_closes, closed);
}

/* Streams that are received, and pause together: one of this host, one of another. */
static void receive_or_pause(struct tcp_record *t, bool silent)
{
	if (silent) {
		t->last_received_ns += SAMPLE_NS;
		return;
	}
	t->bytes_received += 200000;
	t->data_segs_in += 140;
	t->segs_in += 140;
	t->last_received_ns = 1000000;
}

static void streams_pause(struct scene *s, unsigned sample)
{
	s->has_other = true;
	REQUIRE(addr_parse("10.77.2.3", &s->other_socket.raddr) == 0);
	receive_or_pause(&s->tcp, is_silent(sample));
	receive_or_pause(&s->other, is_silent(sample));
}

TEST(streams_that_pause)
{
	static const struct expected paused[] = {{"hush_count", "2"}, {"hush_ns", "801000000"},
						 {"hush_conns", "1"}, {"hush_quiet_ns", "801000000"},
						 {"gap_count", "0"},  {}};

	check_gaps(streams_pause, paused);
}
