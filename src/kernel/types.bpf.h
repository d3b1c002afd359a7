/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that nest depends on. Maintained by hand: every field here is read by some event, and
 * scripts/check-kernel-types compares all of them with a kernel's BTF. Offsets do not matter, names and kinds do: every
 * access is relocated when the object is loaded (preserve_access_index).
 *
 * A field or struct that only some kernels have goes into a variant whose name ends in ___ and a word (libbpf ignores
 * that suffix); readers check bpf_core_field_exists first, and the script accepts missing variants.
 *
 * Definitions of the kernel's UAPI (packet headers, program contexts, enums) come from its own headers.
 */
#pragma once

#ifdef __VMLINUX_H__
#error "types.bpf.h and a generated vmlinux.h define the same types: include one of them"
#endif
#ifndef __bpf__
#error "types.bpf.h is for BPF programs"
#endif

#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/* From the kernel's private headers; the same numbers as in user space. */
#define AF_UNSPEC 0
#define AF_UNIX   1
#define AF_INET   2
#define AF_INET6  10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Wrapper structs of a number. */
typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	unsigned int val;
} kuid_t;

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be32 u6_addr32[4];
	} in6_u;
};

/* IP fragments waiting for reassembly, and their memory limit: ip.frag. */
struct fqdir {
	int timeout; /* in jiffies */
	long high_thresh;
	atomic64_t mem;
};

struct netns_ipv4 {
	struct fqdir *fqdir;
};

struct netns_ipv6 {
	struct fqdir *fqdir;
	struct fib6_info *fib6_null_entry;
};

/* Namespaces: the inode number of /proc/PID/ns/net, and the cookie, which is never reused. */
struct ns_common {
	unsigned int inum;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct net {
	struct ns_common ns;
	struct hlist_head *dev_index_head; /* of 256 */
	struct netns_ipv4 ipv4;
	struct netns_ipv6 ipv6;
};

struct nsproxy {
	struct net *net_ns;
};

/* Cgroups: the id, which is the inode number of the directory in /sys/fs/cgroup. */
struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

/* The hierarchy; cgroup2 is number 0. */
struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* Files: from a descriptor to its socket (accept, connect, task_file iterator). */
struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

/* Tasks: socket owners, woken and running tasks. */
struct cred {
	kuid_t uid;
};

/* Total time of a task on a CPU. */
struct sched_entity {
	u64 sum_exec_runtime;
};

struct task_struct {
	void *stack;
	unsigned int flags;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct sched_entity se;
	char comm[16];
	const struct cred *cred;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
};

/* Since 5.14, as bpf_task_pt_regs since 5.15: what needs either does not load before. */
struct task_struct___state {
	unsigned int __state;
};

/* On a run queue: a number, since 7.2 a byte. */
struct task_struct___queued {
	int on_rq;
};

struct task_struct___queued_byte {
	unsigned char on_rq;
};

/* Run queue length of a CPU: with group scheduling, a task points to its run queue. */
struct rq___group {
	unsigned int nr_running;
	u64 clock;
	int cpu;
};

struct cfs_rq___group {
	struct rq___group *rq;
};

struct sched_entity___group {
	struct cfs_rq___group *cfs_rq;
};

struct task_struct___group {
	struct sched_entity___group se;
};

/* Total scheduling delay of a task. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_queued;
};

struct task_struct___delay {
	struct sched_info sched_info;
};

/* Sockets: the tuple, the state, the cookie, for both address families. */
struct sock_common {
	union {
		struct {
			__be32 skc_daddr;
			__be32 skc_rcv_saddr;
		};
	};
	union {
		struct {
			__be16 skc_dport;
			__u16 skc_num;
		};
	};
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned char skc_reuse : 4;
	unsigned char skc_reuseport : 1;
	int skc_bound_dev_if;
	unsigned long skc_flags;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	int skc_incoming_cpu;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	__u32 qlen;
};

/* Buffers and queues of one socket: sormem, tcpsynbl, sock.overflow, udp.drop, tcp.probe. */
struct sock {
	struct sock_common __sk_common;
	atomic_t sk_drops;
	struct sk_buff_head sk_receive_queue;
	struct {
		atomic_t rmem_alloc;
		int len;
	} sk_backlog;
	struct {
		int owned;
	} sk_lock;
	int sk_rcvbuf;
	int sk_sndbuf;
	int sk_err;
	int sk_err_soft;
	int sk_forward_alloc;
	int sk_wmem_queued;
	refcount_t sk_wmem_alloc;
	struct sk_buff_head sk_write_queue;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_mark;
	kuid_t sk_uid;
	u16 sk_protocol;
	u8 sk_shutdown;
	u32 sk_ack_backlog;
	u32 sk_max_ack_backlog;
	struct socket *sk_socket;
};

/* Since 6.18 a busy UDP socket counts its drops separately, per NUMA node. */
struct numa_drop_counters___split {
	atomic_t drops0;
	atomic_t drops1;
};

struct sock___split_drops {
	struct numa_drop_counters___split *sk_drop_counters;
};

struct socket {
	short type;
	unsigned long flags;
	struct file *file;
	struct sock *sk;
};

/* A socket's inode number, as in /proc/PID/fd, without its file. */
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

/* The name of a protocol ("TCP", "UDPv6"): soprotocol. */
struct proto {
	char name[32];
};

/* When a connection closes, skc_num is already zero, inet_sport is not. */
struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
	__u8 tos;
};

