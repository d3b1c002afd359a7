/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of the whole host. */
#include <math.h>
#include <netinet/in.h>
#include <string.h>

#include "probe/drop_tally.h"
#include "show/figure.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/socket/socket.h"

#define IFF_LOOPBACK 0x8

enum links { LINKS_NETWORK, LINKS_LOOPBACK };

/* Traffic of this host with itself is not traffic of the network: each has its own figure. */
static uint64_t sum_links(const struct snapshot *snapshot, enum links which, size_t offset)
{
	uint64_t sum = 0;
	bool any = false;

	snapshot_each(snapshot, link_type, const struct link_record, link) {
		uint64_t value = *(const uint64_t *)((const uint8_t *)link + offset);

		if (value == UINT64_MAX || !(link->flags & IFF_LOOPBACK) != (which == LINKS_NETWORK))
			continue;
		sum += value;
		any = true;
	}
	return any ? sum : UINT64_MAX;
}

static uint64_t rx_total(const struct snapshot *snapshot)
{
	return sum_links(snapshot, LINKS_NETWORK, offsetof(struct link_record, rx_bytes));
}

static uint64_t tx_total(const struct snapshot *snapshot)
{
	return sum_links(snapshot, LINKS_NETWORK, offsetof(struct link_record, tx_bytes));
}

static uint64_t loopback_total(const struct snapshot *snapshot)
{
	return sum_links(snapshot, LINKS_LOOPBACK, offsetof(struct link_record, tx_bytes));
}

static uint64_t sum_counters(const struct snapshot *snapshot, const char *const *names)
{
	uint64_t sum = 0;
	bool any = false;

	snapshot_each(snapshot, counter_type, const struct counter_record, counter)
		for (const char *const *name = names; *name; name++)
			if (counter->value != UINT64_MAX && strcmp(counter->counter, *name) == 0) {
				sum += counter->value;
				any = true;
			}
	return any ? sum : UINT64_MAX;
}

static uint64_t retransmit_total(const struct snapshot *snapshot)
{
	return sum_counters(snapshot, (const char *const[]){"TcpRetransSegs", NULL});
}

static uint64_t opened_total(const struct snapshot *snapshot)
{
	return sum_counters(snapshot, (const char *const[]){"TcpActiveOpens", "TcpPassiveOpens", NULL});
}

/* Where packets are dropped on this host: interfaces, queues, listeners, receive buffers. */
static uint64_t drop_total(const struct snapshot *snapshot)
{
	uint64_t sum = sum_counters(snapshot, (const char *const[]){"TcpExtListenDrops", "TcpExtTCPRcvQDrop",
								    "TcpExtTCPBacklogDrop", "UdpRcvbufErrors",
								    "Udp6RcvbufErrors", "IpInDiscards", "Ip6InDiscards",
								    "IpOutDiscards", "Ip6OutDiscards", NULL});

	if (sum == UINT64_MAX)
		return sum;
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		sum += link->rx_dropped == UINT64_MAX ? 0 : link->rx_dropped;
		sum += link->tx_dropped == UINT64_MAX ? 0 : link->tx_dropped;
	}
	snapshot_each(snapshot, qdisc_type, const struct qdisc_record, qdisc)
		sum += qdisc->drops == UINT32_MAX ? 0 : qdisc->drops;
	return sum;
}

static void add_drop_reasons(const struct figure *figure, const struct snapshot *snapshot,
			     struct figure_history *history)
{
	snapshot_each(snapshot, drop_type, const struct drop_record, drop)
		figure_history_part(history, figure, drop->reason && drop->reason[0] ? drop->reason : "NOT_SPECIFIED",
				    drop->packets);
}

/* --- states --- */

static bool is_connection(const struct socket_record *socket)
{
	return socket->proto == IPPROTO_TCP && socket->state != SOCKET_LISTEN && socket->state != SOCKET_TIME_WAIT &&
	       socket->state != SOCKET_CLOSE;
}

static double connection_count(const struct snapshot *snapshot)
{
	uint64_t count = 0;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		count += is_connection(socket);
	return (double)count;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the connections' smoothed RTT; each connection counts once. */
static double rtt_quantile(const struct snapshot *snapshot, double share)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &tcp_type);
	_cleanup_free_ uint64_t *values = xrealloc_array(NULL, table->count + 1, sizeof(*values));
	size_t count = 0;

	snapshot_each(snapshot, tcp_type, const struct tcp_record, tcp)
		if (tcp->srtt_ns != UINT64_MAX && tcp->srtt_ns > 0)
			values[count++] = tcp->srtt_ns;
	if (count == 0)
		return NAN;
	qsort(values, count, sizeof(*values), by_value);
	return (double)values[min_of((size_t)(share * (double)count), count - 1)];
}

