/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a connection's other end adds to its measures, on samples of two hosts made by hand (scene.h). */
#include "diagnose/measure/end_track.h"
#include "diagnose/measure/far_end.h"
#include "scene.h"

#define WINDOWS 4
#define SAMPLES 10 /* of a window of 2 s */
#define MS      1000000

/* One host: its samples and the graph of its last window. */
struct host {
	enum end_side side;
	struct window *window;
	struct snapshot *snapshot;
	struct scene scene;
	struct graph *graph;
};

static struct end_pairs pairs = END_PAIRS_INIT;

static void host_open(struct host *host, enum end_side side)
{
	*host = (struct host){.side = side, .window = window_new(), .snapshot = snapshot_new()};
	scene_begin(&host->scene);
	if (side == END_HERE)
		return;
	host->scene.socket.laddr = host->scene.other_socket.raddr;
	host->scene.socket.raddr = host->scene.other_socket.laddr;
	host->scene.socket.lport = 5001;
	host->scene.socket.rport = 40000;
	host->scene.socket.cookie = 9;
	memcpy(host->scene.process.comm, "server", 7);
}

static void host_close(struct host *host)
{
	graph_free(host->graph);
	window_free(host->window);
	snapshot_free(host->snapshot);
}

static void host_sample(struct host *host, unsigned sample, scene_fn *step)
{
	step(&host->scene, sample);
	fill(host->snapshot, &host->scene, sample);
	end_pairs_add(&pairs, host->side, host->snapshot);
	window_add(host->window, host->snapshot);
	if (sample % SAMPLES == SAMPLES - 1) {
		graph_free(host->graph);
		host->graph = window_finish(host->window);
	}
}

static bool find_reader(const struct graph *graph _unused_, const struct module *module, void *context,
			struct far_end_finding *ret_finding)
{
	*ret_finding = (struct far_end_finding){"app-not-reading", "application", 0.7};
	return context && strncmp(module->id, "conn:", 5) == 0;
}

/* The measures of the connection after four windows of two seconds. */
static struct far_end_measures join(scene_fn *here_step, scene_fn *there_step, bool finds)
{
	struct far_end_view view = {.own_host = "web1",
				    .far_host = "db1",
				    .pairs = &pairs,
				    .error_ns = MS,
				    .tracks = MAP_INIT(sizeof(struct end_key), sizeof(struct far_end_track), 100)};
	struct far_end_measures measures;
	struct host here, there;
	const struct module *conn;

	host_open(&here, END_HERE);
	host_open(&there, END_THERE);
	for (unsigned sample = 0; sample < WINDOWS * SAMPLES; sample++) {
		host_sample(&here, sample, here_step);
		host_sample(&there, sample, there_step);
		if (sample % SAMPLES == SAMPLES - 1)
			far_end_join(&view, here.graph, (const struct graph *const[]){there.graph}, 1,
				     here.snapshot->begin_time_ns, find_reader, finds ? &view : NULL);
	}
	conn = graph_find(here.graph, "conn:10.77.1.2:40000-10.77.2.2:5001");
	REQUIRE(conn && conn->measures.far_end);
	measures = *conn->measures.far_end;
	measures.conn = NULL;
	host_close(&here);
	host_close(&there);
	map_done(&view.tracks);
	end_pairs_done(&pairs);
	pairs = (struct end_pairs)END_PAIRS_INIT;
	return measures;
}

/* 144 segments per sample, 4 of them lost and retransmitted. */
static void send_some(struct scene *s, unsigned sample _unused_)
{
	s->tcp.bytes_sent += 200000 + 4 * 1448;
	s->tcp.bytes_retrans += 4 * 1448;
	s->tcp.bytes_acked += 200000;
	s->tcp.data_segs_out += 144;
	s->tcp.total_retrans += 4;
	s->tcp.busy_ns += SAMPLE_NS;
}

static void take_all(struct scene *s, unsigned sample _unused_)
{
	s->tcp.bytes_received += 200000;
	s->tcp.data_segs_in += 140;
}