/* Since 6.6 socket options are bits of one word, before that separate fields. */
struct inet_sock___flags {
	unsigned long inet_flags;
};

struct inet_sock___bits {
	__u8 freebind : 1;
	__u8 transparent : 1;
	__u8 bind_address_no_port : 1;
};

struct udp_sock {
	struct inet_sock inet;
	struct sk_buff_head reader_queue;
};

struct unix_sock {
	struct sock sk;
	struct sock *peer;
};

/* Connection requests and the accept queue: tcpsynbl, tcp.backlog, tcp_retransmit_synack. */
struct request_sock {
	struct sock_common __req_common;
	u16 mss;
	struct sock *sk;
};

struct request_sock_queue {
	atomic_t qlen;
};

struct tcp_congestion_ops {
	char name[16];
};

/* A bound port. fastreuse is negative if connect() chose it: tcp.exchange. */
struct inet_bind_bucket {
	signed char fastreuse;
};

/* Reason of a retransmission (icsk_ca_state, icsk_pending), and the pending timer. */
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct inet_bind_bucket *icsk_bind_hash;
	struct request_sock_queue icsk_accept_queue;
	__u32 icsk_rto;
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	__u8 icsk_pending;
	__u8 icsk_backoff;
	__u8 icsk_probes_out;
	struct {
		__u8 pending;
		__u8 quick;
		__u32 lrcvtime;
		__u16 rcv_mss;
	} icsk_ack;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

/* Window scale: tcp.probe. Timestamps: keepalive. */
struct tcp_options_received {
	u32 ts_recent;
	u16 tstamp_ok : 1;
	u16 snd_wscale : 4;
	u16 rcv_wscale : 4;
};

