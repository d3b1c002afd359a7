/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP connections: what the kernel counted between the first and the last sample, and how often something held in
 * between. One sample says little (a healthy reader also has data in its queue); what holds in every sample means
 * something.
 */
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "snapshot/core/delta.h"
#include "snapshot/socket/socket.h"

static const struct field limit_fields[] = {
	FIELD(struct limit_record, application, RATIO, "the application sent nothing", .unit = "%"),
	FIELD(struct limit_record, send_buffer, RATIO, "the send buffer was full", .unit = "%"),
	FIELD(struct limit_record, receiver_window, RATIO, "the receiver's window was full", .unit = "%"),
	FIELD(struct limit_record, congestion_window, RATIO, "the congestion window was full", .unit = "%"),
	FIELD(struct limit_record, local_queue, RATIO, "a queue on this host held its packets", .unit = "%"),
	FIELD(struct limit_record, nobody, RATIO, "nothing limited it", .unit = "%"),
};
RECORD_TYPE(limit_type, "limit", struct limit_record, limit_fields,
	    "what limited a connection, as shares of the window");

#define M struct conn_measures
static const struct field conn_fields[] = {
	FIELD(M, laddr, ADDR, "local address"),
	FIELD(M, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(M, raddr, ADDR, "remote address"),
	FIELD(M, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(M, state, ENUM, "state at the end", .names = &socket_state_names),
	FIELD(M, timer, ENUM, "timer that runs", .names = &socket_timer_names),
	FIELD(M, cc, TEXT, "congestion control"),
	FIELD(M, samples, COUNT, "samples of the window in which it was seen"),
	FIELD(M, sent_bytes, BYTES, "sent, retransmissions included (bytes_sent)"),
	FIELD(M, acked_bytes, BYTES, "sent and acknowledged (bytes_acked)"),
	FIELD(M, received_bytes, BYTES, "received in order (bytes_received)"),
	FIELD(M, retrans_bytes, BYTES, "retransmitted (bytes_retrans)"),
	FIELD(M, loss_share, RATIO, "retransmitted less spurious retransmissions, of the data sent", .unit = "%"),
	FIELD(M, loss_share_recent, RATIO, "the same, in this window and the two before", .unit = "%"),
	FIELD(M, loss_growth, RATIO,
	      "the same, as a multiple of its share before the run; unknown when little had been sent by then"),
	FIELD(M, retrans_share, RATIO, "retransmitted, of the data sent", .unit = "%"),
	FIELD(M, spurious_share, RATIO, "share of the retransmissions that were spurious", .unit = "%"),
	FIELD(M, lossy_windows, COUNT, "windows with losses and without a queue, of the last eight with progress"),
	FIELD(M, rto_count, COUNT, "retransmission timeouts (total_rto)"),
	FIELD(M, reorder_count, COUNT, "times that segments were seen out of order by the peer (reord_seen)"),
	FIELD(M, reorder_share, RATIO, "the same, as a share of the segments with data that were sent", .unit = "%"),
	FIELD(M, ooo_count, COUNT, "segments that arrived here out of order (rcv_ooopack)"),
	FIELD(M, ooo_share, RATIO, "share of the segments that arrived here out of order", .unit = "%"),
	FIELD(M, send_variation, RATIO,
	      "variation of the acknowledged rate between samples (standard deviation / mean)", .unit = "%"),
	FIELD(M, receive_variation, RATIO, "the same of the received rate", .unit = "%"),
	FIELD(M, slowdown, RATIO, "rate as a share of the fastest earlier window", .unit = "%"),
	FIELD(M, clean_slowdown, RATIO, "rate, as a share of the fastest earlier window without loss", .unit = "%"),
	FIELD(M, rcv_wnd, BYTES, "receive window that this host advertises"),
	FIELD(M, rcv_rtt_ns, DURATION, "RTT as the receiver estimates it (rcv_rtt)"),
	FIELD(M, rcv_rtt_base_ns, DURATION, "its minimum in earlier windows; else the RTT of the handshake"),
	FIELD(M, rcv_rtt_ratio, RATIO, "the receiver's RTT as a share of that minimum", .unit = "%"),
	FIELD(M, rcv_rtt_base_ratio, RATIO,
	      "that minimum, as a multiple of the minimum RTT: above one where the peer often had nothing to send",
	      .unit = "%"),
	FIELD(M, rcv_wnd_use, RATIO, "share of the receive window that the data of one RTT fills", .unit = "%"),
	FIELD(M, unscaled, BOOL, "window scaling was not negotiated: both windows are at most 64 kB"),
	FIELD(M, shift_zero, BOOL, "it was, and this host scales its window by nothing: it is at most 64 kB"),
	FIELD(M, flight_bytes, BYTES, "congestion window, at the end"),
	FIELD(M, flight_peak_bytes, BYTES,
	      "largest congestion window since the connection began, from the size that the send buffer grew to; "
	      "unknown "
	      "where it may be fixed"),
	FIELD(M, flight_share, RATIO, "the former, as a share of the latter", .unit = "%"),
	FIELD(M, per_rtt_bytes, BYTES, "data received per RTT"),
	FIELD(M, per_rtt_peak_bytes, BYTES, "the most read in one RTT since the connection began (rcv_space)"),
	FIELD(M, per_rtt_share, RATIO, "the former, as a share of the latter", .unit = "%"),
	FIELD(M, segment_bytes, BYTES, "mean size of the segments with data that were sent"),
	FIELD(M, restart_cost_ns, DURATION,
	      "cost of slow start after idle in the last three windows (smaller congestion window, no loss)"),
	FIELD(M, restart_share, RATIO, "that, as a share of the RTTs that the data after the pause takes", .unit = "%"),
	FIELD(M, segs_in, COUNT, "segments received"),
	FIELD(M, segs_out, COUNT, "segments sent"),
	FIELD(M, marked_share, RATIO, "delivered segments that a queue on the path had marked (ECN CE)", .unit = "%"),
	FIELD(M, dsack_count, COUNT, "spurious retransmissions reported by the peer (dsack_dups)"),
	FIELD(M, data_segs_in, COUNT, "segments with data received"),
	FIELD(M, receive_gap_ns, DURATION, "since data was last received, at the end"),
	FIELD(M, receive_gap_base_ns, DURATION, "longest time without data received, seen in earlier windows"),
	FIELD(M, best_receive_rate, BYTES, "fastest earlier window, receiving", .unit = "B/s"),
	FIELD(M, steady_windows, COUNT, "earlier windows in a row in which data was received"),
	FIELD(M, busy_share, RATIO, "share of the time with data to send (busy_time)", .unit = "%"),
	FIELD(M, rwnd_share, RATIO, "share of the time limited by the peer's receive window (rwnd_limited)",
	      .unit = "%"),
	FIELD(M, sndbuf_share, RATIO, "share of the time limited by the send buffer (sndbuf_limited)", .unit = "%"),
	FIELD(M, sendq_share, RATIO, "samples with unacknowledged or unsent data", .unit = "%"),
	FIELD(M, notsent_share, RATIO, "samples with data that was not sent yet", .unit = "%"),
	FIELD(M, cwnd_share, RATIO, "samples with a full congestion window and more to send", .unit = "%"),
	FIELD(M, wnd_full_share, RATIO, "samples in which the data in flight fills the peer's receive window",
	      .unit = "%"),
	FIELD(M, nagle_share, RATIO, "samples with a partial segment unsent while data is unacknowledged", .unit = "%"),
	FIELD(M, local_queue_share, RATIO, "samples in which half of the data in flight was in a queue of this host",
	      .unit = "%"),
	FIELD(M, sndbuf_full_share, RATIO, "samples with a full send buffer, nothing unsent, room in both windows",
	      .unit = "%"),
	FIELD(M, recvq_share, RATIO, "samples with data that the application had not read", .unit = "%"),
	FIELD(M, unacked_share, RATIO, "samples with something in flight", .unit = "%"),
	FIELD(M, held_share, RATIO, "samples with data unsent and nothing in flight, though both windows have room",
	      .unit = "%"),
	FIELD(M, cork_share, RATIO, "the same, with less than one segment", .unit = "%"),
	FIELD(M, sack_share, RATIO, "samples with SACKed data", .unit = "%"),
	FIELD(M, sacked_part, RATIO, "SACKed share of the data in flight, at the end", .unit = "%"),
	FIELD(M, sendq_min_bytes, BYTES, "smallest send queue"),
	FIELD(M, sendq_max_bytes, BYTES, "largest send queue"),
	FIELD(M, recvq_min_bytes, BYTES, "smallest receive queue"),
	FIELD(M, recvq_max_bytes, BYTES, "largest receive queue"),
	FIELD(M, recvq_fill_min, RATIO, "smallest share of the receive buffer in use", .unit = "%"),
	FIELD(M, snd_wnd_min, BYTES, "smallest receive window that the peer advertised"),
	FIELD(M, snd_wnd_max, BYTES, "largest receive window that the peer advertised"),
	FIELD(M, local_queue_bytes, BYTES, "median of the bytes in queues of this host (wmem_alloc)"),
	FIELD(M, sndbuf, BYTES, "send buffer"),
	FIELD(M, rcvbuf, BYTES, "receive buffer"),
	FIELD(M, stuck, BOOL, "had data to send in every sample, and nothing was acknowledged"),
	FIELD(M, silent_ns, DURATION, "since the last acknowledgement"),
	FIELD(M, backoff, COUNT, "retransmission timeouts in a row"),
	FIELD(M, syn_wait_ns, DURATION, "time in SYN-SENT"),
	FIELD(M, syn_retrans, COUNT, "SYNs retransmitted"),
	FIELD(M, srtt_ns, DURATION, "SRTT at the end"),
	FIELD(M, rtt_ns, DURATION, "recent RTT: the SRTT without the remains of earlier, longer samples"),
	FIELD(M, min_rtt_ns, DURATION, "minimum RTT of the last minutes (min_rtt)"),
	FIELD(M, rtt_excess_ns, DURATION, "RTT above its minimum"),
	FIELD(M, rtt_base_ns, DURATION, "lowest RTT of an earlier window"),
	FIELD(M, rtt_ratio, RATIO, "RTT as a multiple of its minimum"),
	FIELD(M, acks_may_wait, BOOL,
	      "small segments with less than 250 ms of excess RTT: the ACKs may be delayed ACKs"),
	FIELD(M, rtt_floor_ratio, RATIO, "smallest SRTT of the window's samples, as a multiple of the minimum RTT"),
	FIELD(M, cwnd, COUNT, "congestion window in segments"),
	FIELD(M, cwnd_best, COUNT, "largest congestion window of earlier windows"),
	FIELD(M, ssthresh, COUNT, "slow-start threshold in segments"),
	FIELD(M, mss, BYTES, "maximum segment size", .exact = true),
	FIELD(M, pmtu, BYTES, "path MTU", .exact = true),
	FIELD(M, send_rate, BYTES, "acknowledged per second", .unit = "B/s"),
	FIELD(M, receive_rate, BYTES, "received per second", .unit = "B/s"),
	FIELD(M, best_rate, BYTES, "fastest earlier window, either direction", .unit = "B/s"),
	FIELD(M, acked_ever_bytes, BYTES, "data acknowledged since the connection began"),
	FIELD(M, received_ever_bytes, BYTES, "data received since the connection began"),
	FIELD(M, past_rate, BYTES, "last delivery rate, however long ago; unknown below 64 KiB in all", .unit = "B/s"),
	FIELD(M, age_windows, COUNT, "windows since it was first seen"),
};
#undef M
RECORD_TYPE(conn_measures_type, "measure.conn", struct conn_measures, conn_fields,
	    "measures of a TCP connection in a window");

/* --- collecting --- */

#define OPTION_WSCALE 4 /* TCPI_OPT_WSCALE */
/* Samples of a window beyond this are not kept one by one. */
#define QUEUE_SAMPLES 16
/* The kernel's initial congestion window, below which a pause does not take it. */
#define RESTART_CWND 10
#define ROUNDS_MAX   32
/* Windows over which losses are added up where one alone says too little. */
#define RECENT 3
/* Windows for which the cost of a pause is kept: bursts are rarely a second apart. */
#define RESTART_WINDOWS 3
/* A connection that has delivered less says nothing about its rate. */
#define PAST_BYTES (64 << 10)
/* What a connection must have sent for its losses to be a habit, and the smallest share of them that counts as one. */
#define LIFE_BYTES (4 << 20)
#define LOSS_LEAST 1e-4
/* A program may fix its send buffer up to this size (twice net.core.wmem_max), and it begins below. */
#define SNDBUF_FIXED (2 * 212992)
/* Memory of a full segment: payload and headers in a power of two, and the kernel's description of it. */
#define SEGMENT_HEADERS 640
#define SEGMENT_HANDLE  256
/* The receiver's estimate begins with ten segments. */
#define RCV_SPACE_LEAST 64000

/* Rates of the intervals between samples. */
struct spread {
	unsigned count;
	double sum, squares;
};

/* Slow start after idle, and what it costs. */
struct restart {
	unsigned window;      /* in which it was seen, counted from 1; 0: never */
	uint32_t least, most; /* congestion window that was left, and that there was or will be */
	uint64_t sent;        /* bytes sent before */
	uint64_t cost_ns;
	double share;
	bool goes_on; /* what came after the pause is not all acknowledged */
};

struct conn_track {
	struct track track;
	unsigned first_window;
	bool has_base; /* base is from an earlier sample of this or the last window */
	struct socket_record socket;
	struct tcp_record base, last;
	uint64_t base_ns; /* boot time of base */
	uint64_t last_ns;
	uint64_t first_seen_ns;
	double loss_share_before; /* it was first seen; NAN: unknown */
	/* Of this window. */
	unsigned samples;
	unsigned sendq, notsent, cwnd, wnd_full, nagle, local_queue, sndbuf_full, recvq, unacked;
	unsigned held, cork, sacked;
	struct spread send, receive;
	uint64_t rtt_min_ns;
	uint64_t sendq_min, sendq_max, recvq_min, recvq_max, snd_wnd_min, snd_wnd_max;
	double fill_min;
	uint32_t queue[QUEUE_SAMPLES];
	/* Of earlier windows. */
	uint64_t rtt_ns; /* of late, as of the last sample */
	uint64_t rtt_base_ns, rcv_rtt_base_ns, best_rate, best_receive_rate, clean_rate, gap_base_ns;
	unsigned steady;
	uint32_t cwnd_best;
	uint64_t gap_ns;                                         /* age of what was last received, in the last sample */
	double lost_before[RECENT - 1], sent_before[RECENT - 1]; /* bytes, newest first */
	struct restart restart;
	uint8_t lossy; /* a bit for each earlier window, newest lowest: something was lost, and it went on */
};

struct conn_state {
	struct map tracks; /* cookie -> struct conn_track */
};

static const struct conn_state initial = {MAP_INIT(sizeof(uint64_t), sizeof(struct conn_track), 1000000)};

static bool is_connection(const struct socket_record *s)
{
	return s->proto == 6 && s->state != SOCKET_LISTEN && s->state != SOCKET_TIME_WAIT && s->state != SOCKET_CLOSE &&
	       s->state != SOCKET_NEW_SYN_RECV && s->cookie != UINT64_MAX;
}

static uint64_t in_flight_bytes(const struct tcp_record *t)
{
	return (uint64_t)t->unacked * t->snd_mss;
}

/*
 * The kernel's SRTT moves by an eighth with each acknowledgement. A connection that has few of them
 * drags one long sample along for minutes, often the first, which waited for neighbour resolution: while it
 * falls, how far it fell and by how many segments at most give the recent RTT. Of one seen for the first time that had
 * few, nothing is known yet (0).
 */
#define RTT_SETTLES 16

static uint64_t rtt_of_late(const struct conn_track *c, const struct tcp_record *t)
{
	uint64_t acks = delta_between(c->last.segs_in, t->segs_in);
	double kept, rtt_ns;

	if (t->delivered != UINT32_MAX && c->last.delivered != UINT32_MAX)
		acks = min_of(acks, delta_between(c->last.delivered, t->delivered));
	if (c->last_ns == 0)
		return t->delivered < RTT_SETTLES ? 0 : t->srtt_ns;
	if (t->srtt_ns > c->last.srtt_ns || acks == UINT64_MAX)
		return t->srtt_ns;
	if (t->srtt_ns == c->last.srtt_ns || acks == 0)
		return c->rtt_ns;
	kept = pow(7.0 / 8, (double)acks);
	rtt_ns = ((double)t->srtt_ns - (double)c->last.srtt_ns * kept) / (1 - kept);
	return min_of(t->srtt_ns, rtt_ns < (double)t->min_rtt_ns ? t->min_rtt_ns : (uint64_t)rtt_ns);
}

static void count_sample(struct conn_track *c, const struct socket_record *s, const struct tcp_record *t)
{
	uint64_t flight = in_flight_bytes(t);
	bool open_window = flight + t->snd_mss <= t->snd_wnd;
	bool unsent = t->notsent_bytes != UINT32_MAX && t->notsent_bytes > 0;

	/* A timer that asks a closed window may run as well: the kernel uses it to send what it could not. */
	bool held = unsent && t->unacked == 0 && open_window;

	c->sendq += s->sendq_bytes > 0;
	c->notsent += unsent;
	c->held += held;
	c->cork += held && t->notsent_bytes < t->snd_mss;
	c->sacked += t->sacked != UINT32_MAX && t->sacked > 0;
	c->unacked += t->unacked > 0;
	c->recvq += s->recvq_bytes > 0;
	c->cwnd += t->unacked >= t->cwnd && unsent;
	c->wnd_full += t->unacked > 0 && flight + t->snd_mss > t->snd_wnd;
	c->nagle += unsent && t->notsent_bytes < t->snd_mss && t->unacked >= 1 && t->unacked < t->cwnd && open_window;
	c->local_queue +=
		t->unacked > 0 && s->wmem_bytes != UINT32_MAX && s->wmem_bytes > flight / 2 && s->wmem_bytes > 4096;
	c->sndbuf_full += s->sendq_bytes > 0 && t->notsent_bytes < t->snd_mss && t->unacked < t->cwnd && open_window &&
			  s->wmem_queued_bytes != UINT32_MAX && s->wmem_queued_bytes >= s->sndbuf - s->sndbuf / 4;
	/*
	 * Something has been received since the last sample: a gap has ended. One that is going on does not count yet,
	 * and before the first byte there was none.
	 */
	if (c->gap_ns != UINT64_MAX && t->last_received_ns <= c->gap_ns && c->has_base)
		c->gap_base_ns = max_of(c->gap_base_ns, c->gap_ns);
	c->gap_ns = t->last_received_ns;
	if (c->rtt_ns > 0)
		c->rtt_min_ns = min_of(c->rtt_min_ns, c->rtt_ns);
	c->sendq_min = min_of(c->sendq_min, s->sendq_bytes);
	c->sendq_max = max_of(c->sendq_max, s->sendq_bytes);
	c->recvq_min = min_of(c->recvq_min, s->recvq_bytes);
	c->recvq_max = max_of(c->recvq_max, s->recvq_bytes);
	c->snd_wnd_min = min_of(c->snd_wnd_min, t->snd_wnd);
	c->snd_wnd_max = max_of(c->snd_wnd_max, t->snd_wnd);
	if (s->rmem_bytes != UINT32_MAX && s->rcvbuf != UINT32_MAX && s->rcvbuf > 0)
		c->fill_min = fmin(c->fill_min, (double)s->rmem_bytes / s->rcvbuf);
	if (c->samples < QUEUE_SAMPLES)
		c->queue[c->samples] = s->wmem_bytes == UINT32_MAX ? 0 : s->wmem_bytes;
}

/* RTTs in which a window that doubles in each sends that many segments. */
static unsigned rounds_to_send(uint32_t window, uint64_t segments)
{
	unsigned rounds = 1;

	while (rounds < ROUNDS_MAX && max_of(window, 1U) * ((1ULL << rounds) - 1) < segments)
		rounds++;
	return rounds;
}

/* Nothing was in flight, and then a smaller window than before holds data back, without a loss. */
static bool is_restart(const struct tcp_record *before, const struct tcp_record *t)
{
	return before->unacked == 0 && t->unacked > 0 && t->notsent_bytes != UINT32_MAX && t->notsent_bytes > 0 &&
	       before->cwnd != UINT32_MAX && t->cwnd < before->cwnd && t->ca_state == 0 &&
	       t->total_retrans == before->total_retrans;
}

/*
 * How small the window was when it began to send again, some time between two samples: it has been busy since. Before
 * the first ACK it is still that small, later it follows from the length of the pause.
 */
static uint32_t window_after_pause(const struct tcp_record *before, const struct tcp_record *t, uint64_t span_ns)
{
	uint64_t busy_ns = delta_between(before->busy_ns, t->busy_ns), pause_ns = before->last_sent_ns;
	uint32_t least = before->cwnd;

	if (pause_ns == UINT64_MAX || before->rto_ns == 0)
		return least;
	if (busy_ns != UINT64_MAX)
		pause_ns += span_ns - min_of(busy_ns, span_ns);
	if (pause_ns > before->rto_ns && busy_ns < t->min_rtt_ns)
		return t->cwnd;
	for (; least > RESTART_CWND && pause_ns > before->rto_ns; pause_ns -= before->rto_ns)
		least /= 2;
	return least;
}

static bool has_restarted(const struct window *window, const struct conn_track *c)
{
	return c->restart.window && window->number + 1 - c->restart.window < RESTART_WINDOWS;
}

/*
 * After a pause the kernel halves the congestion window once for each retransmission timeout of silence, down to ten
 * segments. A window that became smaller without a loss between two samples is the proof.
 */
static void note_restart(const struct window *window, struct conn_track *c, const struct tcp_record *t,
			 uint64_t span_ns)
{
	const struct tcp_record *before = &c->last;
	uint32_t least = window_after_pause(before, t, span_ns);

	if (!is_restart(before, t) || least == before->cwnd)
		return;
	if (!has_restarted(window, c))
		c->restart = (struct restart){};
	c->restart.window = window->number + 1;
	c->restart.least = min_of(max_of(least, (uint32_t)RESTART_CWND), t->cwnd);
	c->restart.most = before->cwnd;
	c->restart.sent = before->bytes_sent;
	c->restart.goes_on = true;
}

/*
 * The cost is the number of RTTs that the data after the pause takes beyond those with the window of before, or with
 * the one that it grows to: without restarts, that would have been its window since the first such burst.
 */
static void follow_restart(struct conn_track *c, const struct tcp_record *t)
{
	struct restart *restart = &c->restart;
	uint64_t sent = delta_between(restart->sent, t->bytes_sent);
	unsigned rounds, spared;
	uint64_t segments;

	if (!restart->goes_on || t->snd_mss == 0)
		return;
	restart->goes_on = t->unacked > 0 && t->ca_state == 0;
	restart->most = max_of(restart->most, t->cwnd);
	segments = (sent == UINT64_MAX ? 0 : sent) / t->snd_mss;
	segments += (t->notsent_bytes == UINT32_MAX ? 0 : t->notsent_bytes) / t->snd_mss;
	rounds = rounds_to_send(restart->least, segments);
	spared = rounds - rounds_to_send(restart->most, segments);
	restart->cost_ns = max_of(restart->cost_ns, spared * t->srtt_ns);
	restart->share = fmax(restart->share, (double)spared / rounds);
}

static void add_rate(struct spread *spread, uint64_t before, uint64_t after, uint64_t span_ns)
{
	double rate = delta_rate(delta_between(before, after), span_ns);

	if (isnan(rate))
		return;
	spread->count++;
	spread->sum += rate;
	spread->squares += rate * rate;
}

/* Standard deviation as a share of the mean. */
static double variation(const struct spread *spread)
{
	double mean = spread->count ? spread->sum / spread->count : 0;

	if (spread->count < 3 || mean <= 0)
		return NAN;
	return sqrt(fmax(0, spread->squares / spread->count - mean * mean)) / mean;
}

/* Retransmitted and not spurious, of the data sent. */
static double lost_share(uint64_t sent, uint64_t retrans, uint64_t dsack, uint32_t mss)
{
	if (sent == UINT64_MAX || sent == 0 || retrans == UINT64_MAX || dsack == UINT64_MAX)
		return NAN;
	return fmax(0, (double)retrans - (double)dsack * mss) / (double)sent;
}

static double loss_of_life(const struct tcp_record *t)
{
	if (t->bytes_sent == UINT64_MAX || t->bytes_sent < LIFE_BYTES || t->dsack_dups == UINT32_MAX)
		return NAN;
	return lost_share(t->bytes_sent, t->bytes_retrans, t->dsack_dups, t->snd_mss);
}

static void begin_window(struct conn_track *c)
{
	c->samples = 0;
	c->sendq = c->notsent = c->cwnd = c->wnd_full = c->nagle = c->local_queue = c->sndbuf_full = 0;
	c->send = c->receive = (struct spread){};
	c->rtt_min_ns = UINT64_MAX;
	c->recvq = c->unacked = c->held = c->cork = c->sacked = 0;
	c->sendq_min = c->recvq_min = c->snd_wnd_min = UINT64_MAX;
	c->sendq_max = c->recvq_max = c->snd_wnd_max = 0;
	c->fill_min = INFINITY;
	/* The last sample of the window before is where the counters start. */
	if (c->has_base) {
		c->base = c->last;
		c->base_ns = c->last_ns;
	}
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct conn_state *state = data;
	/* On a busy host a while may pass between the begin of a snapshot and the reading of the sockets. */
	uint64_t now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;

	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct conn_track *c;
		bool is_new;

		if (!is_connection(s) || !t)
			continue;
		c = map_put(&state->tracks, &s->cookie, &is_new);
		if (!c) {
			window->lost++;
			continue;
		}
		if (is_new) {
			c->first_window = window->number;
			c->first_seen_ns = now_ns;
			c->loss_share_before = loss_of_life(t);
			c->rtt_base_ns = c->rcv_rtt_base_ns = UINT64_MAX;
		}
		if (track_see(window, &c->track))
			begin_window(c);
		if (!c->has_base) {
			c->base = *t;
			c->base_ns = now_ns;
			c->has_base = true;
		}
		if (!is_new) {
			uint64_t span_ns = now_ns - c->last_ns;

			note_restart(window, c, t, span_ns);
			follow_restart(c, t);
			add_rate(&c->send, c->last.bytes_acked, t->bytes_acked, span_ns);
			add_rate(&c->receive, c->last.bytes_received, t->bytes_received, span_ns);
		}
		c->rtt_ns = rtt_of_late(c, t);
		c->socket = *s;
		c->last = *t;
		c->last_ns = now_ns;
		count_sample(c, s, t);
		c->samples++;
	}
}

/* --- measures --- */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_queue(const struct conn_track *c)
{
	uint32_t sorted[QUEUE_SAMPLES];
	unsigned n = min_of(c->samples, (unsigned)QUEUE_SAMPLES);

	memcpy(sorted, c->queue, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return n ? sorted[n / 2] : 0;
}

static double share_of_span(uint64_t before, uint64_t after, uint64_t span_ns)
{
	uint64_t delta = delta_between(before, after);

	if (delta == UINT64_MAX || span_ns == 0)
		return NAN;
	return fmin(1, (double)delta / (double)span_ns);
}

static uint64_t known_or_zero(uint64_t value)
{
	return value == UINT64_MAX ? 0 : value;
}

static void measure_counters(const struct conn_track *c, uint64_t span_ns, struct conn_measures *m)
{
	const struct tcp_record *a = &c->base, *b = &c->last;
	uint64_t dsack = delta_between32(a->dsack_dups, b->dsack_dups);
	uint64_t data_segs = delta_between32(a->data_segs_out, b->data_segs_out);
	uint64_t delivered = delta_between32(a->delivered, b->delivered);
	uint64_t marked = delta_between32(a->delivered_ce, b->delivered_ce);

	m->sent_bytes = delta_between(a->bytes_sent, b->bytes_sent);
	m->acked_bytes = delta_between(a->bytes_acked, b->bytes_acked);
	m->received_bytes = delta_between(a->bytes_received, b->bytes_received);
	m->retrans_bytes = delta_between(a->bytes_retrans, b->bytes_retrans);
	m->rto_count = delta_between32(a->total_rto, b->total_rto);
	m->reorder_count = delta_between32(a->reord_seen, b->reord_seen);
	m->ooo_count = delta_between32(a->rcv_ooopack, b->rcv_ooopack);
	m->segs_in = delta_between32(a->segs_in, b->segs_in);
	m->segs_out = delta_between32(a->segs_out, b->segs_out);
	m->ooo_share = m->ooo_count == UINT64_MAX || m->segs_in == UINT64_MAX || m->segs_in == 0
			       ? NAN
			       : fmin(1, (double)m->ooo_count / (double)m->segs_in);
	m->reorder_share = m->reorder_count == UINT64_MAX || data_segs == UINT64_MAX || data_segs == 0
				   ? NAN
				   : fmin(1, (double)m->reorder_count / (double)data_segs);
	m->dsack_count = dsack;
	m->marked_share = delivered == UINT64_MAX || delivered == 0 || marked == UINT64_MAX
				  ? NAN
				  : fmin(1, (double)marked / (double)delivered);
	m->segment_bytes = m->sent_bytes == UINT64_MAX || data_segs == UINT64_MAX || data_segs == 0
				   ? UINT64_MAX
				   : m->sent_bytes / data_segs;
	m->data_segs_in = delta_between32(a->data_segs_in, b->data_segs_in);
	m->busy_share = share_of_span(a->busy_ns, b->busy_ns, span_ns);
	m->rwnd_share = share_of_span(a->rwnd_limited_ns, b->rwnd_limited_ns, span_ns);
	m->sndbuf_share = share_of_span(a->sndbuf_limited_ns, b->sndbuf_limited_ns, span_ns);
	m->retrans_share = m->spurious_share = NAN;
	if (m->sent_bytes != UINT64_MAX && m->sent_bytes > 0 && m->retrans_bytes != UINT64_MAX)
		m->retrans_share = (double)m->retrans_bytes / (double)m->sent_bytes;
	if (m->retrans_bytes != UINT64_MAX && m->retrans_bytes > 0 && dsack != UINT64_MAX)
		m->spurious_share = fmin(1, (double)dsack * b->snd_mss / (double)m->retrans_bytes);
	m->loss_share = lost_share(m->sent_bytes, m->retrans_bytes, dsack, b->snd_mss);
	m->send_rate = span_ns && m->acked_bytes != UINT64_MAX
			       ? (uint64_t)((double)m->acked_bytes * 1e9 / (double)span_ns)
			       : UINT64_MAX;
	m->receive_rate = span_ns && m->received_bytes != UINT64_MAX
				  ? (uint64_t)((double)m->received_bytes * 1e9 / (double)span_ns)
				  : UINT64_MAX;
}

static void measure_samples(const struct conn_track *c, struct conn_measures *m)
{
	double n = c->samples;

	m->sendq_share = c->sendq / n;
	m->notsent_share = c->notsent / n;
	m->cwnd_share = c->cwnd / n;
	m->wnd_full_share = c->wnd_full / n;
	m->nagle_share = c->nagle / n;
	m->local_queue_share = c->local_queue / n;
	m->sndbuf_full_share = c->sndbuf_full / n;
	m->recvq_share = c->recvq / n;
	m->unacked_share = c->unacked / n;
	m->held_share = c->held / n;
	m->cork_share = c->cork / n;
	m->sack_share = c->sacked / n;
	m->sacked_part = c->last.unacked > 0 && c->last.sacked != UINT32_MAX
				 ? fmin(1, (double)c->last.sacked / c->last.unacked)
				 : NAN;
	m->send_variation = variation(&c->send);
	m->receive_variation = variation(&c->receive);
	m->sendq_min_bytes = c->sendq_min;
	m->sendq_max_bytes = c->sendq_max;
	m->recvq_min_bytes = c->recvq_min;
	m->recvq_max_bytes = c->recvq_max;
	m->snd_wnd_min = c->snd_wnd_min;
	m->snd_wnd_max = c->snd_wnd_max;
	m->recvq_fill_min = isinf(c->fill_min) ? NAN : c->fill_min;
	m->local_queue_bytes = median_queue(c);
}

/*
 * A peer acknowledges every second full segment at once. The acknowledgement of less, or of one segment for each that
 * it sends itself, waits for something to ride on: the reply, the next request, in the end a timer (40 ms, up to 250
 * with other systems). That is measured as RTT, and shows what the remote program does. A change beyond one tick of the
 * shorter timer is the path's.
 */
#define ACK_TIMER_NS      250000000
#define ACK_TIMER_STEP_NS 60000000

static bool acks_may_wait(const struct conn_measures *m)
{
	bool alone = m->segment_bytes != UINT64_MAX && m->segment_bytes > 0 && m->data_segs_in != UINT64_MAX &&
		     m->sent_bytes / m->segment_bytes <= m->data_segs_in;
	bool full = m->segment_bytes != UINT64_MAX && m->segment_bytes * 2 > m->mss && !alone;
	bool grew = m->rtt_base_ns != UINT64_MAX && m->rtt_ns > m->rtt_base_ns + ACK_TIMER_STEP_NS;

	return m->rtt_excess_ns < ACK_TIMER_NS && !full && !grew;
}

static void measure_path(const struct conn_track *c, struct conn_measures *m)
{
	const struct tcp_record *t = &c->last;

	m->srtt_ns = t->srtt_ns ? t->srtt_ns : UINT64_MAX;
	m->rtt_ns = c->rtt_ns ? c->rtt_ns : UINT64_MAX;
	/* The kernel's "none yet" is all bits set, in microseconds. */
	m->min_rtt_ns = t->min_rtt_ns >= (uint64_t)UINT32_MAX * 1000 ? UINT64_MAX : t->min_rtt_ns;
	m->rtt_excess_ns = UINT64_MAX;
	m->rtt_ratio = m->rtt_floor_ratio = NAN;
	if (m->rtt_ns != UINT64_MAX && m->min_rtt_ns != UINT64_MAX && m->min_rtt_ns > 0) {
		m->rtt_excess_ns = m->rtt_ns > m->min_rtt_ns ? m->rtt_ns - m->min_rtt_ns : 0;
		m->rtt_ratio = (double)m->rtt_ns / (double)m->min_rtt_ns;
		m->rtt_floor_ratio = (double)min_of(c->rtt_min_ns, m->rtt_ns) / (double)m->min_rtt_ns;
	}
	m->rtt_base_ns = c->rtt_base_ns;
	m->cwnd = t->cwnd;
	m->cwnd_best = c->cwnd_best;
	m->ssthresh = t->ssthresh;
	m->mss = t->snd_mss;
	m->pmtu = t->pmtu;
	m->acks_may_wait = acks_may_wait(m);
}

static uint64_t segment_memory(uint32_t mss)
{
	uint64_t room = 1;

	while (room < (uint64_t)mss + SEGMENT_HEADERS)
		room *= 2;
	return room + SEGMENT_HANDLE;
}

/*
 * The kernel sizes the send buffer by the congestion window, for two of it (three with BBR), and never shrinks it: so
 * it tells how large the window was at its best, whenever that was.
 */
static uint64_t flight_peak(const struct conn_track *c)
{
	uint64_t windows = strcmp(c->last.cc, "bbr") == 0 ? 3 : 2;

	if (c->socket.sndbuf == UINT32_MAX || c->socket.sndbuf <= SNDBUF_FIXED || c->last.snd_mss == 0)
		return UINT64_MAX;
	return c->socket.sndbuf / windows / segment_memory(c->last.snd_mss) * c->last.snd_mss;
}

static double share_of(uint64_t part, uint64_t whole)
{
	return part == UINT64_MAX || whole == UINT64_MAX || whole == 0 ? NAN : (double)part / (double)whole;
}

static void measure_peaks(const struct conn_track *c, struct conn_measures *m)
{
	const struct tcp_record *t = &c->last;

	m->flight_bytes = (uint64_t)t->cwnd * t->snd_mss;
	m->flight_peak_bytes = flight_peak(c);
	m->flight_share = share_of(m->flight_bytes, m->flight_peak_bytes);
	m->per_rtt_bytes = m->receive_rate == UINT64_MAX || m->rcv_rtt_ns == UINT64_MAX
				   ? UINT64_MAX
				   : (uint64_t)((double)m->receive_rate * (double)m->rcv_rtt_ns / 1e9);
	m->per_rtt_peak_bytes =
		t->rcv_space == UINT32_MAX || t->rcv_space < RCV_SPACE_LEAST ? UINT64_MAX : t->rcv_space;
	m->per_rtt_share = share_of(m->per_rtt_bytes, m->per_rtt_peak_bytes);
}

/* The connection against its own baseline, and as a receiver. */
static void measure_past(const struct window *window, const struct conn_track *c, struct conn_measures *m)
{
	uint64_t rate = max_of(known_or_zero(m->send_rate), known_or_zero(m->receive_rate));
	const struct tcp_record *t = &c->last;

	if (has_restarted(window, c)) {
		m->restart_cost_ns = c->restart.cost_ns;
		m->restart_share = c->restart.share;
	}
	m->lossy_windows = (uint64_t)__builtin_popcount(c->lossy);
	/* The SYN counts as one. */
	m->acked_ever_bytes = t->bytes_acked == UINT64_MAX || t->bytes_acked == 0 ? t->bytes_acked : t->bytes_acked - 1;
	m->received_ever_bytes = t->bytes_received;
	m->past_rate =
		m->acked_ever_bytes == UINT64_MAX || m->acked_ever_bytes < PAST_BYTES ? UINT64_MAX : t->delivery_rate;
	m->slowdown = c->best_rate > 0 ? (double)rate / (double)c->best_rate : NAN;
	m->clean_slowdown = c->clean_rate > 0 ? (double)rate / (double)c->clean_rate : NAN;
	m->unscaled = c->socket.state == SOCKET_ESTABLISHED && t->options != UINT8_MAX && !(t->options & OPTION_WSCALE);
	m->rcv_wnd = t->rcv_wnd == UINT32_MAX ? UINT64_MAX : t->rcv_wnd;
	/* The kernel's own figure is what it would advertise if the header had room for it. */
	m->shift_zero =
		c->socket.state == SOCKET_ESTABLISHED && t->options != UINT8_MAX && !m->unscaled && t->rcv_wscale == 0;
	if ((m->unscaled || m->shift_zero) && m->rcv_wnd != UINT64_MAX)
		m->rcv_wnd = min_of(m->rcv_wnd, (uint64_t)UINT16_MAX);
	m->rcv_rtt_ns = t->rcv_rtt_ns ? t->rcv_rtt_ns : UINT64_MAX;
	/*
	 * The receiver's RTT estimate includes the time in which its peer had nothing to send. So it is
	 * compared with itself; with the handshake, which measured the path while it was empty, only as long as there
	 * is nothing else.
	 */
	m->rcv_rtt_base_ns = c->rcv_rtt_base_ns == UINT64_MAX ? m->min_rtt_ns : c->rcv_rtt_base_ns;
	m->rcv_wnd_use = m->rcv_rtt_ratio = m->rcv_rtt_base_ratio = NAN;
	/* A handshake longer than the RTTs after it waited for something else, and measured nothing. */
	if (m->rcv_rtt_base_ns != UINT64_MAX && m->min_rtt_ns != UINT64_MAX && m->min_rtt_ns > 0 &&
	    m->min_rtt_ns / 2 <= m->rcv_rtt_base_ns)
		m->rcv_rtt_base_ratio = (double)m->rcv_rtt_base_ns / (double)m->min_rtt_ns;
	if (m->rcv_rtt_ns != UINT64_MAX && m->rcv_rtt_base_ns != UINT64_MAX && m->rcv_rtt_base_ns > 0)
		m->rcv_rtt_ratio = (double)m->rcv_rtt_ns / (double)m->rcv_rtt_base_ns;
	if (m->rcv_wnd != UINT64_MAX && m->rcv_wnd > 0 && m->rcv_rtt_ns != UINT64_MAX)
		m->rcv_wnd_use =
			(double)known_or_zero(m->receive_rate) * (double)m->rcv_rtt_ns / 1e9 / (double)m->rcv_wnd;
}

static void measure_stall(const struct conn_track *c, struct conn_measures *m)
{
	const struct tcp_record *t = &c->last;
	bool established = c->socket.state != SOCKET_SYN_SENT && c->socket.state != SOCKET_SYN_RECV;

	m->syn_wait_ns = established ? UINT64_MAX : c->last_ns - c->first_seen_ns;
	m->syn_retrans = established ? UINT32_MAX : socket_timeouts(&c->socket);
	m->stuck = established && c->sendq == c->samples && m->acked_bytes == 0;
	m->silent_ns = established ? t->last_ack_ns : UINT64_MAX;
	m->backoff = t->backoff;
	m->receive_gap_ns = established ? t->last_received_ns : UINT64_MAX;
	m->receive_gap_base_ns = c->gap_base_ns;
}

/* Exactly one limits it at a time, as the kernel times it; within "busy" a local queue is separated from the path. */
static void measure_limits(struct conn_measures *m)
{
	double busy = isnan(m->busy_share) ? 0 : m->busy_share;
	double rest;

	m->limits.receiver_window = isnan(m->rwnd_share) ? 0 : fmin(busy, m->rwnd_share);
	m->limits.send_buffer = isnan(m->sndbuf_share) ? 0 : fmin(busy - m->limits.receiver_window, m->sndbuf_share);
	rest = fmax(0, busy - m->limits.receiver_window - m->limits.send_buffer);
	m->limits.local_queue = rest * m->local_queue_share;
	m->limits.congestion_window = (rest - m->limits.local_queue) * m->cwnd_share;
	m->limits.nobody = rest - m->limits.local_queue - m->limits.congestion_window;
	m->limits.application = 1 - busy;
}

bool conn_is_moving(const struct conn_measures *m)
{
	return known_or_zero(m->acked_bytes) > 0 || known_or_zero(m->received_bytes) > 0;
}

static enum activity activity_of(const struct conn_measures *m)
{
	bool moved = conn_is_moving(m);
	bool wants = m->sendq_share > 0.5 || m->syn_wait_ns != UINT64_MAX || m->recvq_share > 0.5;

	if (m->stuck || m->syn_wait_ns != UINT64_MAX || (wants && !moved))
		return ACTIVITY_WAITING;
	if (wants && (m->sendq_share > 0.9 || m->recvq_share > 0.9))
		return ACTIVITY_WAITING;
	return moved ? ACTIVITY_ACTIVE : ACTIVITY_IDLE;
}

/* Something was lost, in either direction, and not because a queue was full: behind one the rate is steady. */
static bool was_lossy(const struct conn_measures *m)
{
	bool sending = m->loss_share >= 0.005 && m->backoff == 0 && !m->stuck && m->rtt_ratio < 1.25;
	bool receiving = m->ooo_share >= 0.01 && m->ooo_count >= 3 && m->receive_variation > 0.08;

	return m->slowdown < 0.7 && (sending || receiving);
}

static void add_up_losses(struct conn_track *c, struct conn_measures *m)
{
	double sent = (double)known_or_zero(m->sent_bytes), lost = isnan(m->loss_share) ? 0 : m->loss_share * sent;
	double all_sent = sent, all_lost = lost;

	for (unsigned i = 0; i < RECENT - 1; i++) {
		all_sent += c->sent_before[i];
		all_lost += c->lost_before[i];
	}
	m->loss_share_recent = all_sent > 0 ? all_lost / all_sent : NAN;
	m->loss_growth =
		isnan(c->loss_share_before) ? NAN : m->loss_share_recent / fmax(c->loss_share_before, LOSS_LEAST);
	memmove(&c->sent_before[1], &c->sent_before[0], sizeof(c->sent_before) - sizeof(c->sent_before[0]));
	memmove(&c->lost_before[1], &c->lost_before[0], sizeof(c->lost_before) - sizeof(c->lost_before[0]));
	c->sent_before[0] = sent;
	c->lost_before[0] = lost;
}

/* The baseline of later windows. */
static void remember(struct conn_track *c, const struct conn_measures *m)
{
	uint64_t rate = max_of(known_or_zero(m->send_rate), known_or_zero(m->receive_rate));

	if (m->rtt_ns != UINT64_MAX && known_or_zero(m->segs_in) > 0)
		c->rtt_base_ns = min_of(c->rtt_base_ns, m->rtt_ns);
	c->best_rate = max_of(c->best_rate, rate);
	if (m->retrans_bytes == 0 && m->ooo_count == 0)
		c->clean_rate = max_of(c->clean_rate, rate);
	c->best_receive_rate = max_of(c->best_receive_rate, known_or_zero(m->receive_rate));
	c->cwnd_best = max_of(c->cwnd_best, m->cwnd);
	c->steady += known_or_zero(m->received_bytes) > 0;
	/* A stalled connection loses nothing new: earlier losses stay remembered. */
	if (conn_is_moving(m))
		c->lossy = (uint8_t)(c->lossy << 1 | was_lossy(m));
	if (m->rcv_rtt_ns != UINT64_MAX)
		c->rcv_rtt_base_ns = min_of(c->rcv_rtt_base_ns, m->rcv_rtt_ns);
}

static void add_module(const struct conn_track *c, const struct conn_measures *m, struct graph *graph)
{
	_cleanup_buf_ struct buf id = BUF_INIT(256), peer_id = BUF_INIT(256), path_id = BUF_INIT(256);
	struct endpoint local = {m->laddr, m->lport}, remote = {m->raddr, m->rport};
	struct module *conn, *peer, *path;
	char address[ADDR_TEXT_MAX];

	buf_add_text(&id, "conn:");
	addr_format_endpoint(&local, &id);
	buf_add_char(&id, '-');
	addr_format_endpoint(&remote, &id);
	addr_format(&m->raddr, address);
	buf_add_text(&peer_id, "peer:");
	addr_format_endpoint(&remote, &peer_id);
	buf_add_format(&path_id, "path:%s", address);
	conn = graph_module(graph, MODULE_CONN, buf_text(&id), buf_text(&id) + 5);
	peer = graph_module(graph, MODULE_PEER, buf_text(&peer_id), buf_text(&peer_id) + 5);
	path = graph_module(graph, MODULE_PATH, buf_text(&path_id), address);
	conn->measures.conn = m;
	conn->activity = activity_of(m);
	conn->inode = c->socket.inode;
	conn->related[MODULE_PATH] = path;
	conn->related[MODULE_PEER] = peer;
	graph_add_edge(conn, path);
	graph_add_edge(path, peer);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct conn_state *state = data;

	track_each(window, &state->tracks, struct conn_track, c)
	{
		struct conn_measures *m = graph_alloc(graph, sizeof(*m));

		m->cookie = c->socket.cookie;
		m->laddr = c->socket.laddr;
		m->raddr = c->socket.raddr;
		m->lport = c->socket.lport;
		m->rport = c->socket.rport;
		m->state = c->socket.state;
		m->timer = c->socket.timer;
		memcpy(m->cc, c->last.cc, sizeof(m->cc));
		m->samples = c->samples;
		m->sndbuf = c->socket.sndbuf;
		m->rcvbuf = c->socket.rcvbuf;
		m->best_rate = c->best_rate;
		m->best_receive_rate = c->best_receive_rate;
		m->steady_windows = c->steady;
		m->age_windows = window->number - c->first_window;
		measure_counters(c, c->last_ns - c->base_ns, m);
		measure_samples(c, m);
		measure_path(c, m);
		measure_past(window, c, m);
		measure_peaks(c, m);
		measure_stall(c, m);
		add_up_losses(c, m);
		measure_limits(m);
		remember(c, m);
		add_module(c, m, graph);
	}
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct conn_state *)data)->tracks);
}

const struct limit_record *conn_limits(const struct module *module)
{
	const struct conn_measures *m = module->measures.conn;

	/* Before it is established there is nothing to send on it. */
	return m && m->state != SOCKET_SYN_SENT && m->state != SOCKET_SYN_RECV ? &m->limits : NULL;
}

static const struct measurer conn_measurer = {
	.name = "conn",
	.stage = MEASURE_CONN,
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type),
	.state_size = sizeof(struct conn_state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(conn_measurer);
