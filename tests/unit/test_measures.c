/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every measure of connections, applications, paths and services by its number, on snapshots made by hand. The expected
 * figures are worked out from the steps of the scene, not taken from a run; a field without an expectation fails, so a
 * new measure needs one.
 */
#include "measured.h"

#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>

#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/egress.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/half_open.h"
#include "diagnose/measure/host_counters.h"
#include "diagnose/measure/path_shared.h"
#include "diagnose/measure/service.h"
#include "probe/shortage_tally.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/tunnel.h"

#define CONN "conn:10.77.1.2:40000-10.77.2.2:5001"
/* --- a connection in its third window --- */

/* Queues and windows by the sample of the window: one share after the other. cwnd 10, segments of 1448 bytes. */
static const struct {
	uint32_t unacked, notsent, snd_wnd, wmem, wmem_queued, sendq;
} phases[SAMPLES] = {
	{0, 0, 100000, 0, 0, 0},
	{0, 1448, 100000, 100, 0, 1448},   /* held, a whole segment */
	{0, 1447, 100000, 200, 0, 1447},   /* held, corked */
	{10, 2000, 100000, 300, 0, 16480}, /* the congestion window is full */
	{10, 2000, 15927, 400, 0, 16480},  /* and the peer's, by one byte */
	{9, 1000, 14480, 500, 0, 14032},   /* room for just one segment: Nagle holds a smaller one */
	{4, 0, 100000, 4097, 0, 5792},     /* a queue of this host */
	{4, 0, 100000, 4096, 0, 5792},     /* too little for one */
	{3, 0, 100000, 800, 3000000, 4344},
	{3, 0, 100000, 900, 2999999, 4344},
};

static void busy_conn(struct scene *s, unsigned n)
{
	unsigned phase = n % SAMPLES, number = n / SAMPLES;
	struct tcp_record *t = &s->tcp;

	t->bytes_sent = n ? t->bytes_sent + (number == 1 ? 300000 : 200000) : 5000000;
	t->bytes_acked = n ? t->bytes_acked + (number == 0   ? 90000
					       : number == 1 ? 200000
					       : n % 2       ? 80000
							     : 120000)
			   : 4000001;
	t->bytes_received += n == 0 ? 0 : number == 1 ? 90000 : 70000;
	t->bytes_retrans = n ? t->bytes_retrans + number * 2 * 1448 : 100000;
	t->dsack_dups = 10 + (number == 2 ? phase + 1 : 0);
	t->total_rto = 3 * n;
	t->reord_seen = 2 * n;
	t->rcv_ooopack = number ? 4 * (n - 9) : 0;
	t->segs_in = 100 * n;
	t->segs_out = 60 * n;
	t->data_segs_out = 50 * n;
	t->data_segs_in = 40 * n;
	t->delivered = 1000 + 2 * n;
	t->delivered_ce = n / 2;
	t->busy_ns = n * 160 * MS;
	t->rwnd_limited_ns = n * 40 * MS;
	t->sndbuf_limited_ns = n * 20 * MS;
	/* Rises in the third window; the last sample shows a fall that two acknowledgements cannot complete. */
	t->srtt_ns = n == 29 ? 36 * MS : number == 2 ? 40 * MS : 30 * MS;
	t->min_rtt_ns = 20 * MS;
	t->cwnd = number == 0 ? 14 : 10;
	t->ssthresh = 77;
	t->pmtu = 1500;
	t->backoff = n == 29 ? 2 : 0;
	t->options = 5;
	t->rcv_wnd = 500000;
	t->rcv_rtt_ns = (number == 0 ? 24 : number == 1 ? 25 : 30) * MS;
	t->rcv_space = 105000;
	t->delivery_rate = 777777;
	t->last_ack_ns = 5 * MS;
	t->last_received_ns = n == 29 ? 70 * MS : (phase + 1) * 10 * MS;
	t->sacked = phase >= 8;
	t->unacked = phases[phase].unacked;
	t->notsent_bytes = phases[phase].notsent;
	t->snd_wnd = phases[phase].snd_wnd;
	s->socket.wmem_bytes = phases[phase].wmem;
	s->socket.wmem_queued_bytes = phases[phase].wmem_queued;
	s->socket.sendq_bytes = phases[phase].sendq;
	s->socket.recvq_bytes = phase >= 7 ? 100 * (phase - 6) : 0;
	s->socket.rmem_bytes = 1000000 + 100000 * phase;
}