/* The variables of a connection: tcp.probe, tcp.close, tcp.hold, tcp.retransmit, iter/tcp. */
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 rcv_ssthresh;
	u32 reordering;
	u32 snd_wnd;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 packets_out;
	u32 copied_seq;
	u32 mdev_us;
	u16 advmss;
	u32 lost;
	u32 snd_ssthresh;
	struct minmax rtt_min;
	u32 segs_out;
	u32 data_segs_out;
	u64 bytes_sent;
	u32 chrono_start;
	u32 chrono_stat[3];
	u32 write_seq;
	u32 snd_sml;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u64 tcp_mstamp;
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 lsndtime;
	u8 ecn_flags;
	u8 nonagle : 4;
	u8 rate_app_limited : 1;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 snd_wl1;
	u32 srtt_us;
	u32 delivered;
	u32 delivered_ce;
	u32 app_limited;
	u32 rcv_wnd;
	struct tcp_options_received rx_opt;
	u32 tsoffset;
	u64 bytes_received;
	u32 segs_in;
	u32 data_segs_in;
	u32 rcv_wup;
	u32 rate_delivered;
	u32 rate_interval_us;
	u64 bytes_acked;
	struct {
		int space;
		u32 seq;
		u64 time;
	} rcvq_space;
	u32 dsack_dups;
	u32 reord_seen;
	u64 bytes_retrans;
	u32 total_retrans;
	u32 rcv_ooopack;
};

/* Timestamps in microseconds: 6.7 and later. */
struct tcp_sock___usec {
	u8 tcp_usec_ts : 1;
};

/* Keys of signed segments (MD5, TCP-AO), if configured; the second since 6.7. */
struct tcp_sock___md5 {
	void *md5sig_info;
};

struct tcp_sock___ao {
	void *ao_info;
};

/* RTO counters of the connection: 6.7 and later. */
struct tcp_sock___rto_counts {
	u16 total_rto;
	u16 total_rto_recoveries;
	u32 total_rto_time;
};

/* In sk_buff.cb while TCP owns the packet. */
struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	union {
		struct {
			u16 tcp_gso_segs;
		};
	};
};

/* 16 bits since 6.15: the relocation widens the access. */
struct tcp_skb_cb___flags {
	__u8 tcp_flags;
};

/* Interfaces and their queues: dev.*, qdisc.*, napi.poll. */
struct net_device_ops {
	void *ndo_get_peer_dev;
};

struct net_device {
	const struct net_device_ops *netdev_ops;
	struct hlist_node index_hlist;
	int ifindex;
	unsigned int flags;
	unsigned int mtu;
	unsigned short type;
	possible_net_t nd_net;
	char name[16];
	struct Qdisc *qdisc;
	unsigned int tx_queue_len;
	struct netdev_queue *_tx;
	unsigned int num_tx_queues;
};

/* Byte queue limits: dev.hold. */
struct dql {
	unsigned int num_queued;
	unsigned int limit;
	unsigned int num_completed;
};

struct netdev_queue {
	struct net_device *dev;
	struct Qdisc *qdisc;
	unsigned long state;
};

/* Only with CONFIG_BQL, which nearly all kernels have. */
struct netdev_queue___bql {
	struct dql dql;
};

struct napi_struct {
	int weight;
	struct net_device *dev;
	unsigned int napi_id;
};

/* Per-CPU receive and transmit work: softirq. */
struct softnet_data {
	struct sk_buff_head process_queue;
	unsigned int processed;
	unsigned int time_squeeze;
	struct sk_buff_head input_pkt_queue;
	struct napi_struct backlog;
};

/* Drops of the CPU backlog: a number, since 6.10 an atomic, since 6.18 two. */
struct softnet_data___plain_drops {
	unsigned int dropped;
};

struct softnet_data___atomic_drops {
	atomic_t dropped;
};

struct softnet_data___split_drops {
	struct numa_drop_counters___split drop_counters;
};

/* Owner of an interrupt: irq. */
struct irqaction {
	const char *name;
};

struct Qdisc_ops {
	char id[16];
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
	__u32 requeues;
	__u32 overlimits;
};

