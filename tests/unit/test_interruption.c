/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks that begin after the trouble did: interruptions in time, retransmissions in kind, and the life of a connection
 * before the look, on snapshots made by hand.
 */
#include "scene.h"

#include "diagnose/measure/gap_track.h"

/* Samples 6 to 8 and 14 to 16: 0.6 s of silence every 1.6 s. */
static bool in_gap(unsigned sample)
{
	return sample % 8 >= 6 || sample % 8 == 0;
}

static void send_on(struct tcp_record *t)
{
	t->bytes_sent += 200000;
	t->bytes_acked += 200000;
	t->segs_in += 70;
	t->segs_out += 140;
	t->unacked = 30;
	t->backoff = 0;
	t->last_ack_ns = 1000000;
	t->last_received_ns = UINT64_MAX;
}

/* Data in flight, and no ACK. */
static void fall_silent(struct tcp_record *t)
{
	t->busy_ns += SAMPLE_NS;
	t->last_ack_ns += SAMPLE_NS;
	t->backoff++;
	t->total_rto++;
	t->total_retrans++;
	t->bytes_retrans += 1448;
	t->bytes_sent += 1448;
}

static void interrupted(struct scene *s, unsigned sample)
{
	s->socket.sendq_bytes = 30 * 1448;
	if (sample > 0 && in_gap(sample))
		fall_silent(&s->tcp);
	else
		send_on(&s->tcp);
}

static void both_interrupted(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->has_other = true;
	s->other_socket.sendq_bytes = 1448;
	if (sample > 0 && in_gap(sample))
		fall_silent(&s->other);
	else
		send_on(&s->other);
}

static void the_other_goes_on(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->has_other = true;
	send_on(&s->other);
}

/* The same gaps, and losses in between as well. */
static void lossy_throughout(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->tcp.total_retrans += 6;
	s->tcp.bytes_retrans += 8688;
}

static void carrier_comes_and_goes(struct scene *s, unsigned sample)
{
	interrupted(s, sample);
	s->link.carrier_changes += sample % 8 == 6 || (sample % 8 == 1 && sample > 1);
}

TEST(what_stops_together_is_the_paths)
{
	CHECK_EQ_TEXT(diagnose(both_interrupted), "path-outage");
	CHECK_EQ_TEXT(diagnose(interrupted), "path-outage");
	CHECK_EQ_TEXT(diagnose(the_other_goes_on), "");
	CHECK_EQ_TEXT(diagnose(lossy_throughout), "path-loss");
	CHECK_EQ_TEXT(diagnose(carrier_comes_and_goes), "link-flapping");
}

/* The peer reads nothing for 0.6 s at a time; and a window that is never closed. */
static void peer_pauses(struct scene *s, unsigned sample)
{
	s->tcp.notsent_bytes = 50000;
	s->socket.sendq_bytes = 50000;
	if (sample > 0 && in_gap(sample)) {
		s->tcp.unacked = 0;
		s->tcp.snd_wnd = 0;
		s->tcp.busy_ns += SAMPLE_NS;
		s->tcp.rwnd_limited_ns += SAMPLE_NS;
		s->socket.timer = SOCKET_TIMER_PERSIST;
	} else {
		send_on(&s->tcp);
		s->tcp.snd_wnd = 3000000;
		s->socket.timer = SOCKET_TIMER_RETRANSMIT;
	}
}

static void peer_reads(struct scene *s, unsigned sample)
{
	peer_pauses(s, sample);
	s->tcp.snd_wnd = 3000000;
	s->tcp.rwnd_limited_ns = 0;
	if (in_gap(sample))
		send_on(&s->tcp);
}

TEST(a_peer_that_pauses)
{
	CHECK_EQ_TEXT(diagnose(peer_pauses), "peer-not-reading");
	CHECK_EQ_TEXT(diagnose(peer_reads), "");
}

/* --- applications that pause by themselves --- */

/* A chunk every second, acknowledged before the next sample. */
static void video_chunks(struct scene *s, unsigned sample)
{
	s->tcp.last_ack_ns += SAMPLE_NS;
	if (sample % 5 != 0)
		return;
	send_on(&s->tcp);
	s->tcp.unacked = 0;
}

static void chat(struct scene *s, unsigned sample)
{
	s->tcp.bytes_sent += 100;
	s->tcp.bytes_acked += 100;
	s->tcp.segs_out += 1;
	s->tcp.segs_in += 1;
	s->tcp.unacked = sample % 2;
	s->tcp.last_ack_ns = 100000000;
}

/* A stream of received data that pauses for a second, alone. */
static void batch(struct scene *s, unsigned sample)
{
	if (sample % 10 < 5) {
		s->tcp.bytes_received += 200000;
		s->tcp.data_segs_in += 140;
		s->tcp.segs_in += 140;
		s->tcp.last_received_ns = 1000000;
	} else {
		s->tcp.last_received_ns += SAMPLE_NS;
	}
}

/* An ACK that takes long, but less than the retransmission timeout. */
static void far_away(struct scene *s, unsigned sample)
{
	s->tcp.srtt_ns = s->tcp.min_rtt_ns = 800000000;
	s->tcp.rto_ns = 1200000000;
	if (sample % 4 == 0)
		send_on(&s->tcp);
	else
		s->tcp.last_ack_ns += SAMPLE_NS;
}