TEST(every_measure_of_a_connection)
{
	static const struct expected expected[] = {
		{"laddr", "\"10.77.1.2\""},
		{"lport", "40000"},
		{"raddr", "\"10.77.2.2\""},
		{"rport", "5001"},
		{"state", "\"ESTABLISHED\""},
		{"timer", "\"off\""},
		{"cc", "\"cubic\""},
		{"samples", "10"},
		{"sent_bytes", "2000000"},
		{"acked_bytes", "1000000"},
		{"received_bytes", "700000"},
		{"retrans_bytes", "57920"},
		/* 57920 - 10 * 1448 of 2000000 */
		{"loss_share", "0.02172"},
		/* 43440 + 28960 + 0 of 2000000 + 3000000 + 1800000 */
		{"loss_share_recent", "0.01064706"},
		/* before: 100000 - 10 * 1448 of 5000000 */
		{"loss_growth", "0.6224894"},
		{"retrans_share", "0.02896"},
		{"spurious_share", "0.25"},
		{"lossy_windows", "0"},
		{"rto_count", "30"},
		{"reorder_count", "20"},
		{"ooo_count", "40"},
		{"ooo_share", "0.04"},
		{"reorder_share", "0.04"},
		/* 400 and 600 kB/s by turns */
		{"send_variation", "0.2"},
		{"receive_variation", "0"},
		/* 500 kB/s; 1 MB/s before, 450 kB/s without loss */
		{"slowdown", "0.5"},
		{"clean_slowdown", "1.111111"},
		{"rcv_wnd", "500000"},
		{"rcv_rtt_ns", "30000000"},
		{"rcv_rtt_base_ns", "24000000"},
		{"rcv_rtt_ratio", "1.25"},
		{"rcv_rtt_base_ratio", "1.2"},
		/* 350 kB/s * 30 ms of 500 kB */
		{"rcv_wnd_use", "0.021"},
		{"unscaled", "false"},
		{"shift_zero", "false"},
		{"flight_bytes", "14480"},
		/* 4000000 / 2 / (4096 + 256) segments */
		{"flight_peak_bytes", "664632"},
		{"flight_share", "0.02178649"},
		{"per_rtt_bytes", "10500"},
		{"per_rtt_peak_bytes", "105000"},
		{"per_rtt_share", "0.1"},
		{"segment_bytes", "4000"},
		{"restart_cost_ns", "0"},
		{"restart_share", "0"},
		{"segs_in", "1000"},
		{"segs_out", "600"},
		{"dsack_count", "10"},
		{"marked_share", "0.25"},
		{"data_segs_in", "400"},
		{"receive_gap_ns", "70000000"},
		{"receive_gap_base_ns", "100000000"},
		{"best_receive_rate", "450000"},
		{"steady_windows", "2"},
		{"busy_share", "0.8"},
		{"rwnd_share", "0.2"},
		{"sndbuf_share", "0.1"},
		{"sendq_share", "0.9"},
		{"notsent_share", "0.5"},
		{"cwnd_share", "0.2"},
		{"wnd_full_share", "0.1"},
		{"nagle_share", "0.1"},
		{"local_queue_share", "0.1"},
		{"sndbuf_full_share", "0.1"},
		{"recvq_share", "0.3"},
		{"unacked_share", "0.7"},
		{"held_share", "0.2"},
		{"cork_share", "0.1"},
		{"sack_share", "0.2"},
		{"sacked_part", "0.3333333"},
		{"sendq_min_bytes", "0"},
		{"sendq_max_bytes", "16480"},
		{"recvq_min_bytes", "0"},
		{"recvq_max_bytes", "300"},
		{"recvq_fill_min", "0.25"},
		{"snd_wnd_min", "14480"},
		{"snd_wnd_max", "100000"},
		{"local_queue_bytes", "500"},
		{"sndbuf", "4000000"},
		{"rcvbuf", "4000000"},
		{"stuck", "false"},
		{"silent_ns", "5000000"},
		{"backoff", "2"},
		{"syn_wait_ns", "null"},
		{"syn_retrans", "null"},
		{"srtt_ns", "36000000"},
		/* (36 - 40 * (7/8)^2) / (1 - (7/8)^2) ms */
		{"rtt_ns", "22933333"},
		{"min_rtt_ns", "20000000"},
		{"rtt_excess_ns", "2933333"},
		{"rtt_base_ns", "30000000"},
		{"rtt_ratio", "1.146667"},
		{"acks_may_wait", "false"},
		{"rtt_floor_ratio", "1.146667"},
		{"cwnd", "10"},
		{"cwnd_best", "14"},
		{"ssthresh", "77"},
		{"mss", "1448"},
		{"pmtu", "1500"},
		{"send_rate", "500000"},
		{"receive_rate", "350000"},
		{"best_rate", "1000000"},
		/* 9 * 90000 + 10 * 200000 + 5 * 80000 + 5 * 120000 after the 4000000 of the first sample */
		{"acked_ever_bytes", "7810000"},
		{"received_ever_bytes", "2230000"},
		{"past_rate", "777777"},
		{"age_windows", "2"},
		{},
	};
	static const struct expected limits[] = {
		{"application", "0.2"},
		{"send_buffer", "0.1"},
		{"receiver_window", "0.2"},
		/* of the half that is left, a tenth of the samples, and a fifth of the rest */
		{"congestion_window", "0.09"},
		{"local_queue", "0.05"},
		{"nobody", "0.36"},
		{},
	};
	_cleanup_measured_ struct graph *graph = measure(busy_conn, NULL, 3);
	const struct module *conn = module_of(graph, CONN);

	check_all(&conn_measures_type, conn->measures.conn, expected);
	check_all(&limit_type, conn_limits(conn), limits);
	CHECK_EQ_INT(conn->activity, ACTIVITY_ACTIVE);
}

/* Seven of ten samples with a pause behind them; then less is in the window than before, and nothing was lost. */
static void paused_conn(struct scene *s, unsigned n)
{
	struct tcp_record *t = &s->tcp;
	bool resumed = n == 7;

	t->cwnd = n < 7 ? 100 : 30;
	t->last_sent_ns = n < 7 ? (n + 1) * 200 * MS : 0;
	t->rto_ns = 500 * MS;
	t->unacked = resumed ? 20 : 0;
	t->notsent_bytes = resumed ? 80 * 1448 : 0;
	t->bytes_sent = n < 7 ? 0 : (resumed ? 20 : 100) * 1448;
	t->busy_ns = UINT64_MAX;
	t->srtt_ns = 21 * MS;
	t->total_retrans = 3;
}

/*
 * 1.4 s of silence are two timeouts of 0.5 s, which leave 25 segments of 100: the 100 that follow take three RTTs
 * instead of one. Remembered for three windows.
 */
TEST(cost_of_slow_start_after_idle)
{
	for (unsigned windows = 1; windows <= 4; windows++) {
		_cleanup_measured_ struct graph *graph = measure(paused_conn, NULL, windows);

		check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn,
			   (struct expected[]){{"restart_cost_ns", windows <= 3 ? "42000000" : "0"},
					       {"restart_share", windows <= 3 ? "0.6666667" : "0"},
					       {}});
	}
}

/* The window was small before, and grows to hold all that follows: the first ACK is not there yet. */
static void paused_small_conn(struct scene *s, unsigned n)
{
	paused_conn(s, n);
	s->tcp.cwnd = n < 7 ? 30 : n == 7 ? 20 : 100;
	s->tcp.min_rtt_ns = 20 * MS;
	s->tcp.busy_ns = n < 7 ? 0 : 10 * MS;
}

TEST(restarts_keep_a_window_small)
{
	_cleanup_measured_ struct graph *graph = measure(paused_small_conn, NULL, 2);

	check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn,
		   (struct expected[]){{"restart_cost_ns", "42000000"}, {"restart_share", "0.6666667"}, {}});
}

static void lossy_pause(struct scene *s, unsigned n)
{
	paused_conn(s, n);
	s->tcp.total_retrans = n < 7 ? 3 : 4;
}

TEST(a_smaller_window_after_a_loss_is_no_restart)
{
	_cleanup_measured_ struct graph *graph = measure(lossy_pause, NULL, 1);

	check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn,
		   (struct expected[]){{"restart_cost_ns", "0"}, {}});
}

/* A good window, then two in which every hundredth byte is lost and the rate is half of it. */
static void losing_conn(struct scene *s, unsigned n)
{
	struct tcp_record *t = &s->tcp;
	bool losing = n >= 10;

	t->delivered = 1000 + n;
	t->bytes_sent += losing ? 100000 : 200000;
	t->bytes_acked += losing ? 100000 : 200000;
	t->bytes_retrans += losing ? 500 : 0;
	t->options = 1;
	t->rcv_wnd = 100000;
	t->data_segs_out += 1000;
	t->segs_in += 10;
	t->srtt_ns = 24 * MS;
}

