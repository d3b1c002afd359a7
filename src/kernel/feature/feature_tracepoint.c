/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The group "tracepoints": the ones that events are made of, and what each is for. BTF names them even where tracefs is
 * not mounted, and names those that tracefs does not show.
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
	const char *system; /* its directory in tracefs; NULL when it has none */
	const char *without;
} tracepoints[] = {
	{"inet_sock_set_state", "sock",
	 "no states and lives of connections, no connect times: tcp.state, tcp.close, sock.connect, sock.listen"},
	{"inet_sk_error_report", "sock", "errors that reach a socket are seen only when the application meets them"},
	{"sk_data_ready", "sock",
	 "no moment at which data reaches a reader, no fill of accept queues: tcp.backlog, nest path"},
	{"sock_send_length", "sock",
	 "sizes and times of sends come from system calls, which miss some ways of sending: sock.send"},
	{"sock_recv_length", "sock",
	 "sizes and times of receives come from system calls, which miss some ways: sock.recv, sock.firstbyte"},
	{"sock_rcvqueue_full", "sock", "no event for a full receive queue: sock.overflow"},
	{"sock_exceed_buf_limit", "sock", "no event for sockets that hit the memory limits: sock.overflow"},
	{"tcp_probe", "tcp", "no samples of a connection's variables as segments arrive: tcp.probe"},
	{"tcp_retransmit_skb", "tcp", "no retransmissions one by one: tcp.retransmit"},
	{"tcp_retransmit_synack", "tcp", "no repeated answers to connection requests: tcp.retransmit"},
	{"tcp_send_reset", "tcp", "no resets that this host sends: tcp.reset"},
	{"tcp_receive_reset", "tcp", "no resets that arrive: tcp.reset"},
	{"tcp_destroy_sock", "tcp", "the end of a connection is told from its last state only"},
	{"tcp_rcv_space_adjust", "tcp", "no times from a segment's arrival to the application's read"},
	{"tcp_rcvbuf_grow", "tcp", "growth of receive buffers is seen by polling only"},
	{"tcp_cong_state_set", "tcp", "no changes of the congestion state one by one"},
	{"tcp_cwnd_reduction_tp", NULL, "reductions of the congestion window are seen in samples only"},
	{"tcp_sendmsg_locked", "tcp", "no pieces of a send inside TCP: tcp.hold knows less"},
	{"tcp_bad_csum", "tcp", "segments with a wrong checksum are counted, not shown"},
	{"udp_fail_queue_rcv_skb", "udp", "datagrams that find a full socket show as drops only: udp.drop"},
	{"icmp_send", "icmp", "ICMP errors that this host sends are seen as packets only: icmp.error"},
	{"kfree_skb", "skb", "no dropped packets with their reasons: skb.drop"},
	{"consume_skb", "skb", "no end of packets that were taken: skb.life, dev.complete"},
	{"skb_copy_datagram_iovec", "skb", "no moment at which data is copied to the reader: nest path"},
	{"net_dev_queue", "net", "no packets on their way out: dev.queue, icmp.echo, nest path"},
	{"net_dev_start_xmit", "net", "no moment at which a driver takes a packet: dev.xmit, nest path"},
	{"net_dev_xmit", "net", "no results of handing a packet to a driver: dev.xmit"},
	{"net_dev_xmit_timeout", "net", "no hung transmit queues"},
	{"netif_rx", "net", "no packets that enter by the backlog (loopback, tunnels): nest path"},
	{"netif_receive_skb", "net", "no packets on their way in: dev.receive, ip.ecn, nest path"},
	{"napi_gro_receive_entry", "net", "no packets before they are merged: dev.receive"},
	{"napi_poll", "napi", "no receive rounds of drivers: napi.poll"},
	{"qdisc_enqueue", "qdisc", "no times spent in queueing disciplines: qdisc.wait"},
	{"qdisc_dequeue", "qdisc", "no times spent in queueing disciplines: qdisc.wait"},
	{"neigh_create", "neigh", "no new neighbours: neigh.resolve"},
	{"neigh_update", "neigh", "no results of neighbour resolution: neigh.resolve"},
	{"neigh_event_send_done", "neigh", "no start of neighbour resolution: neigh.resolve"},
	{"fib_table_lookup", "fib", "no route lookups that fail"},
	{"irq_handler_entry", "irq", "no interrupts: irq, nest path"},
	{"irq_handler_exit", "irq", "no time spent in interrupts: irq"},
	{"softirq_raise", "irq", "no waiting of packets for the softirq: softirq, nest path"},
	{"softirq_entry", "irq", "no time spent in softirqs: softirq, nest path"},
	{"softirq_exit", "irq", "no time spent in softirqs: softirq"},
	{"sched_switch", "sched", "no moment at which a reader runs: nest path"},
	{"sched_waking", "sched", "no moment at which a reader is woken: nest path"},
	{"sched_wakeup", "sched", "no moment at which a reader may run: nest path"},
	{"sched_process_exec", "sched", "names of processes that change are learned late"},
	{"sched_process_exit", "sched", "the end of processes is learned late"},
	{"sys_enter", "raw_syscalls", "system calls are seen one by one through tracefs only"},
	{"sys_exit", "raw_syscalls", "results of system calls are seen one by one through tracefs only"},
};

/* All names at once: asking libbpf for one would walk all types each time. */
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

static void look_one(struct feature_context *context, size_t index, const struct map *names)
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
		check_result(check, CHECK_UNKNOWN, "neither BTF nor tracefs can be read");
	check_advise(check, tracepoints[index].without, "%s",
		     names ? "a kernel that has it; nest events shows what an event uses instead" : "as for btf");
}

void feature_tracepoint_look(struct feature_context *context)
{
	struct map names = MAP_INIT(0, 1, 100000);
	struct btf *btf;

	libbpf_words_begin();
	btf = btf__load_vmlinux_btf();
	if (btf)
		collect_names(btf, &names);
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		look_one(context, i, btf ? &names : NULL);
	btf__free(btf);
	map_done(&names);
}
