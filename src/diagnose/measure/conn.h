/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a TCP connection in one window. */
#pragma once

#include "diagnose/graph/module.h"

/* What limited a connection, as shares of the window; they add up to one. */
struct limit_record {
	double application;
	double send_buffer;
	double receiver_window;
	double congestion_window;
	double local_queue;
	double nobody;
};

struct conn_measures {
	uint64_t cookie; /* of its socket; not a field */
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint8_t state;
	uint8_t timer;
	char cc[16];
	uint64_t samples;
	/* What moved in the window. */
	uint64_t sent_bytes, acked_bytes, received_bytes;
	uint64_t retrans_bytes;
	double loss_share, loss_share_recent, loss_growth, retrans_share, spurious_share;
	uint64_t lossy_windows;
	uint64_t rto_count;
	uint64_t reorder_count;
	uint64_t ooo_count;
	double ooo_share, reorder_share;
	uint64_t segs_in, segs_out;
	uint64_t dsack_count;
	double marked_share;
	uint64_t segment_bytes;
	uint64_t restart_cost_ns;
	double restart_share;
	uint64_t data_segs_in;
	/* Shares of the window that the kernel timed. */
	double busy_share, rwnd_share, sndbuf_share;
	/* Shares of the samples in which something held. */
	double sendq_share, notsent_share, cwnd_share, wnd_full_share, nagle_share, local_queue_share,
		sndbuf_full_share;
	double recvq_share;
	double unacked_share;
	double held_share, cork_share, sack_share;
	double sacked_part;
	/* Queues. */
	uint64_t sendq_min_bytes, sendq_max_bytes;
	uint64_t recvq_min_bytes, recvq_max_bytes;
	double recvq_fill_min;
	uint64_t snd_wnd_min, snd_wnd_max;
	uint64_t local_queue_bytes;
	uint64_t sndbuf, rcvbuf;
	/* Standing still. */
	bool stuck;
	uint64_t silent_ns;
	uint32_t backoff;
	uint64_t syn_wait_ns;
	uint32_t syn_retrans;
	uint64_t receive_gap_ns, receive_gap_base_ns;
	/* The path as it looks from here. */
	uint64_t srtt_ns, rtt_ns, min_rtt_ns, rtt_excess_ns, rtt_base_ns;
	double rtt_ratio, rtt_floor_ratio;
	bool acks_may_wait;
	uint32_t cwnd, cwnd_best, ssthresh, mss, pmtu;
	uint64_t send_rate, receive_rate;
	double send_variation, receive_variation;
	uint64_t best_rate, best_receive_rate;
	/* From before the first window, as the kernel remembers it. */
	uint64_t acked_ever_bytes, received_ever_bytes, past_rate;
	uint64_t steady_windows;
	double slowdown, clean_slowdown;
	uint64_t rcv_wnd, rcv_rtt_ns, rcv_rtt_base_ns;
	double rcv_wnd_use, rcv_rtt_ratio, rcv_rtt_base_ratio;
	bool unscaled, shift_zero;
	uint64_t flight_bytes, flight_peak_bytes, per_rtt_bytes, per_rtt_peak_bytes;
	double flight_share, per_rtt_share;
	uint64_t age_windows;
	struct limit_record limits;
};

extern const struct record_type conn_measures_type, limit_type;

/* Something was acknowledged or received. */
bool conn_is_moving(const struct conn_measures *m);
/* NULL unless the module is an established connection. */
const struct limit_record *conn_limits(const struct module *module);