TEST(windows_with_losses_are_counted)
{
	static const char *const counts[] = {"0", "0", "1", "2"};

	for (unsigned windows = 2; windows <= 4; windows++) {
		_cleanup_measured_ struct graph *graph = measure(losing_conn, NULL, windows);
		struct expected expected[] = {
			{"loss_share", "0.005"},
			{"slowdown", "0.5"},
			{"lossy_windows", counts[windows - 1]},
			{"unscaled", "true"},
			/* What fits into the header. */
			{"rcv_wnd", "65535"},
			/* 100 bytes a segment, 4 ms above the minimum. */
			{"segment_bytes", "100"},
			{"acks_may_wait", "true"},
			{},
		};

		check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn, expected);
	}
}

/* Nothing acknowledged, always something to send. */
static void stuck_conn(struct scene *s, unsigned n)
{
	s->tcp.bytes_acked = 1001;
	s->tcp.backoff = n / 5;
	s->tcp.unacked = 5;
	s->tcp.last_ack_ns = (n + 1) * 200 * MS;
	s->socket.sendq_bytes = 7240;
}

TEST(a_stuck_connection)
{
	_cleanup_measured_ struct graph *graph = measure(stuck_conn, NULL, 1);
	const struct module *conn = module_of(graph, CONN);

	check_some(&conn_measures_type, conn->measures.conn,
		   (struct expected[]){{"stuck", "true"},
				       {"silent_ns", "2000000000"},
				       {"backoff", "1"},
				       {"acked_bytes", "0"},
				       {"acked_ever_bytes", "1000"},
				       /* too little in its life to say */
				       {"past_rate", "null"},
				       {"slowdown", "null"},
				       {}});
	check_some(&path_measures_type, conn->measures.path,
		   (struct expected[]){{"path_stuck", "1"}, {"path_moving", "0"}, {"peer_stuck", "1"}, {}});
	CHECK_EQ_INT(conn->activity, ACTIVITY_WAITING);
}

/* The timer of zero window probes backs off as well; nothing is lost on the path. */
static void closed_window(struct scene *s, unsigned n)
{
	stuck_conn(s, n);
	s->socket.timer = SOCKET_TIMER_PERSIST;
	s->tcp.unacked = 0;
}

TEST(a_closed_window_is_not_stuck_on_the_path)
{
	_cleanup_measured_ struct graph *graph = measure(closed_window, NULL, 1);
	const struct module *conn = module_of(graph, CONN);

	check_some(&conn_measures_type, conn->measures.conn,
		   (struct expected[]){{"stuck", "true"}, {"backoff", "1"}, {"timer", "\"persist\""}, {}});
	check_some(&path_measures_type, conn->measures.path,
		   (struct expected[]){{"path_stuck", "0"}, {"path_moving", "0"}, {"peer_stuck", "0"}, {}});
}

static void connecting(struct scene *s, unsigned n)
{
	s->socket.state = SOCKET_SYN_SENT;
	s->socket.timer = SOCKET_TIMER_RETRANSMIT;
	s->socket.timer_retransmits = n / 5;
}

TEST(a_connection_attempt)
{
	_cleanup_measured_ struct graph *graph = measure(connecting, NULL, 1);
	const struct module *conn = module_of(graph, CONN);

	check_some(&conn_measures_type, conn->measures.conn,
		   (struct expected[]){{"syn_wait_ns", "1800000000"},
				       {"syn_retrans", "1"},
				       {"stuck", "false"},
				       {"silent_ns", "null"},
				       {"receive_gap_ns", "null"},
				       {}});
	check_some(&path_measures_type, conn->measures.path,
		   (struct expected[]){{"path_connecting", "1"},
				       {"syn_unanswered", "true"},
				       {"peer_connecting", "1"},
				       {"peer_repeating_share", "0"},
				       {"peer_established", "0"},
				       {}});
	CHECK(conn_limits(conn) == NULL);
	CHECK_EQ_INT(conn->activity, ACTIVITY_WAITING);
}

/* --- applications --- */

static void busy_app(struct scene *s, unsigned n)
{
	static const char states[SAMPLES] = {'T', 't', 'Z', 'R', 'R', 'R', 'S', 'S', 'S', 'S'};
	unsigned phase = n % SAMPLES, number = n / SAMPLES;

	send_well(s);
	s->process.threads = 2;
	s->process.process_state = (uint8_t)states[phase];
	/* The sample with the fewest free descriptors is in the second window. */
	s->process.fds = number == 0 ? 80 : n == 13 ? 85 : 50;
	s->process.fd_max = n == 13 ? 90 : 100;
	s->thread.thread_state = phase == 9 ? 'D' : phase >= 3 && phase <= 5 ? 'R' : 'S';
	s->thread.syscall = phase == 0   ? call_number("sendto")
			    : phase >= 6 ? call_number("clock_nanosleep")
			    : phase >= 3 ? call_number("read") /* and runs: it waits for nothing */
					 : UINT16_MAX;
	s->thread.syscall_fd = phase == 0 || (phase >= 3 && phase < 6) ? 5 : UINT32_MAX;
	s->thread.run_ns = n * 50 * MS;
	s->thread.wait_ns = n * 10 * MS;
	s->thread.timeslices = n * 5;
	s->cgroup.cgroup = "/system.slice/app.service";
	s->cgroup.periods = 10 * n;
	s->cgroup.throttled_periods = 3 * n;
	s->cgroup.quota = 1.5;
	s->cgroup.frozen = 0;
}

/* A second thread, which runs less and waits more: reads in three samples, polls in two, sleeps in two. */
static void second_thread(struct snapshot *snapshot, unsigned n)
{
	static const char *const calls[SAMPLES] = {NULL,   "recvfrom",  "recvfrom",        "read",    "epoll_wait",
						   "poll", "nanosleep", "clock_nanosleep", "accept4", "connect"};
	unsigned phase = n % SAMPLES;
	struct thread_record thread;

	blank(&thread_type, &thread);
	thread.pid = 4711;
	thread.tid = 4712;
	thread.thread_state = 'S';
	thread.syscall = calls[phase] ? call_number(calls[phase]) : UINT16_MAX;
	thread.syscall_fd = phase < 4 || phase > 7 ? 5 : UINT32_MAX;
	thread.run_ns = n * 30 * MS;
	thread.wait_ns = n * 40 * MS;
	thread.timeslices = n * 2;
	put(snapshot, &thread_type, &thread);
	/* socket() fails for lack of a descriptor in every sample but the first. */
	put(snapshot, &shortage_type, &(struct shortage_record){.pid = 4711, .failures = n});
	put(snapshot, &tunnel_type, &(struct tunnel_record){.dev = "tun0", .pid = 4711});
}