struct Qdisc {
	unsigned int flags;
	u32 limit;
	const struct Qdisc_ops *ops;
	u32 handle;
	u32 parent;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

/* Neighbours: neigh.resolve. The key is an address of the table's family. */
struct neigh_table {
	int family;
	unsigned int key_len;
};

struct neigh_parms {
	int data[13]; /* by NEIGH_VAR_*; one more since 6.0 */
};

struct neighbour {
	struct neigh_table *tbl;
	struct neigh_parms *parms;
	atomic_t probes;
	u8 nud_state;
	struct net_device *dev;
	u8 primary_key[0];
};

/* Route lookups and results: ip.route. */
struct flowi_common {
	int flowic_iif;
	__u8 flowic_proto;
};

struct flowi4 {
	struct flowi_common __fl_common;
	__be32 saddr;
	__be32 daddr;
};

struct flowi6 {
	struct flowi_common __fl_common;
	struct in6_addr daddr;
	struct in6_addr saddr;
};

struct fib_nh_common {
	struct net_device *nhc_dev;
	u8 nhc_gw_family;
	union {
		__be32 ipv4;
		struct in6_addr ipv6;
	} nhc_gw;
};

struct fib6_nh {
	struct fib_nh_common nh_common;
};

struct fib6_table {
	u32 tb6_id;
};

struct fib6_result {
	struct fib6_nh *nh;
	struct fib6_info *f6i;
	u8 fib6_type;
};

/* Packets: headers by offset from head, the owner of outgoing ones, segments of GSO packets. */
struct iov_iter {
	unsigned long count;
};

struct msghdr {
	struct iov_iter msg_iter;
};

/* A route: _skb_refdst without its lowest bit. */
struct dst_entry {
	struct net_device *dev;
};

struct sk_buff {
	union {
		struct {
			struct sk_buff *next;
			struct sk_buff *prev;
			union {
				struct net_device *dev;
			};
		};
	};
	struct sock *sk;
	union {
		u64 skb_mstamp_ns;
	};
	char cb[48];
	union {
		struct {
			unsigned long _skb_refdst;
		};
	};
	unsigned int len;
	unsigned int data_len;
	__u16 queue_mapping;
	__u8 pkt_type : 3;
	__u32 priority;
	int skb_iif;
	__u32 hash;
	__u32 mark;
	__be16 protocol;
	__u16 transport_header;
	__u16 network_header;
	__u16 mac_header;
	unsigned int tail;
	unsigned int end;
	unsigned char *head;
	unsigned char *data;
	refcount_t users;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
};

/* Registers at a system call: x86, then arm64. */
struct pt_regs___kernel {
	unsigned long orig_ax;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long r9;
	u64 regs[31];
	u64 orig_x0;
	int syscallno;
};

/* Arguments that not all kernels' tracepoints have: checked through the record of tracefs. */
struct trace_event_raw_udp_fail_queue_rcv_skb___packet {
	__u16 family;
};

/* Since 5.15. */
struct trace_event_raw_qdisc_enqueue {
	int ifindex;
};

struct trace_event_raw_tcp_retransmit_skb___error {
	int err;
};

enum skb_drop_reason { SKB_NOT_DROPPED_YET = 0 };

/* Numbers that change with the kernel: read by bpf_core_enum_value. */
enum skb_drop_reason___frag { SKB_DROP_REASON_FRAG_REASM_TIMEOUT___frag = 1 };

struct trace_event_raw_kfree_skb___reason {
	enum skb_drop_reason reason;
};

struct trace_event_raw_kfree_skb___socket {
	void *rx_sk;
};

enum sk_rst_reason { SK_RST_REASON_NOT_SPECIFIED = 0 };

struct trace_event_raw_tcp_send_reset___reason {
	enum sk_rst_reason reason;
};

/* An io_uring request and its result: sock.accept. Since 5.19. */
struct io_cqe___result {
	__s32 res;
};

struct io_kiocb___result {
	u8 opcode;
	struct io_cqe___result cqe;
};

/* Contexts of iterator programs. The pointers are NULL in the last call. */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
	unsigned int uid;
};

struct bpf_iter__udp {
	struct bpf_iter_meta *meta;
	struct udp_sock *udp_sk;
	unsigned int uid;
	int bucket;
};

/* 5.16 and later. */
struct bpf_iter__unix {
	struct bpf_iter_meta *meta;
	struct unix_sock *unix_sk;
	unsigned int uid;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop
