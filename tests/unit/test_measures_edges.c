/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures at their edges, by their number: nothing acknowledged, exactly half, a window of zero. */
#include "measured.h"

#include "diagnose/measure/conn.h"
#include "diagnose/measure/path_shared.h"
#include "snapshot/proc/cgroup.h"

#define CONN "conn:10.77.1.2:40000-10.77.2.2:5001"

static void check_conn(scene_fn *step, const struct expected *conn, const struct expected *path)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 2);

	check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn, conn);
	check_some(&path_measures_type, module_of(graph, CONN)->measures.path, path);
}

static void both_send(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
	s->has_other = true;
	s->other = s->tcp;
	s->other_socket.sendq_bytes = s->socket.sendq_bytes;
}

/* 1 kB per sample, with an RTT of ten times its minimum. */
static void chats_slowly(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.srtt_ns = 200000000;
	s->tcp.bytes_sent += 1000;
	s->tcp.bytes_acked += 1000;
	s->tcp.segs_out++;
	s->tcp.segs_in++;
}

/* The same RTT, left over from before: nothing is acknowledged. */
static void was_slow(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.srtt_ns = 200000000;
}

TEST(connections_of_a_path)
{
	static const struct expected none[] = {{}};
	static const struct expected clean[] = {{"path_conns", "2"}, {"path_clean", "2"}, {"path_lossy", "0"}, {}};
	static const struct expected delayed[] = {{"path_delayed", "1"}, {"path_rtt_excess_ns", "180000000"}, {}};
	static const struct expected old[] = {{"path_delayed", "0"}, {"path_moving", "0"}, {}};

	check_conn(both_send, none, clean);
	check_conn(chats_slowly, none, delayed);
	check_conn(was_slow, none, old);
}

/* The congestion window is full in half of the samples of a window, or in six of ten; 5 kB per second. */
static void fills_in(struct scene *s, unsigned sample, unsigned full)
{
	s->tcp.cwnd = 10;
	s->tcp.unacked = sample % SAMPLES < full ? 10 : 2;
	s->tcp.notsent_bytes = 5000;
	s->socket.sendq_bytes = 5000 + s->tcp.unacked * 1448;
	s->tcp.bytes_acked += 1000;
	s->tcp.bytes_sent += 1000;
}

static void fills_half(struct scene *s, unsigned sample)
{
	fills_in(s, sample, 5);
}

static void fills_most(struct scene *s, unsigned sample)
{
	fills_in(s, sample, 6);
}

TEST(more_than_half_is_filling)
{
	static const struct expected half[] = {{"cwnd_share", "0.5"}, {}}, most[] = {{"cwnd_share", "0.6"}, {}};
	static const struct expected no[] = {{"path_filling", "0"}, {}}, yes[] = {{"path_filling", "1"}, {}};

	check_conn(fills_half, half, no);
	check_conn(fills_most, most, yes);
}

/* A receiver with a window of 1 MB, or of zero: 1 MB/s at 100 ms. */
static void receives_with(struct scene *s, uint32_t window_bytes)
{
	s->tcp.bytes_received += 200000;
	s->tcp.data_segs_in += 140;
	s->tcp.segs_in += 140;
	s->tcp.last_received_ns = 1000000;
	s->tcp.rcv_rtt_ns = 100000000;
	s->tcp.rcv_wnd = window_bytes;
}

static void receives(struct scene *s, unsigned sample)
{
	(void)sample;
	receives_with(s, 1000000);
}

static void receives_without_room(struct scene *s, unsigned sample)
{
	(void)sample;
	receives_with(s, 0);
}

TEST(use_of_the_receive_window)
{
	static const struct expected open[] = {{"rcv_wnd_use", "0.1"}, {}}, closed[] = {{"rcv_wnd_use", "null"}, {}};
	static const struct expected none[] = {{}};

	check_conn(receives, open, none);
	check_conn(receives_without_room, closed, none);
}

static void rests(struct scene *s, unsigned sample)
{
	(void)s;
	(void)sample;
}

TEST(a_connection_at_rest_waits_for_nothing)
{
	_cleanup_measured_ struct graph *graph = measure(rests, NULL, 2);

	CHECK_EQ_INT(module_of(graph, CONN)->activity, ACTIVITY_IDLE);
}

/* First seen with so much sent and 1 % of 4 MiB lost; 5 % from then on. */
static void loses_more_after(struct scene *s, unsigned sample, uint64_t sent_before)
{
	if (sample == 0) {
		s->tcp.bytes_sent = sent_before;
		s->tcp.bytes_retrans = 41943;
	} else {
		s->tcp.bytes_sent += 100000;
		s->tcp.bytes_acked += 95000;
		s->tcp.bytes_retrans += 5000;
	}
}

static void loses_more_after_enough(struct scene *s, unsigned sample)
{
	loses_more_after(s, sample, 4 << 20);
}

static void loses_more_after_too_little(struct scene *s, unsigned sample)
{
	loses_more_after(s, sample, (4 << 20) - 1);
}

TEST(loss_is_compared_with_that_of_4_mib_before)
{
	static const struct expected enough[] = {{"loss_share_recent", "0.05"}, {"loss_growth", "5.000005"}, {}};
	static const struct expected too_little[] = {{"loss_share_recent", "0.05"}, {"loss_growth", "null"}, {}};
	static const struct expected none[] = {{}};

	check_conn(loses_more_after_enough, enough, none);
	check_conn(loses_more_after_too_little, too_little, none);
}

/* The process is stopped, by a signal or a debugger, in all samples or in all but one. */
static void chats_stopped(struct scene *s, unsigned sample)
{
	chats_slowly(s, sample);
	s->process.process_state = 'T';
}

static void chats_continued(struct scene *s, unsigned sample)
{
	chats_slowly(s, sample);
	s->process.process_state = sample % SAMPLES == 3 ? 'S' : 'T';
}

/* Data waits in the send queue, and nothing is acknowledged. */
static void is_stuck(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.unacked = 10;
	s->socket.sendq_bytes = 50000;
}

static void check_activity(scene_fn *step, enum activity want)
{
	_cleanup_measured_ struct graph *graph = measure(step, NULL, 2);

	CHECK_EQ_INT(module_of(graph, "app:4711")->activity, want);
}

TEST(an_application_is_as_active_as_its_connections)
{
	check_activity(chats_slowly, ACTIVITY_ACTIVE);
	check_activity(rests, ACTIVITY_IDLE);
	check_activity(is_stuck, ACTIVITY_WAITING);
	check_activity(chats_stopped, ACTIVITY_IDLE);
	check_activity(chats_continued, ACTIVITY_ACTIVE);
}

/* A process may join a cgroup, or end, between the two tables. */
static void members_without_process(struct snapshot *snapshot, unsigned sample)
{
	struct cgroup_record group = {.cgroup = "/a"};
	struct cgroup_member_record member = {.pid = 99999}, lost = {.pid = 4711, .group = 7};

	(void)sample;
	put(snapshot, &cgroup_type, &group);
	put(snapshot, &cgroup_member_type, &member);
	put(snapshot, &cgroup_member_type, &lost);
}

TEST(members_of_a_cgroup_that_are_not_there)
{
	_cleanup_measured_ struct graph *graph = measure(chats_slowly, members_without_process, 2);

	CHECK(!graph_find(graph, "app:99999"));
	CHECK(!module_of(graph, "app:4711")->related[MODULE_CGROUP]);
}