TEST(every_measure_of_an_application)
{
	static const struct expected expected[] = {
		{"pid", "4711"},
		{"comm", "\"app\""},
		{"app_threads", "2"},
		{"app_stopped_share", "0.2"},
		{"app_stopped_recent", "6"},
		{"app_dead_share", "0.1"},
		{"app_runnable_share", "0.3"},
		/* 50 of 200 ms, the first thread; 40 of 200 ms, the second */
		{"app_run_share", "0.25"},
		{"app_cpu_wait_share", "0.2"},
		/* 40 ms in two time slices */
		{"app_cpu_delay_ns", "20000000"},
		/* both threads: the second one sleeps in two of the four samples of the first */
		{"app_sleep_share", "0.2"},
		{"app_sending_share", "0"},
		{"app_fds", "85"},
		{"app_fd_max", "90"},
		{"app_fd_share", "0.9444444"},
		{"app_fd_failures", "29"},
		{"app_tunnel", "true"},
		{"app_io_wait_count", "1"},
		{"cgroup", "\"/system.slice/app.service\""},
		{"cgroup_throttled_share", "0.3"},
		{"cgroup_quota", "1.5"},
		{"cgroup_frozen", "false"},
		{},
	};
	static const struct expected use[] = {
		{"app_reading_share", "0.3"},
		{"app_writing_share", "0.1"},
		{"app_polling_share", "0.2"},
		{"app_connecting_share", "0.1"},
		{"app_accepting_share", "0.1"},
		{"app_elsewhere_share", "0.2"},
		{},
	};
	_cleanup_measured_ struct graph *graph = measure(busy_app, second_thread, 3);
	const struct module *conn = module_of(graph, CONN);

	check_all(&app_measures_type, module_of(graph, "app:4711")->measures.app, expected);
	check_all(&use_measures_type, conn->measures.use, use);
	CHECK(conn->related[MODULE_APP] == graph_find(graph, "app:4711"));
	CHECK(conn->related[MODULE_CGROUP] == graph_find(graph, "cgroup:/system.slice/app.service"));
}

/* The fullest sample of the first window is forgotten in the fourth, as are its stops. */
TEST(descriptors_of_the_last_three_windows)
{
	_cleanup_measured_ struct graph *graph = measure(busy_app, NULL, 5);

	check_some(&app_measures_type, module_of(graph, "app:4711")->measures.app,
		   (struct expected[]){{"app_fds", "50"},
				       {"app_fd_max", "100"},
				       {"app_stopped_recent", "6"},
				       /* without the second thread */
				       {"app_cpu_wait_share", "0.05"},
				       {"app_sleep_share", "0.3"},
				       {"app_sending_share", "0.1"},
				       {}});
}

/* On the run queue for 25 samples, which the kernel counts at the end; then on the CPU. */
static void queued_app(struct scene *s, unsigned n)
{
	busy_app(s, n);
	s->process.process_state = s->thread.thread_state = 'R';
	s->thread.syscall = UINT16_MAX;
	s->thread.wait_ns = n < 25 ? 0 : 25 * 200 * MS;
	s->thread.run_ns = n < 25 ? 0 : (n - 25) * 200 * MS;
}

TEST(a_wait_for_a_cpu_counts_in_each_of_its_windows)
{
	static const char *const shares[] = {"1", "1", "0.6"};

	for (unsigned windows = 1; windows <= 3; windows++) {
		_cleanup_measured_ struct graph *graph = measure(queued_app, NULL, windows);

		check_some(&app_measures_type, module_of(graph, "app:4711")->measures.app,
			   (struct expected[]){{"app_cpu_wait_share", shares[windows - 1]}, {}});
	}
}

/* Of five windows, the last three: 30 samples. */
TEST(sockets_refused_in_the_last_three_windows)
{
	_cleanup_measured_ struct graph *graph = measure(busy_app, second_thread, 5);

	check_some(&app_measures_type, module_of(graph, "app:4711")->measures.app,
		   (struct expected[]){{"app_fd_failures", "30"}, {}});
}

/* --- what connections to one host have in common --- */

struct peer_case {
	const char *raddr;
	uint16_t rport;
	uint8_t state;
	uint32_t sent, acked, received, segs, lost, srtt_ms, min_rtt_ms, backoff, sendq;
};

/* Sent, acknowledged, received, lost: bytes per sample. */
static const struct peer_case peers[] = {
	/* The same host and service: bulk, lossy. 200 kB per sample in full segments. */
	{"10.77.2.2", 5001, SOCKET_ESTABLISHED, 200000, 200000, 0, 138, 2000, 30, 20, 0, 0},
	/* The same service: small segments, delayed by far more than its minimum. */
	{"10.77.2.2", 5001, SOCKET_ESTABLISHED, 1000, 1000, 100, 10, 0, 110, 25, 0, 0},
	/* The same host, another service: stuck. */
	{"10.77.2.2", 5002, SOCKET_ESTABLISHED, 0, 0, 0, 0, 0, 20, 20, 2, 1000},
	/* Another host: receives full segments. */
	{"10.77.3.3", 5001, SOCKET_ESTABLISHED, 0, 0, 144800, 100, 0, 20, 20, 0, 0},
	/* Another host: stuck. */
	{"10.77.3.4", 5001, SOCKET_ESTABLISHED, 0, 0, 0, 0, 0, 20, 20, 1, 1000},
	/* Another host: no answer to its SYN. */
	{"10.77.3.5", 5001, SOCKET_SYN_SENT, 0, 0, 0, 0, 0, 0, 0, 0, 0},
};

