/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of the host, from the tables of the snapshot. Counters are sums over network namespaces. */
#include "agent/metric.h"
#include "probe/drop_tally.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/translation.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/softnet.h"
#include "snapshot/socket/socket.h"

/* One of the kernel's counters, by nstat's name. */
#define KERNEL_COUNTER(id, metric_name, kernel_name, help_text)                                                        \
	static const struct metric id = {.family = {metric_name, OPENMETRICS_COUNTER, NULL, help_text},                \
					 .type = &counter_type,                                                        \
					 .where = "counter == \"" kernel_name "\"",                                    \
					 .value = "value"};                                                            \
	METRIC(id)

KERNEL_COUNTER(segments_sent, "nest_tcp_segments_sent", "TcpOutSegs", "TCP segments sent");
KERNEL_COUNTER(segments_received, "nest_tcp_segments_received", "TcpInSegs", "TCP segments received");
KERNEL_COUNTER(segments_retransmitted, "nest_tcp_segments_retransmitted", "TcpRetransSegs",
	       "TCP segments retransmitted; of those sent it is the retransmit share");
KERNEL_COUNTER(timeouts, "nest_tcp_timeouts", "TcpExtTCPTimeouts", "TCP retransmission timeouts");
KERNEL_COUNTER(resets_sent, "nest_tcp_resets_sent", "TcpOutRsts", "TCP resets sent");
KERNEL_COUNTER(connections_opened, "nest_tcp_connections_opened", "TcpActiveOpens", "outgoing TCP connections");
KERNEL_COUNTER(connections_accepted, "nest_tcp_connections_accepted", "TcpPassiveOpens", "incoming TCP connections");
KERNEL_COUNTER(connections_failed, "nest_tcp_connections_failed", "TcpAttemptFails",
	       "TCP connection attempts that failed");
KERNEL_COUNTER(listen_overflows, "nest_listener_overflows", "TcpExtListenOverflows",
	       "incoming connections refused because an accept queue was full");
KERNEL_COUNTER(listen_drops, "nest_listener_drops", "TcpExtListenDrops", "SYNs dropped by listeners, for any reason");
KERNEL_COUNTER(udp_overflows, "nest_udp_receive_overflows", "UdpRcvbufErrors",
	       "UDP datagrams dropped because a receive buffer was full");

/* The kernel counts all of them: the samples hold only connections that are followed. */
static const struct metric sockets = {
	.family = {"nest_tcp_sockets", OPENMETRICS_GAUGE, NULL, "TCP sockets, without those in TIME-WAIT"},
	.type = &memory_type,
	.value = "tcp_inuse",
};
METRIC(sockets);

static const struct metric established = {
	.family = {"nest_tcp_established", OPENMETRICS_GAUGE, NULL, "TCP connections in ESTABLISHED or CLOSE-WAIT"},
	.type = &counter_type,
	.where = "counter == \"TcpCurrEstab\"",
	.value = "value",
};
METRIC(established);

static const struct metric time_wait = {
	.family = {"nest_tcp_time_wait", OPENMETRICS_GAUGE, NULL, "TCP sockets in TIME-WAIT"},
	.type = &memory_type,
	.value = "tcp_time_wait",
};
METRIC(time_wait);

static const struct metric orphans = {
	.family = {"nest_tcp_orphans", OPENMETRICS_GAUGE, NULL, "TCP connections that no program holds open"},
	.type = &memory_type,
	.value = "tcp_orphan",
	.add = METRIC_MAX,
};
METRIC(orphans);

static const struct metric listener_queue = {
	.family = {"nest_listener_queue", OPENMETRICS_GAUGE, NULL, "longest accept queue of a port"},
	.type = &socket_type,
	.where = "proto == tcp and state == LISTEN",
	.value = "backlog",
	.add = METRIC_MAX,
	.labels = {{"port", "lport", METRIC_PORT}},
};
METRIC(listener_queue);