static double rtt_p50(const struct snapshot *snapshot)
{
	return rtt_quantile(snapshot, 0.5);
}

static double rtt_p90(const struct snapshot *snapshot)
{
	return rtt_quantile(snapshot, 0.9);
}

static double rtt_p99(const struct snapshot *snapshot)
{
	return rtt_quantile(snapshot, 0.99);
}

/* Per CPU, so that its rate is a share of all of them. */
static uint64_t cpu_total(const struct snapshot *snapshot)
{
	uint64_t busy = 0, cpus = 0;

	snapshot_each(snapshot, cpu_type, const struct cpu_record, cpu) {
		busy += cpu->user_ns + cpu->nice_ns + cpu->system_ns + cpu->irq_ns + cpu->softirq_ns + cpu->steal_ns;
		cpus++;
	}
	return cpus ? busy / cpus : UINT64_MAX;
}

static double queue_bytes(const struct snapshot *snapshot)
{
	uint64_t bytes = 0;
	bool any = false;

	/* A queue below another one is counted by the one above. */
	snapshot_each(snapshot, qdisc_type, const struct qdisc_record, qdisc)
		if (qdisc->backlog_bytes != UINT32_MAX && strcmp(qdisc->parent, "root") == 0) {
			bytes += qdisc->backlog_bytes;
			any = true;
		}
	return any ? (double)bytes : NAN;
}

/* --- the figures --- */

static const struct record_type *const link_types[] = {&link_type, NULL};
static const struct record_type *const counter_types[] = {&counter_type, NULL};
static const struct record_type *const drop_types[] = {&counter_type, &link_type, &qdisc_type, NULL};
static const struct record_type *const reason_types[] = {&drop_type, NULL};
static const struct record_type *const socket_types[] = {&socket_type, &tcp_type, NULL};
static const struct record_type *const cpu_types[] = {&cpu_type, NULL};
static const struct record_type *const qdisc_types[] = {&qdisc_type, NULL};

const struct figure figure_rx = {
	"rx", "received", "B/s", "bytes received by all interfaces but loopback", 1, link_types, .total = rx_total};
FIGURE(figure_rx);
const struct figure figure_tx = {"tx",       "sent",           "B/s", "bytes sent by all interfaces but loopback", 2,
				 link_types, .total = tx_total};
FIGURE(figure_tx);
const struct figure figure_retransmits = {
	"retransmits", "retransmissions",        "/s", "TCP segments retransmitted", 3,
	counter_types, .total = retransmit_total};
FIGURE(figure_retransmits);
const struct figure figure_drops = {"drops",
				    "drops",
				    "/s",
				    "packets dropped by interfaces, queues, listeners and receive buffers",
				    4,
				    drop_types,
				    .total = drop_total};
FIGURE(figure_drops);
static const struct figure figure_drop = {
	"drop",       "drops by reason",        "/s", "packets that the kernel dropped for this reason", 5,
	reason_types, .parts = add_drop_reasons};
FIGURE(figure_drop);
static const struct figure figure_rtt_p50 = {
	"rtt_p50",    "RTT, median",   "ns", "smoothed RTT that half of the connections stay below", 5,
	socket_types, .value = rtt_p50};
FIGURE(figure_rtt_p50);
static const struct figure figure_rtt_p90 = {
	"rtt_p90",    "RTT, 90 %",     "ns", "smoothed RTT that 90 % of the connections stay below", 6,
	socket_types, .value = rtt_p90};
FIGURE(figure_rtt_p90);
static const struct figure figure_rtt_p99 = {
	"rtt_p99",    "RTT, 99 %",     "ns", "smoothed RTT that 99 % of the connections stay below", 7,
	socket_types, .value = rtt_p99};
FIGURE(figure_rtt_p99);
static const struct figure figure_connections = {"connections",
						 "connections",
						 "",
						 "TCP connections, without those in TIME_WAIT",
						 8,
						 socket_types,
						 .value = connection_count};
FIGURE(figure_connections);
const struct figure figure_new_connections = {
	"new_connections", "new connections",    "/s", "TCP connections opened, both directions", 9,
	counter_types,     .total = opened_total};
FIGURE(figure_new_connections);
static const struct figure figure_cpu = {
	"cpu", "CPU", "1", "share of all CPUs that is not idle", 10, cpu_types, .total = cpu_total, .scale = 1e-9};
FIGURE(figure_cpu);
static const struct figure figure_queue_bytes = {
	"queue_bytes",       "queued", "B", "bytes waiting in the queues of all interfaces", 11, qdisc_types,
	.value = queue_bytes};
FIGURE(figure_queue_bytes);
const struct figure figure_loopback = {"loopback",
				       "loopback",
				       "B/s",
				       "bytes sent through the loopback interface",
				       12,
				       link_types,
				       .total = loopback_total};
FIGURE(figure_loopback);