static void add_peers(struct snapshot *snapshot, unsigned n)
{
	for (unsigned i = 0; i < ARRAY_SIZE(peers); i++) {
		const struct peer_case *c = &peers[i];
		struct scene s;

		scene_begin(&s);
		REQUIRE(addr_parse(c->raddr, &s.socket.raddr) == 0);
		s.socket.rport = c->rport;
		s.socket.lport = (uint16_t)(41000 + i);
		s.socket.cookie = 100 + i;
		s.socket.inode = 0;
		s.socket.state = c->state;
		s.socket.timer_retransmits = c->state == SOCKET_SYN_SENT ? 1 : 0;
		s.socket.timer = c->state == SOCKET_SYN_SENT ? SOCKET_TIMER_RETRANSMIT : SOCKET_TIMER_OFF;
		s.socket.sendq_bytes = c->sendq;
		s.socket.tcp = 1 + i;
		/* Half of it in the first window. */
		s.tcp.bytes_sent = c->sent * (n < 10 ? n : 2 * n - 9);
		s.tcp.bytes_acked = 1 + c->acked * (n < 10 ? n : 2 * n - 9);
		s.tcp.bytes_received = c->received * (n < 10 ? n : 2 * n - 9);
		s.tcp.bytes_retrans = c->lost * n;
		s.tcp.data_segs_out = s.tcp.segs_out = c->sent ? c->segs * (n < 10 ? n : 2 * n - 9) : 0;
		s.tcp.data_segs_in = c->received ? c->segs * (n < 10 ? n : 2 * n - 9) : 0;
		s.tcp.segs_in = 10 * n;
		s.tcp.delivered = 1000 + n;
		s.tcp.srtt_ns = c->srtt_ms * MS;
		s.tcp.min_rtt_ns = c->min_rtt_ms ? c->min_rtt_ms * MS : UINT64_C(1000) * UINT32_MAX;
		s.tcp.backoff = c->backoff;
		s.tcp.unacked = c->backoff ? 1 : 0;
		put(snapshot, &socket_type, &s.socket);
		put(snapshot, &tcp_type, &s.tcp);
	}
}

static void no_conn(struct scene *s, unsigned n)
{
	(void)n;
	s->socket.state = SOCKET_CLOSE;
}

TEST(every_measure_of_a_shared_path)
{
	static const struct expected expected[] = {
		{"path_conns", "3"},
		{"path_stuck", "1"},
		{"path_moving", "2"},
		{"path_connecting", "0"},
		{"path_lossy", "1"},
		{"path_clean", "1"},
		{"path_min_rtt_ns", "20000000"},
		{"path_rtt_excess_ns", "85000000"},
		{"path_slow_rtt", "1"},
		{"path_delayed", "1"},
		{"path_filling", "1"},
		/* twice what it was; the first window has nine intervals, as the second has ten */
		{"path_send_use", "2"},
		{"path_receive_use", "2"},
		{"path_large", "1"},
		{"path_small", "1"},
		{"others_conns", "3"},
		{"others_stuck", "1"},
		{"others_moving", "1"},
		{"others_connecting", "1"},
		{"peer_conns", "2"},
		{"peer_stuck", "0"},
		{"peer_moving", "2"},
		{"peer_connecting", "0"},
		{"peer_repeating_share", "null"},
		{"peer_established", "2"},
		{"app_tried", "0"},
		{"app_tried_again", "0"},
		{"app_walks", "false"},
		{"syn_unanswered", "false"},
		{},
	};
	_cleanup_measured_ struct graph *graph = measure(no_conn, add_peers, 2);

	check_all(&path_measures_type, module_of(graph, "conn:10.77.1.2:41000-10.77.2.2:5001")->measures.path,
		  expected);
	check_some(&path_measures_type, module_of(graph, "conn:10.77.1.2:41003-10.77.3.3:5001")->measures.path,
		   (struct expected[]){{"path_conns", "1"},
				       {"path_large", "1"},
				       {"path_small", "0"},
				       {"others_conns", "5"},
				       {"others_stuck", "2"},
				       {"others_moving", "2"},
				       {"path_filling", "1"},
				       {}});
	check_some(&path_measures_type, module_of(graph, "conn:10.77.1.2:41005-10.77.3.5:5001")->measures.path,
		   (struct expected[]){{"path_connecting", "1"},
				       {"others_connecting", "0"},
				       {"syn_unanswered", "true"},
				       {"path_min_rtt_ns", "null"},
				       {}});
}

/* In the second window a head of 200 bytes is sent and acknowledged, and ten full segments are sent. */
static void sends_a_body(struct scene *s, unsigned n)
{
	bool sent = n >= 15;

	s->tcp.bytes_sent = sent ? 200 + 10 * 1448 : 0;
	s->tcp.bytes_acked = sent ? 201 : 1;
	s->tcp.data_segs_out = s->tcp.segs_out = sent ? 11 : 0;
	s->tcp.segs_in = sent ? 1 : 0;
	s->tcp.unacked = sent ? 10 : 0;
	s->socket.sendq_bytes = sent ? 10 * 1448 : 0;
}

static void sends_a_body_that_arrives(struct scene *s, unsigned n)
{
	sends_a_body(s, n);
	s->tcp.bytes_acked += n >= 15 ? 1448 : 0;
}

TEST(large_segments_that_are_sent_and_not_acknowledged)
{
	_cleanup_measured_ struct graph *lost = measure(sends_a_body, NULL, 2);

	check_some(&path_measures_type, module_of(lost, CONN)->measures.path,
		   (struct expected[]){{"path_moving", "1"}, {"path_large", "0"}, {"path_small", "1"}, {}});
}

TEST(large_segments_that_are_acknowledged)
{
	_cleanup_measured_ struct graph *passed = measure(sends_a_body_that_arrives, NULL, 2);

	check_some(&path_measures_type, module_of(passed, CONN)->measures.path,
		   (struct expected[]){{"path_moving", "1"}, {"path_large", "1"}, {"path_small", "0"}, {}});
}

/* --- route, neighbour, interface, queue --- */

static void busy_link(struct scene *s, unsigned n)
{
	unsigned phase = n % SAMPLES;

	send_well(s);
	s->link.carrier_changes = 2 + (n >= 12) + (n >= 25) + (n >= 27);
	s->link.mtu = 9000;
	s->link.rx_packets = UINT64_C(70) * n;
	s->link.tx_packets = UINT64_C(140) * n;
	s->link.rx_errors = UINT64_C(2) * n;
	s->link.tx_errors = UINT64_C(3) * n;
	s->link.rx_dropped = UINT64_C(4) * n;
	s->link.tx_dropped = UINT64_C(5) * n;
	s->link.rx_missed_errors = UINT64_C(6) * n;
	s->link.rx_fifo_errors = UINT64_C(7) * n;
	s->link.rx_bytes = UINT64_C(2500000) * n;
	s->link.tx_bytes = UINT64_C(5000000) * n;
	s->link.speed = UINT64_C(1000000000);
	s->link.speed_max = UINT64_C(10000000000);
	s->link.bus_rate = UINT64_C(8000000000);
	s->qdisc.bytes = UINT64_C(1000000) * n;
	s->qdisc.drops = 8 * n;
	s->qdisc.overlimits = 9 * n;
	s->qdisc.backlog_bytes = phase < 4 ? 0 : 1000 * phase;
	s->qdisc.rate = 20000000;
	s->destination.route_type = RTN_UNICAST;
	s->destination.path_mtu = 1400;
	REQUIRE(addr_parse("10.77.1.1", &s->destination.gateway) == 0);
	s->has_tunnel = true;
	s->tunnel.pid = 4711;
	s->process.process_state = phase < 3 ? 'T' : 'S';
}

static void add_ways(struct snapshot *snapshot, unsigned n)
{
	struct neighbour_record neighbour;
	struct address_record address;
	struct qdisc_record filter;

	blank(&neighbour_type, &neighbour);
	blank(&address_type, &address);
	blank(&qdisc_type, &filter);
	REQUIRE(addr_parse("10.77.1.1", &neighbour.raddr) == 0 && addr_parse("10.77.1.2", &address.laddr) == 0);
	neighbour.neigh_state = n < 25 ? NUD_REACHABLE : NUD_STALE;
	address.ifindex = 2;
	filter.ifindex = 2;
	memcpy(filter.kind, "clsact", 7);
	filter.drops = 11 * n;
	put(snapshot, &neighbour_type, &neighbour);
	put(snapshot, &address_type, &address);
	put(snapshot, &qdisc_type, &filter);
}

static const struct expected egress_expected[] = {
	{"dev", "\"eth0\""},
	{"link_up", "true"},
	{"link_carrier", "true"},
	{"link_changes", "2"},
	{"link_changes_recent", "3"},
	{"link_changes_ever", "5"},
	{"link_mtu", "9000"},
	{"link_rx_packets", "700"},
	{"link_tx_packets", "1400"},
	{"link_rx_errors", "20"},
	{"link_tx_errors", "30"},
	{"link_rx_dropped", "40"},
	{"link_tx_dropped", "50"},
	{"link_rx_missed", "70"},
	{"link_filling", "0"},
	{"link_speed", "125000000"},
	{"link_speed_max", "1250000000"},
	{"link_bus_rate", "1000000000"},
	/* 12.5 and 25 MB/s */
	{"link_rx_use", "0.1"},
	{"link_tx_use", "0.2"},
	{"link_rx_bus_use", "0.0125"},
	{"link_tx_bus_use", "0.025"},
	{"qdisc_kind", "\"tbf\""},
	{"qdisc_drops", "80"},
	{"qdisc_overlimits", "90"},
	{"qdisc_backlog_min", "0"},
	{"qdisc_backlog_peak", "9000"},
	{"qdisc_backlog_share", "0.6"},
	{"tc_drops", "110"},
	{"qdisc_rate", "20000000"},
	{"qdisc_sent_rate", "5000000"},
	{"qdisc_use", "0.25"},
	/* 9000 B at 5 MB/s */
	{"qdisc_delay_ns", "1800000"},
	{"route_error", "null"},
	{"route_kind", "\"unicast\""},
	{"laddr_gone", "false"},
	{"gateway", "\"10.77.1.1\""},
	{"route_mtu", "1400"},
	{"neigh_state", "\"STALE\""},
	{"neigh_failed", "false"},
	{"tunnel_kind", "\"wireguard\""},
	{"tunnel_pid", "4711"},
	{"tunnel_stopped_share", "0.3"},
	{},
};

TEST(every_measure_of_the_way_out)
{
	_cleanup_measured_ struct graph *graph = measure(busy_link, add_ways, 3);

	check_all(&egress_measures_type, module_of(graph, CONN)->measures.egress, egress_expected);
}

/* More to send than it may, with an RTT of more than 1.5 times and 5 ms above its minimum: a queue on the path. */
static void fill_a_queue(struct scene *s, unsigned n)
{
	busy_link(s, n);
	s->tcp.srtt_ns = 31000000;
}

static void fill_no_queue(struct scene *s, unsigned n)
{
	busy_link(s, n);
	s->tcp.srtt_ns = 29000000;
}

static void fill_with_all_that_it_has(struct scene *s, unsigned n)
{
	fill_a_queue(s, n);
	s->tcp.notsent_bytes = 0;
}

static void check_filling(scene_fn *step, const char *count)
{
	_cleanup_measured_ struct graph *graph = measure(step, add_ways, 3);

	check_some(&egress_measures_type, module_of(graph, CONN)->measures.egress,
		   (struct expected[]){{"link_filling", count}, {}});
}

TEST(connections_that_fill_a_queue)
{
	check_filling(fill_a_queue, "1");
	check_filling(fill_no_queue, "0");
	check_filling(fill_with_all_that_it_has, "0");
}

/* In the third window the carrier is gone, the route with it, the address, and the gateway does not answer. */
static void broken_link(struct scene *s, unsigned n)
{
	busy_link(s, n);
	s->link.rx_fifo_errors = UINT64_MAX;
	if (n < 20)
		return;
	s->link.carrier = 0;
	s->link.flags = 0;
	s->destination.error = ENETUNREACH;
	s->destination.ifindex = UINT32_MAX;
	s->destination.path_mtu = 0;
}

static void break_ways(struct snapshot *snapshot, unsigned n)
{
	struct neighbour_record neighbour;
	struct address_record address;

	blank(&neighbour_type, &neighbour);
	blank(&address_type, &address);
	REQUIRE(addr_parse("10.77.1.1", &neighbour.raddr) == 0 && addr_parse("10.77.9.9", &address.laddr) == 0);
	neighbour.neigh_state = n < 20 ? NUD_REACHABLE : NUD_INCOMPLETE;
	put(snapshot, &neighbour_type, &neighbour);
	put(snapshot, &address_type, &address);
}

TEST(a_route_that_is_gone_keeps_its_interface)
{
	_cleanup_measured_ struct graph *graph = measure(broken_link, break_ways, 3);

	check_some(&egress_measures_type, module_of(graph, CONN)->measures.egress,
		   (struct expected[]){{"dev", "\"eth0\""},
				       {"link_up", "false"},
				       {"link_carrier", "false"},
				       {"link_rx_missed", "60"},
				       {"route_error", "\"ENETUNREACH\""},
				       {"route_mtu", "null"},
				       {"laddr_gone", "true"},
				       {"neigh_failed", "true"},
				       {"tc_drops", "null"},
				       {}});
}

/* A backlog that nothing leaves: how long it takes is not known; nor after the counters began anew. */
static void stuck_queue(struct scene *s, unsigned n)
{
	busy_link(s, n);
	s->qdisc.bytes = 5000000;
}

static void reset_queue(struct scene *s, unsigned n)
{
	busy_link(s, n);
	s->qdisc.bytes = n < 20 ? 5000000 : 1000;
}