static const struct metric listener_limit = {
	.family = {"nest_listener_queue_limit", OPENMETRICS_GAUGE, NULL,
		   "limit of the accept queue (backlog) of a port"},
	.type = &socket_type,
	.where = "proto == tcp and state == LISTEN",
	.value = "backlog_max",
	.add = METRIC_MAX,
	.labels = {{"port", "lport", METRIC_PORT}},
};
METRIC(listener_limit);

static const struct metric dropped = {
	.family = {"nest_dropped_packets", OPENMETRICS_COUNTER, NULL,
		   "packets dropped by this host, by the kernel's reason"},
	.type = &drop_type,
	.value = "packets",
	.labels = {{"reason", "reason"}},
};
METRIC(dropped);

static const struct metric conntrack_entries = {
	.family = {"nest_conntrack_entries", OPENMETRICS_GAUGE, NULL, "tracked connections"},
	.type = &conntrack_type,
	.value = "entries",
};
METRIC(conntrack_entries);

static const struct metric conntrack_limit = {
	.family = {"nest_conntrack_limit", OPENMETRICS_GAUGE, NULL, "limit of tracked connections (nf_conntrack_max)"},
	.type = &conntrack_type,
	.value = "entries_max",
	.add = METRIC_MAX,
};
METRIC(conntrack_limit);

static const struct metric conntrack_dropped = {
	.family = {"nest_conntrack_dropped", OPENMETRICS_COUNTER, NULL,
		   "packets dropped by conntrack, mostly table full"},
	.type = &conntrack_type,
	.value = "dropped",
};
METRIC(conntrack_dropped);

static const struct metric nat_connections = {
	.family = {"nest_nat_connections", OPENMETRICS_GAUGE, NULL, "TCP connections that this host translates (NAT)"},
	.type = &translation_type,
	.without_rows = true,
};
METRIC(nat_connections);

static const struct metric softnet_dropped = {
	.family = {"nest_softnet_dropped", OPENMETRICS_COUNTER, NULL,
		   "packets dropped because the backlog of a CPU was full"},
	.type = &softnet_type,
	.value = "dropped",
};
METRIC(softnet_dropped);

static const struct metric softnet_squeezed = {
	.family = {"nest_softnet_squeezed", OPENMETRICS_COUNTER, NULL, "times the softirq budget was exhausted"},
	.type = &softnet_type,
	.value = "time_squeeze",
};
METRIC(softnet_squeezed);

/* Of the host's own interfaces: those of containers come and go. */
#define LINK_COUNTER(id, metric_name, metric_unit, field_name, help_text)                                              \
	static const struct metric id = {.family = {metric_name, OPENMETRICS_COUNTER, metric_unit, help_text},         \
					 .type = &link_type,                                                           \
					 .where = "dev != \"lo\" and (kind is unknown or kind != \"veth\")",           \
					 .value = field_name,                                                          \
					 .labels = {{"interface", "dev"}}};                                            \
	METRIC(id)

LINK_COUNTER(link_received, "nest_interface_received_bytes", "bytes", "rx_bytes", "bytes received by an interface");
LINK_COUNTER(link_sent, "nest_interface_sent_bytes", "bytes", "tx_bytes", "bytes sent by an interface");
LINK_COUNTER(link_receive_drops, "nest_interface_receive_drops", NULL, "rx_dropped",
	     "received packets an interface dropped");
LINK_COUNTER(link_send_drops, "nest_interface_send_drops", NULL, "tx_dropped", "packets to send an interface dropped");
LINK_COUNTER(link_receive_errors, "nest_interface_receive_errors", NULL, "rx_errors", "receive errors of an interface");

static const struct metric qdisc_backlog = {
	.family = {"nest_qdisc_backlog_bytes", OPENMETRICS_GAUGE, "bytes", "bytes that wait in qdiscs"},
	.type = &qdisc_type,
	.where = "parent == \"root\"",
	.value = "backlog_bytes",
	.without_rows = true,
};
METRIC(qdisc_backlog);
