/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The group "tracepoints": those that events use, and what each is for. BTF lists them even where tracefs is
 * not mounted, and lists those that tracefs does not show.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "kernel/feature/feature.h"
#include "kernel/libbpf_words.h"
#include "kernel/tracefs.h"

static const struct {
	const char *name;
	const char *system; /* directory in tracefs; NULL: none */
	const char *without;
} tracepoints[] = {
	{"inet_sock_set_state", "sock",
	 "no TCP state changes, lifetimes, connect latency: tcp.state, tcp.close, sock.connect, sock.listen"},
	{"inet_sk_error_report", "sock", "socket errors are seen only when a system call returns them"},
	{"sk_data_ready", "sock", "no arrival of data at the socket, no accept queue length: tcp.backlog, nest path"},
	{"sock_send_length", "sock",
	 "send sizes and latency only from system calls, which miss some call paths: sock.send"},
	{"sock_recv_length", "sock",
	 "receive sizes and latency only from system calls, which miss some call paths: sock.recv, sock.firstbyte"},
	{"sock_rcvqueue_full", "sock", "no full receive queues: sock.overflow"},
	{"sock_exceed_buf_limit", "sock", "no sockets at their memory limit: sock.overflow"},
	{"tcp_probe", "tcp", "no cwnd, SRTT, window per received segment: tcp.probe"},
	{"tcp_retransmit_skb", "tcp", "no single retransmissions: tcp.retransmit"},
	{"tcp_retransmit_synack", "tcp", "no SYN-ACK retransmissions: tcp.retransmit"},
	{"tcp_send_reset", "tcp", "no sent resets: tcp.reset"},
	{"tcp_receive_reset", "tcp", "no received resets: tcp.reset"},
	{"tcp_destroy_sock", "tcp", "the end of a connection shows only as its last state"},
	{"tcp_rcv_space_adjust", "tcp", "no delay from a segment's arrival to the application's read"},
	{"tcp_rcvbuf_grow", "tcp", "receive buffer growth only from samples"},
	{"tcp_cong_state_set", "tcp", "no single congestion state changes"},
	{"tcp_cwnd_reduction_tp", NULL, "cwnd reductions only from samples"},
	{"tcp_sendmsg_locked", "tcp", "no segments of a send inside TCP: tcp.hold knows less"},
	{"tcp_bad_csum", "tcp", "checksum errors are counted, not shown"},
	{"udp_fail_queue_rcv_skb", "udp", "datagrams for a full socket show only as drops: udp.drop"},
	{"icmp_send", "icmp", "sent ICMP errors show only as packets: icmp.error"},
	{"kfree_skb", "skb", "no dropped packets with reason: skb.drop"},
	{"consume_skb", "skb", "no end of consumed packets: skb.life, dev.complete"},
	{"skb_copy_datagram_iovec", "skb", "no copy of data to the reader: nest path"},
	{"net_dev_queue", "net", "no outgoing packets: dev.queue, icmp.echo, nest path"},
	{"net_dev_start_xmit", "net", "no handover of packets to a driver: dev.xmit, nest path"},
	{"net_dev_xmit", "net", "no result of a driver's transmit: dev.xmit"},
	{"net_dev_xmit_timeout", "net", "no transmit queue timeouts"},
	{"netif_rx", "net", "no packets received through the CPU backlog (loopback, tunnels): nest path"},
	{"netif_receive_skb", "net", "no incoming packets: dev.receive, ip.ecn, nest path"},
	{"napi_gro_receive_entry", "net", "no packets before GRO: dev.receive"},
	{"napi_poll", "napi", "no NAPI polls: napi.poll"},
	{"qdisc_enqueue", "qdisc", "no qdisc delay: qdisc.wait"},
	{"qdisc_dequeue", "qdisc", "no qdisc delay: qdisc.wait"},
	{"neigh_create", "neigh", "no new neighbour entries: neigh.resolve"},
	{"neigh_update", "neigh", "no results of neighbour resolution: neigh.resolve"},
	{"neigh_event_send_done", "neigh", "no start of neighbour resolution: neigh.resolve"},
	{"fib_table_lookup", "fib", "no failed route lookups"},
	{"irq_handler_entry", "irq", "no interrupts: irq, nest path"},
	{"irq_handler_exit", "irq", "no interrupt durations: irq"},
	{"softirq_raise", "irq", "no delay until the softirq runs: softirq, nest path"},
	{"softirq_entry", "irq", "no softirq durations: softirq, nest path"},
	{"softirq_exit", "irq", "no softirq durations: softirq"},
	{"sched_switch", "sched", "no context switches to the reader: nest path"},
	{"sched_waking", "sched", "no wakeups of the reader: nest path"},
	{"sched_wakeup", "sched", "no scheduling delay of the reader: nest path"},
	{"sched_process_exec", "sched", "process names after exec are noticed late"},
	{"sched_process_exit", "sched", "process exits are noticed late"},
	{"sys_enter", "raw_syscalls", "system calls only through tracefs, one tracepoint each"},
	{"sys_exit", "raw_syscalls", "results of system calls only through tracefs, one tracepoint each"},
};

/* All names at once: libbpf walks all types for each lookup. */
static void collect_names(const struct btf *btf, struct map *names)
{
	static const char prefix[] = "btf_trace_";
	unsigned count = btf__type_cnt(btf);

	for (unsigned id = 1; id < count; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name;

		if (!type || !btf_is_typedef(type))
			continue;
		name = btf__name_by_offset(btf, type->name_off);
		if (name && strncmp(name, prefix, sizeof(prefix) - 1) == 0)
			(void)map_put(names, name + sizeof(prefix) - 1, NULL);
	}
}

static void check_one(struct feature_context *context, size_t index, const struct map *names)
{
	struct check *check = check_add(context->list, "tracepoints", tracepoints[index].name);
	char event[96];
	int shown = -ENOENT;

	if (tracepoints[index].system) {
		snprintf(event, sizeof(event), "%s/%s", tracepoints[index].system, tracepoints[index].name);
		shown = tracefs_has(event);
	}
	if (names && map_get(names, tracepoints[index].name))
		check_result(check, CHECK_OK, "in the kernel's BTF");
	else if (shown > 0)
		check_result(check, names ? CHECK_LIMITED : CHECK_OK, "in tracefs, not in the kernel's BTF");
	else if (names || shown == 0)
		check_result(check, CHECK_MISSING, "Linux %s has no such tracepoint", context->release);
	else
		check_result(check, CHECK_UNKNOWN, "cannot read BTF or tracefs");
	check_advise(check, tracepoints[index].without, "%s",
		     names ? "a kernel with it; nest events shows the fallbacks of events" : "as for btf");
}

void feature_tracepoint_check(struct feature_context *context)
{
	struct map names = MAP_INIT(0, 1, 100000);
	struct btf *btf;

	libbpf_words_begin();
	btf = btf__load_vmlinux_btf();
	if (btf)
		collect_names(btf, &names);
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		check_one(context, i, btf ? &names : NULL);
	btf__free(btf);
	map_done(&names);
}