TEST(the_delay_of_a_queue_whose_rate_is_not_known)
{
	static const struct {
		scene_fn *step;
		const char *rate;
	} cases[] = {{stuck_queue, "0"}, {reset_queue, "null"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_measured_ struct graph *graph = measure(cases[i].step, add_ways, 3);

		check_some(&egress_measures_type, module_of(graph, CONN)->measures.egress,
			   (struct expected[]){{"qdisc_backlog_peak", "9000"},
					       {"qdisc_sent_rate", cases[i].rate},
					       {"qdisc_delay_ns", "null"},
					       {}});
	}
}

/* The route leads to a VLAN: its own figures count, unless something is wrong below it. */
static enum fault { HEALTHY, DOWN, NO_CARRIER, BACKLOG, DROPS, FILTERED, ERRORS, MISSED, UNKNOWN, FAULTS } fault;

static void on_a_vlan(struct scene *s, unsigned n)
{
	send_well(s);
	s->has_upper = true;
	s->upper = s->link;
	s->upper.ifindex = s->destination.ifindex = 3;
	s->upper.lower = 2;
	memcpy(s->upper.dev, "eth0.5", 7);
	memcpy(s->upper.kind, "vlan", 5);
	s->link.flags = fault == DOWN ? 0 : fault == UNKNOWN ? UINT32_MAX : 1;
	s->link.carrier = fault != NO_CARRIER;
	s->link.rx_errors = fault == ERRORS ? n : fault == UNKNOWN ? UINT64_MAX : 5;
	s->link.rx_missed_errors = fault == MISSED ? n : fault == UNKNOWN ? UINT64_MAX : 5;
	s->qdisc.backlog_bytes = fault == BACKLOG ? 100 : 0;
	s->qdisc.drops = fault == DROPS ? n : fault == UNKNOWN ? UINT32_MAX : 5;
}

static void filter_below(struct snapshot *snapshot, unsigned n)
{
	struct qdisc_record filter;

	blank(&qdisc_type, &filter);
	filter.ifindex = 2;
	memcpy(filter.kind, "clsact", 7);
	filter.drops = fault == FILTERED ? n : fault == UNKNOWN ? UINT32_MAX : 5;
	put(snapshot, &qdisc_type, &filter);
}

TEST(the_lowest_interface_with_a_fault_counts)
{
	for (fault = HEALTHY; fault < FAULTS; fault++) {
		_cleanup_measured_ struct graph *graph = measure(on_a_vlan, filter_below, 3);
		const struct egress_measures *measures = module_of(graph, CONN)->measures.egress;
		bool amiss = fault != HEALTHY && fault != UNKNOWN;

		unit_note("fault %d", fault);
		CHECK_EQ_TEXT(measures->dev, amiss ? "eth0" : "eth0.5");
	}
}

/* No route is looked up for an address of this host: its packets pass the loopback interface. */
static void to_itself(struct scene *s, unsigned n)
{
	(void)n;
	s->socket.raddr = s->socket.laddr;
	memcpy(s->link.dev, "lo", 3);
	s->link.ifindex = 1;
	s->link.flags = IFF_LOOPBACK;
}

TEST(the_loopback_interface_is_the_way_to_this_host)
{
	_cleanup_measured_ struct graph *graph = measure(to_itself, NULL, 1);

	check_some(&egress_measures_type, module_of(graph, "conn:10.77.1.2:40000-10.77.1.2:5001")->measures.egress,
		   (struct expected[]){{"dev", "\"lo\""}, {"link_up", "false"}, {"route_error", "null"}, {}});
}

/* A reply of one segment, larger than half of the MSS, for each request, 40 ms apart; or two such segments. */
static unsigned segments_per_reply;

static void replies(struct scene *s, unsigned n)
{
	(void)n;
	s->tcp.data_segs_in += 5;
	s->tcp.bytes_received += 5 * 300;
	s->tcp.data_segs_out += 5 * segments_per_reply;
	s->tcp.bytes_sent += 5 * segments_per_reply * 1000;
	s->tcp.bytes_acked += 5 * segments_per_reply * 1000;
	s->tcp.srtt_ns = 60 * MS;
}

TEST(the_ack_of_a_single_segment_may_wait_for_the_next_request)
{
	for (segments_per_reply = 1; segments_per_reply <= 2; segments_per_reply++) {
		_cleanup_measured_ struct graph *graph = measure(replies, NULL, 2);

		check_some(&conn_measures_type, module_of(graph, CONN)->measures.conn,
			   (struct expected[]){{"segment_bytes", "1000"},
					       {"acks_may_wait", segments_per_reply == 1 ? "true" : "false"},
					       {}});
	}
}

/* --- handshakes --- */

static void put_request(struct snapshot *snapshot, const char *from, uint16_t lport, uint8_t timeouts)
{
	struct socket_record s;

	blank(&socket_type, &s);
	s.proto = 6;
	s.state = SOCKET_SYN_RECV;
	s.lport = lport;
	s.timer_retransmits = timeouts;
	REQUIRE(addr_parse(from, &s.raddr) == 0);
	put(snapshot, &socket_type, &s);
}

/* Of port 40000: three of one host and one of another wait, one has just begun; one of another port does not count. */
static void half_open(struct snapshot *snapshot, unsigned n)
{
	struct socket_record listener;

	(void)n;
	blank(&socket_type, &listener);
	listener.proto = 6;
	listener.state = SOCKET_LISTEN;
	listener.lport = 40000;
	listener.cookie = 70;
	REQUIRE(addr_parse("0.0.0.0", &listener.laddr) == 0);
	put(snapshot, &socket_type, &listener);
	for (unsigned i = 0; i < 3; i++)
		put_request(snapshot, "10.77.2.2", 40000, 1);
	put_request(snapshot, "10.77.2.3", 40000, 4);
	put_request(snapshot, "10.77.2.2", 40000, 0);
	put_request(snapshot, "10.77.2.2", 443, 2);
}

static void sends_well(struct scene *s, unsigned n)
{
	(void)n;
	send_well(s);
}

TEST(every_measure_of_half_open_connections)
{
	_cleanup_measured_ struct graph *graph = measure(sends_well, half_open, 2);

	check_all(&half_open_measures_type, module_of(graph, "listener:0.0.0.0:40000")->measures.half_open,
		  (struct expected[]){{"half_open", "4"},
				      {"half_open_raddr", "\"10.77.2.2\""},
				      {"half_open_host", "3"},
				      {"half_open_share", "0.75"},
				      /* the connection of the scene */
				      {"half_open_others", "1"},
				      {}});
}

/* --- datagrams and rejects --- */

/* Samples are 200 ms apart: empty, filled at the third and growing until the ninth, read in part at the tenth. */
static void put_datagrams(struct snapshot *snapshot, unsigned n)
{
	static const uint32_t queue[] = {0, 0, 100, 200, 300, 300, 400, 500, 600, 50};
	struct socket_record s;

	blank(&socket_type, &s);
	s.proto = 17;
	s.lport = 25565;
	s.cookie = 80;
	s.recvq_bytes = n < 10 ? queue[n] : 50;
	REQUIRE(addr_parse("0.0.0.0", &s.laddr) == 0);
	put(snapshot, &socket_type, &s);
}

TEST(datagrams_that_nobody_reads)
{
	/* The first until the read, the others since. */
	static const char *const unread[] = {"1200000000", "2000000000", "4000000000", "6000000000"};

	for (unsigned windows = 1; windows <= ARRAY_SIZE(unread); windows++) {
		_cleanup_measured_ struct graph *graph = measure(sends_well, put_datagrams, windows);

		check_some(&udp_measures_type, module_of(graph, "udp:0.0.0.0:25565")->measures.udp,
			   (struct expected[]){{"recvq_read", "true"}, {"unread_recent_ns", unread[windows - 1]}, {}});
	}
}

/* Two rules that reject, of an input and of an output chain: 3 and 5 packets per sample. */
static void put_rejects(struct snapshot *snapshot, unsigned n)
{
	static const uint8_t hooks[] = {NF_INET_LOCAL_IN, NF_INET_LOCAL_OUT};

	for (unsigned i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct firewall_rule_record rule;
		struct firewall_chain_record chain;

		blank(&firewall_rule_type, &rule);
		blank(&firewall_chain_type, &chain);
		rule.nf_family = chain.nf_family = NFPROTO_INET;
		rule.nf_table = chain.nf_table = "filter";
		rule.chain = chain.chain = i ? "output" : "input";
		rule.verdict = VERDICT_REJECT;
		rule.packets = (i ? 5 : 3) * (uint64_t)n;
		chain.hook = hooks[i];
		put(snapshot, &firewall_rule_type, &rule);
		put(snapshot, &firewall_chain_type, &chain);
	}
}

TEST(rejects_of_an_input_chain_are_left_out)
{
	_cleanup_measured_ struct graph *graph = measure(sends_well, put_rejects, 2);

	/* Ten samples since the last one of the window before. */
	check_some(&host_measures_type, module_of(graph, CONN)->measures.host,
		   (struct expected[]){{"firewall_rejects", "50"}, {}});
}

/* --- services --- */

static void note(struct services *services, struct window *at, struct service_sample sample)
{
	struct service service = {};

	services_note(services, at, &service, &sample);
}

static void check_service(const struct services *services, const struct expected *expected)
{
	struct exchange_measures m = {};
	struct service service = {};

	services_measure(services, &service, &m);
	check_some(&exchange_measures_type, &m, expected);
}

TEST(every_measure_of_a_service)
{
	struct window at = {.number = 0, .samples = 0};
	struct services services = {};
	struct service service = {};

	check_service(&services, (struct expected[]){{"service_base", "null"}, {"service_slow", "null"}, {}});
	/* A window with enough answers to be a baseline, of which the longest took 30 ms. */
	note(&services, &at, (struct service_sample){.answers = 40, .wait_ns = 30 * MS, .exchanges = 40});
	note(&services, &at, (struct service_sample){.answers = 10, .wait_ns = 20 * MS, .exchanges = 10});
	services_end_window(&services, &at);
	/* One with fewer, and a longer wait. */
	at.number = 1;
	note(&services, &at, (struct service_sample){.answers = 30, .wait_ns = 50 * MS, .exchanges = 30});
	services_end_window(&services, &at);
	at.number = 2;
	note(&services, &at, (struct service_sample){.answers = 5, .wait_ns = 60 * MS, .exchanges = 5});
	at.samples = 1;
	/* Two that took long, one that was no wait for an answer, one just short of slow; two still wait. */
	note(&services, &at, (struct service_sample){.ended_ns = SERVICE_SLOW_NS, .wait_ns = 1, .exchanges = 1});
	note(&services, &at,
	     (struct service_sample){.ended_ns = SERVICE_SLOW_NS + 2 * MS, .wait_ns = 2, .exchanges = 1});
	note(&services, &at, (struct service_sample){.ended_ns = SERVICE_LONG_NS + 1});
	note(&services, &at, (struct service_sample){.ended_ns = SERVICE_SLOW_NS - 1});
	note(&services, &at, (struct service_sample){.ended_ns = SERVICE_LATE_NS - 1});
	/* Connections that began to talk: at once, after a silence (twice in one sample, then once), far too late. */
	note(&services, &at, (struct service_sample){.began = true, .mute_ns = SERVICE_SLOW_NS - 1, .number = 7});
	note(&services, &at, (struct service_sample){.began = true, .mute_ns = SERVICE_SLOW_NS, .number = 7});
	note(&services, &at, (struct service_sample){.began = true, .mute_ns = SERVICE_SLOW_NS + 3 * MS, .number = 7});
	note(&services, &at, (struct service_sample){.began = true, .mute_ns = SERVICE_SLOW_NS + 6 * MS, .number = 8});
	note(&services, &at, (struct service_sample){.began = true, .mute_ns = SERVICE_MUTE_LONG_NS + 1, .number = 9});
	/* What is unanswered is counted anew in each round. */
	services_begin_unanswered(&services);
	services_note_unanswered(&services, &service, 100, 1000 * MS);
	services_begin_unanswered(&services);
	services_note_unanswered(&services, &service, 3, 100 * MS);
	services_note_unanswered(&services, &service, 1, 500 * MS);
	check_service(&services, (struct expected[]){
					 {"service_base", "50"},
					 {"service_share", "0.1"},
					 {"service_wait_base_ns", "30000000"},
					 /* 87 exchanges, two of them slow */
					 {"service_quick", "85"},
					 {"service_slow", "2"},
					 {"service_late", "3"},
					 {"service_waits", "4"},
					 {"service_lengthy", "1"},
					 {"service_prompt", "1"},
					 {"service_greeted", "2"},
					 {"service_unanswered", "4"},
					 {"service_unanswered_wait_ns", "200000000"},
					 {},
				 });
	{
		struct exchange_measures m = {};

		services_measure(&services, &service, &m);
		CHECK_EQ_UINT(m.service_slow_wait_ns, SERVICE_SLOW_NS + 1 * MS);
		CHECK_EQ_UINT(m.service_late_wait_ns, (3 * SERVICE_SLOW_NS + 2 * MS - 1) / 3);
		CHECK_EQ_UINT(m.service_greeted_wait_ns, SERVICE_SLOW_NS + 3 * MS);
	}
	services_done(&services);
}
