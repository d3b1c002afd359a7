/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads very many connections from the kernel's hash table by a BPF program. sock_diag takes 1 us per socket: locks,
 * messages and serialized cache misses. The program only copies, so that cache misses overlap; sock_decode.c computes
 * the rest in user space.
 *
 * Offsets come from the running kernel's BTF, and sock_fast.c verifies results against sock_diag before it uses them.
 */
#pragma once

#include "kernel/program.h"

/* F(name, struct, member, size) of the connection; all structs start at the same address. */
#define WALK_SOCKET_FIELDS(F)                                                                                          \
	F(DADDR, "sock_common", "skc_daddr", 4)                                                                        \
	F(SADDR, "sock_common", "skc_rcv_saddr", 4)                                                                    \
	F(HASH, "sock_common", "skc_hash", 4)                                                                          \
	F(DPORT, "sock_common", "skc_dport", 2)                                                                        \
	F(NUM, "sock_common", "skc_num", 2)                                                                            \
	F(FAMILY, "sock_common", "skc_family", 2)                                                                      \
	F(STATE, "sock_common", "skc_state", 1)                                                                        \
	F(DEVICE, "sock_common", "skc_bound_dev_if", 4)                                                                \
	F(NET, "sock_common", "skc_net", 8)                                                                            \
	F(DADDR6, "sock_common", "skc_v6_daddr", 16)                                                                   \
	F(SADDR6, "sock_common", "skc_v6_rcv_saddr", 16)                                                               \
	F(COOKIE, "sock_common", "skc_cookie", 8)                                                                      \
	F(NEXT, "sock_common", "skc_nulls_node", 8)                                                                    \
	F(REFERENCES, "sock_common", "skc_refcnt", 4)                                                                  \
	F(DROPS, "sock", "sk_drops", 4)                                                                                \
	F(RMEM, "sock", "sk_backlog.rmem_alloc", 4)                                                                    \
	F(BACKLOG, "sock", "sk_backlog.len", 4)                                                                        \
	F(RCVBUF, "sock", "sk_rcvbuf", 4)                                                                              \
	F(SNDBUF, "sock", "sk_sndbuf", 4)                                                                              \
	F(SOCKET, "sock", "sk_socket", 8)                                                                              \
	F(FORWARD, "sock", "sk_forward_alloc", 4)                                                                      \
	F(OMEM, "sock", "sk_omem_alloc", 4)                                                                            \
	F(WMEM_QUEUED, "sock", "sk_wmem_queued", 4)                                                                    \
	F(WMEM, "sock", "sk_wmem_alloc", 4)                                                                            \
	F(KEEPALIVE_PENDING, "sock", "sk_timer.entry.pprev", 8)                                                        \
	F(KEEPALIVE_EXPIRES, "sock", "sk_timer.expires", 8)                                                            \
	F(MARK, "sock", "sk_mark", 4)                                                                                  \
	F(UID, "sock", "sk_uid", 4)                                                                                    \
	F(SHUTDOWN, "sock", "sk_shutdown", 1)                                                                          \
	F(CGROUP, "sock", "sk_cgrp_data.cgroup", 8)                                                                    \
	F(SPORT, "inet_sock", "inet_sport", 2)                                                                         \
	F(RETRANSMITS, "inet_connection_sock", "icsk_retransmits", 1)                                                  \
	F(PENDING, "inet_connection_sock", "icsk_pending", 1)                                                          \
	F(PROBES_OUT, "inet_connection_sock", "icsk_probes_out", 1)                                                    \
	F(RCV_NXT, "tcp_sock", "rcv_nxt", 4)                                                                           \
	F(COPIED_SEQ, "tcp_sock", "copied_seq", 4)                                                                     \
	F(WRITE_SEQ, "tcp_sock", "write_seq", 4)                                                                       \
	F(SND_UNA, "tcp_sock", "snd_una", 4)

/* Not all kernels have all of these. */
#define WALK_OPTIONAL_FIELDS(F)                                                                                        \
	F(INODE, "sock", "sk_ino", 8)                                                                                  \
	F(TIMEOUT, "inet_connection_sock", "icsk_timeout", 8)                                                          \
	F(TIMER_EXPIRES, "inet_connection_sock", "icsk_retransmit_timer.expires", 8)