TEST(losses_are_the_difference_of_both_ends)
{
	struct far_end_measures m = join(send_some, take_all, false);

	/* Three windows of ten samples. */
	CHECK_EQ_UINT(m.out_segs, 3 * 10 * 144);
	CHECK_EQ_UINT(m.out_arrived_segs, 3 * 10 * 140);
	CHECK_EQ_UINT(m.out_lost_segs, 3 * 10 * 4);
	CHECK_NEAR(m.out_lost_share, 4.0 / 144, 1e-9);
	CHECK_NEAR(m.out_steady_share, 4.0 / 144, 1e-9);
	/* One window. */
	CHECK_EQ_UINT(m.out_bytes, 2000000);
	CHECK_EQ_UINT(m.out_arrived_bytes, 2000000);
	CHECK_EQ_UINT(m.out_missing_bytes, 0);
	CHECK_EQ_UINT(m.out_overdue_ns, 0);
	/* Nothing went the other way. */
	CHECK_EQ_UINT(m.in_segs, UINT64_MAX);
	CHECK(isnan(m.in_lost_share));
	CHECK_EQ_UINT(m.in_bytes, 0);
	CHECK_EQ_TEXT(m.far_host, "db1");
	CHECK_EQ_TEXT(m.far_comm, "server");
	CHECK_EQ_UINT(m.far_pid, 4711);
	CHECK_EQ_UINT(m.far_clock_error_ns, MS);
	CHECK_NEAR(m.far_recvq_share, 0, 0);
	CHECK_EQ_TEXT(m.waits_for, "");
	CHECK_EQ_TEXT(m.window_closed_by, "");
	CHECK_EQ_TEXT(m.far_cause, "");
	CHECK(isnan(m.far_certainty));
}

/* After two windows no segment arrives. */
static void take_until_then(struct scene *s, unsigned sample)
{
	if (sample < 2 * SAMPLES)
		take_all(s, sample);
}

TEST(what_is_overdue_is_missing)
{
	struct far_end_measures m = join(send_some, take_until_then, false);

	/* Two RTTs of 21 ms, the error of the clocks and 300 ms are two samples: 18 of 20 have been sent for longer. */
	CHECK_EQ_UINT(m.out_missing_bytes, 18 * 200000);
	/* The first of them was sent with the 21st sample. */
	CHECK_EQ_UINT(m.out_overdue_ns, 19 * (uint64_t)SAMPLE_NS);
	CHECK_EQ_UINT(m.out_arrived_bytes, 0);
	CHECK_EQ_UINT(m.out_bytes, 2000000);
}

static void meet_a_closed_window(struct scene *s, unsigned sample _unused_)
{
	s->tcp.snd_wnd = 0;
	s->tcp.notsent_bytes = 5000;
	s->socket.sendq_bytes = 5000;
}

static void read_nothing(struct scene *s, unsigned sample _unused_)
{
	s->socket.recvq_bytes = 3000000;
}

TEST(a_reader_that_stopped_is_waited_for)
{
	struct far_end_measures m = join(meet_a_closed_window, read_nothing, true);

	CHECK_EQ_TEXT(m.waits_for, "db1");
	CHECK_EQ_TEXT(m.window_closed_by, "db1");
	CHECK_NEAR(m.far_recvq_share, 1, 0);
	CHECK_EQ_UINT(m.far_recvq_max_bytes, 3000000);
	CHECK_EQ_UINT(m.far_rcvbuf, 4000000);
	CHECK_EQ_TEXT(m.far_cause, "app-not-reading");
	CHECK_EQ_TEXT(m.far_layer, "application");
	CHECK_NEAR(m.far_certainty, 0.7, 0);
	/* The same, seen from the other host. */
	m = join(read_nothing, meet_a_closed_window, true);
	CHECK_EQ_TEXT(m.waits_for, "web1");
	CHECK_EQ_TEXT(m.window_closed_by, "web1");
}