TEST(pauses_of_the_application_are_nobodys_fault)
{
	CHECK_EQ_TEXT(diagnose(video_chunks), "");
	CHECK_EQ_TEXT(diagnose(chat), "");
	CHECK_EQ_TEXT(diagnose(batch), "");
	CHECK_EQ_TEXT(diagnose(far_away), "");
}

/* --- retransmissions in kind --- */

/* Every segment that was retransmitted had arrived, after timeouts, in order. */
static void acks_lost(struct scene *s, unsigned sample)
{
	chat(s, sample);
	if (sample % 3 != 0)
		return;
	s->tcp.total_retrans++;
	s->tcp.total_rto++;
	s->tcp.dsack_dups++;
	s->tcp.data_segs_out += 2;
	s->tcp.bytes_sent += 100;
	s->tcp.bytes_retrans += 100;
	s->counters[0] = (struct counter_record){.counter = "TcpExtTCPFastRetrans"};
	s->counters[1] = (struct counter_record){.counter = "TcpExtTCPSlowStartRetrans"};
}

static void overtaken(struct scene *s, unsigned sample)
{
	acks_lost(s, sample);
	s->tcp.reord_seen++;
}

TEST(acks_that_are_lost)
{
	CHECK_EQ_TEXT(diagnose(acks_lost), "path-loss");
	CHECK_EQ_TEXT(diagnose(overtaken), "");
}

/* --- the life before the look --- */

/* 100 bytes now and then; one segment in fifty has always been lost, or none has before. */
static void lost_in(struct scene *s, unsigned sample, bool before)
{
	if (sample == 0) {
		s->tcp.data_segs_out = 10000;
		s->tcp.bytes_sent = 1000000;
		s->tcp.total_retrans = before ? 200 : 0;
	}
	chat(s, sample);
	s->tcp.data_segs_out++;
	if (sample % 5 == 1)
		s->tcp.total_retrans++;
}

static void always_lossy(struct scene *s, unsigned sample)
{
	lost_in(s, sample, true);
}

static void lossy_of_late(struct scene *s, unsigned sample)
{
	lost_in(s, sample, false);
}

TEST(losses_that_were_always_there)
{
	CHECK_EQ_TEXT(diagnose(always_lossy), "path-loss");
	CHECK_EQ_TEXT(diagnose(lossy_of_late), "");
}

/* A sender with a full congestion window at 1 MB/s, which made ten times that on average; or half as much again. */
static void slower_than(struct scene *s, unsigned sample, uint64_t rate)
{
	if (sample == 0) {
		s->tcp.busy_ns = 10 * NSEC_PER_SEC;
		s->tcp.bytes_acked = s->tcp.bytes_sent = rate * 10;
	}
	send_well(s);
	s->tcp.cwnd = 20;
}

static void ten_times_slower(struct scene *s, unsigned sample)
{
	slower_than(s, sample, 10000000);
}

static void a_little_slower(struct scene *s, unsigned sample)
{
	slower_than(s, sample, 1500000);
}

TEST(slower_than_its_own_life)
{
	CHECK_EQ_TEXT(diagnose(ten_times_slower), "path-congestion");
	CHECK_EQ_TEXT(diagnose(a_little_slower), "");
}

/* --- the moments --- */

static void put_sample(struct snapshot *snapshot, const struct scene *s, uint64_t now_ns)
{
	struct socket_record socket = s->socket;

	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = now_ns;
	socket.tcp = 0;
	put(snapshot, &socket_type, &socket);
	put(snapshot, &tcp_type, &s->tcp);
}

/* Samples 200 ms apart, the last ACK 130 ms after one of them, the next one 50 ms before another. */
TEST(begin_and_end_are_between_the_samples)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct gap_tracks tracks = GAP_TRACKS_INIT;
	const struct gap *gap = NULL;
	const struct gap_conn *conn;
	unsigned at = 0, ended = 0;
	struct scene s;

	scene_begin(&s);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t now_ns = 1000000000 + (uint64_t)i * SAMPLE_NS;

		if (i <= 2 || i >= 6)
			send_on(&s.tcp);
		else
			fall_silent(&s.tcp);
		if (i == 2)
			s.tcp.last_ack_ns = 70000000;
		if (i == 6)
			s.tcp.last_ack_ns = 50000000;
		put_sample(snapshot, &s, now_ns);
		gap_tracks_add(&tracks, snapshot);
		ended += (unsigned)tracks.ended.count;
	}
	CHECK_EQ_INT(ended, 1);
	conn = map_get(&tracks.conns, &s.socket.cookie);
	REQUIRE(conn != NULL);
	gap = gap_next(conn, 0, &at);
	REQUIRE(gap != NULL);
	CHECK_EQ_INT(gap->begin_ns, 1330000000);
	CHECK_EQ_INT(gap->known_ns, 2000000000);
	CHECK_EQ_INT(gap->end_ns, 2150000000);
	CHECK_EQ_INT(gap->kind, GAP_UNACKED);
	CHECK_EQ_INT(gap->heard, false);
	CHECK_EQ_INT(gap->timeouts, 3);
	CHECK(gap_next(conn, 0, &at) == NULL);
	gap_tracks_done(&tracks);
}