/* Needed for table "tcp" only. */
#define WALK_TCP_FIELDS(F)                                                                                             \
	F(PACING_RATE, "sock", "sk_pacing_rate", 8)                                                                    \
	F(MAX_PACING_RATE, "sock", "sk_max_pacing_rate", 8)                                                            \
	F(RTO, "inet_connection_sock", "icsk_rto", 4)                                                                  \
	F(PMTU, "inet_connection_sock", "icsk_pmtu_cookie", 4)                                                         \
	F(CA_OPS, "inet_connection_sock", "icsk_ca_ops", 8)                                                            \
	F(CA_STATE, "inet_connection_sock", "icsk_ca_state", 1)                                                        \
	F(BACKOFF, "inet_connection_sock", "icsk_backoff", 1)                                                          \
	F(ATO, "inet_connection_sock", "icsk_ack.ato", 4)                                                              \
	F(LRCVTIME, "inet_connection_sock", "icsk_ack.lrcvtime", 4)                                                    \
	F(RCV_MSS, "inet_connection_sock", "icsk_ack.rcv_mss", 2)                                                      \
	F(RCV_SSTHRESH, "tcp_sock", "rcv_ssthresh", 4)                                                                 \
	F(REORDERING, "tcp_sock", "reordering", 4)                                                                     \
	F(SND_WND, "tcp_sock", "snd_wnd", 4)                                                                           \
	F(MSS_CACHE, "tcp_sock", "mss_cache", 4)                                                                       \
	F(SND_CWND, "tcp_sock", "snd_cwnd", 4)                                                                         \
	F(LOST_OUT, "tcp_sock", "lost_out", 4)                                                                         \
	F(SACKED_OUT, "tcp_sock", "sacked_out", 4)                                                                     \
	F(RETRANS_OUT, "tcp_sock", "retrans_out", 4)                                                                   \
	F(PACKETS_OUT, "tcp_sock", "packets_out", 4)                                                                   \
	F(ADVMSS, "tcp_sock", "advmss", 2)                                                                             \
	F(SND_SSTHRESH, "tcp_sock", "snd_ssthresh", 4)                                                                 \
	F(RTT_MIN, "tcp_sock", "rtt_min.s.v", 4)                                                                       \
	F(SEGS_OUT, "tcp_sock", "segs_out", 4)                                                                         \
	F(DATA_SEGS_OUT, "tcp_sock", "data_segs_out", 4)                                                               \
	F(BYTES_SENT, "tcp_sock", "bytes_sent", 8)                                                                     \
	F(CHRONO_TYPE, "tcp_sock", "chrono_type", 1)                                                                   \
	F(CHRONO_START, "tcp_sock", "chrono_start", 4)                                                                 \
	F(CHRONO_STAT, "tcp_sock", "chrono_stat", 12)                                                                  \
	F(LSNDTIME, "tcp_sock", "lsndtime", 4)                                                                         \
	F(MDEV, "tcp_sock", "mdev_us", 4)                                                                              \
	F(SRTT, "tcp_sock", "srtt_us", 4)                                                                              \
	F(ECN_FLAGS, "tcp_sock", "ecn_flags", 1)                                                                       \
	F(RATE_APP_LIMITED, "tcp_sock", "rate_app_limited", 1)                                                         \
	F(SND_NXT, "tcp_sock", "snd_nxt", 4)                                                                           \
	F(DELIVERED, "tcp_sock", "delivered", 4)                                                                       \
	F(DELIVERED_CE, "tcp_sock", "delivered_ce", 4)                                                                 \
	F(RCV_WND, "tcp_sock", "rcv_wnd", 4)                                                                           \
	F(RCV_WUP, "tcp_sock", "rcv_wup", 4)                                                                           \
	F(RCV_TSTAMP, "tcp_sock", "rcv_tstamp", 4)                                                                     \
	F(TSTAMP_OK, "tcp_sock", "rx_opt.tstamp_ok", 2)                                                                \
	F(WSCALE_OK, "tcp_sock", "rx_opt.wscale_ok", 2)                                                                \
	F(SACK_OK, "tcp_sock", "rx_opt.sack_ok", 2)                                                                    \
	F(SND_WSCALE, "tcp_sock", "rx_opt.snd_wscale", 2)                                                              \
	F(RCV_WSCALE, "tcp_sock", "rx_opt.rcv_wscale", 2)                                                              \
	F(SYN_DATA_ACKED, "tcp_sock", "syn_data_acked", 1)                                                             \
	F(BYTES_RECEIVED, "tcp_sock", "bytes_received", 8)                                                             \
	F(SEGS_IN, "tcp_sock", "segs_in", 4)                                                                           \
	F(DATA_SEGS_IN, "tcp_sock", "data_segs_in", 4)                                                                 \
	F(RATE_DELIVERED, "tcp_sock", "rate_delivered", 4)                                                             \
	F(RATE_INTERVAL, "tcp_sock", "rate_interval_us", 4)                                                            \
	F(BYTES_ACKED, "tcp_sock", "bytes_acked", 8)                                                                   \
	F(RCV_RTT, "tcp_sock", "rcv_rtt_est.rtt_us", 4)                                                                \
	F(RCV_SPACE, "tcp_sock", "rcvq_space.space", 4)                                                                \
	F(DSACK_DUPS, "tcp_sock", "dsack_dups", 4)                                                                     \
	F(REORD_SEEN, "tcp_sock", "reord_seen", 4)                                                                     \
	F(BYTES_RETRANS, "tcp_sock", "bytes_retrans", 8)                                                               \
	F(TOTAL_RETRANS, "tcp_sock", "total_retrans", 4)                                                               \
	F(RCV_OOOPACK, "tcp_sock", "rcv_ooopack", 4)

#define WALK_TCP_OPTIONAL_FIELDS(F)                                                                                    \
	F(USEC_TS, "tcp_sock", "tcp_usec_ts", 1)                                                                       \
	F(FASTOPEN_CHILD, "tcp_sock", "syn_fastopen_child", 1)                                                         \
	F(TOTAL_RTO, "tcp_sock", "total_rto", 2)                                                                       \
	F(TOTAL_RTO_RECOVERIES, "tcp_sock", "total_rto_recoveries", 2)                                                 \
	F(TOTAL_RTO_TIME, "tcp_sock", "total_rto_time", 4)                                                             \
	F(RTO_STAMP, "tcp_sock", "rto_stamp", 4)                                                                       \
	F(TIMEOUT_REHASH, "tcp_sock", "timeout_rehash", 2)                                                             \
	F(MSTAMP, "tcp_sock", "tcp_mstamp", 8)                                                                         \
	F(DELIVERED_MSTAMP, "tcp_sock", "delivered_mstamp", 8)                                                         \
	F(PLB_REHASH, "tcp_sock", "plb_rehash", 4)                                                                     \
	F(CA_PRIVATE, "inet_connection_sock", "icsk_ca_priv", WALK_CA_BYTES)

/* Bytes read of a congestion control's private data. */
#define WALK_CA_BYTES 88

/* Outside the connection: path to the hash table, cgroup ID, and BBR's private data. */
#define WALK_PLACES(F)                                                                                                 \
	F(TASK_SPACES, "task_struct", "nsproxy", false)                                                                \
	F(SPACES_NET, "nsproxy", "net_ns", false)                                                                      \
	F(NET_TABLES, "net", "ipv4.tcp_death_row.hashinfo", false)                                                     \
	F(TABLES_BUCKETS, "inet_hashinfo", "ehash", false)                                                             \
	F(TABLES_MASK, "inet_hashinfo", "ehash_mask", false)                                                           \
	F(SOCKET_INODE, "socket_alloc", "vfs_inode", false)                                                            \
	F(INODE_NUMBER, "inode", "i_ino", false)                                                                       \
	F(CGROUP_NODE, "cgroup", "kn", false)                                                                          \
	F(NODE_NUMBER, "kernfs_node", "id", false)                                                                     \
	F(CA_NAME, "tcp_congestion_ops", "name", false)                                                                \
	F(BBR_MIN_RTT, "bbr", "min_rtt_us", true)                                                                      \
	F(BBR_BW, "bbr", "bw.s.v", true)                                                                               \
	F(BBR_USE_LONG, "bbr", "lt_use_bw", true)                                                                      \
	F(BBR_LONG_BW, "bbr", "lt_bw", true)                                                                           \
	F(BBR_PACING_GAIN, "bbr", "pacing_gain", true)                                                                 \
	F(BBR_CWND_GAIN, "bbr", "cwnd_gain", true)

enum walk_field {
#define F(name, type, member, size) WALK_##name,
	WALK_SOCKET_FIELDS(F) WALK_OPTIONAL_FIELDS(F) WALK_TCP_FIELDS(F) WALK_TCP_OPTIONAL_FIELDS(F)
#undef F
		WALK_FIELD_COUNT,
};

enum walk_place {
#define F(name, type, member, optional) WALK_##name,
	WALK_PLACES(F)
#undef F
		WALK_PLACE_COUNT,
};

/* A bit field is extracted from its bytes. */
struct walk_position {
	uint16_t at; /* offset in a record, or WALK_NONE */
	uint8_t shift;
	uint8_t width; /* 0: not a bit field */
};
#define WALK_NONE UINT16_MAX

/*
 * Which connections are copied: most of very many are idle, and a look at a few of their words shows it. Of each class
 * those are copied whose hash has none of the bits of its mask, so that the same ones are followed from walk to walk.
 */
/* TCP_CA_Recovery; TCP_CA_Loss is more. */
#define WALK_CA_RECOVERY 3

enum walk_class {
	WALK_WAITS, /* data unacknowledged or unread for some time, a timeout, a recovery from loss */
	WALK_MOVES, /* no such thing; sent or received data lately */
	WALK_CLASSES,
};

struct walk_sieve {
	uint64_t on; /* 0: all are copied */
	uint64_t wait_ticks, move_ticks;
	uint64_t masks[WALK_CLASSES];
	uint64_t classes[WALK_CLASSES]; /* out: how many there are of each, added up from run to run */
};

/* Of its 32 bits, those above. */
#define WALK_HASH_SHIFT 20
#define WALK_MASK_MAX   0xfff

/* Memory shared by program and caller. */
struct walk_area {
	uint64_t peek; /* in: address to read instead of a walk */
	uint64_t peeked[2];
	uint64_t first; /* in: first bucket and number of buckets */
	uint64_t buckets;
	uint64_t jiffies;
	uint64_t task, spaces, net, tables, table, mask;
	uint64_t at;   /* buckets started */
	uint64_t node; /* current node, or end of chain */
	uint64_t count;
	uint64_t full;    /* output full; the last bucket may be incomplete */
	uint64_t strayed; /* a chain led to another bucket: a socket was freed meanwhile */
	uint64_t others;  /* states (bits) of entries of this namespace that are not full sockets */
	struct walk_sieve sieve;
#define WALK_BUCKETS 4096
	uint64_t heads[WALK_BUCKETS];
	uint8_t records[];
};

/* Each record starts with its bucket number, 8 bytes. */
#define WALK_RECORDS 1024
#define WALK_LANES   2 /* parallel walks */

struct sock_walk {
	struct walk_position fields[WALK_FIELD_COUNT];
	struct walk_position places[WALK_PLACE_COUNT]; /* `at` is an offset in the kernel's struct */
	size_t record_size;
	bool with_tcp;
	struct program lanes[WALK_LANES]; /* with a struct walk_area each */
};

static inline struct walk_area *sock_walk_area(const struct sock_walk *walk, unsigned lane)
{
	return walk->lanes[lane].area;
}

/* A negative errno: not supported or not permitted by this kernel. */
int sock_walk_open(struct sock_walk **ret_walk, bool with_tcp, struct why *why) _must_check_;
void sock_walk_close(struct sock_walk *walk);
/*
 * Walks buckets first .. first + count (at most WALK_BUCKETS) of the hash table of the thread's namespace; sieve NULL:
 * all connections.
 */
int sock_walk_run(struct sock_walk *walk, unsigned lane, uint64_t first, uint64_t count,
		  const struct walk_sieve *sieve) _must_check_;
/* Reads 16 bytes of kernel memory; zero: not mapped. */
void sock_walk_peek(struct sock_walk *walk, unsigned lane, uint64_t address, uint64_t ret_bytes[2]);
