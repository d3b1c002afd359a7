/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/checklist_steps.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "event/core/event.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "tool/core/tool.h"
#include "view/format.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static uint64_t span_ns(const struct checklist_view *view)
{
	return view->before ? view->after->begin_boot_ns - view->before->begin_boot_ns : 0;
}

/* The sum of the counters' increases; NaN when none is known. */
static double counters_moved(const struct checklist_view *view, const char *const *names)
{
	double sum = NAN;

	for (; view->before && *names; names++) {
		uint32_t netns = (uint32_t)view->graph->netns;
		uint64_t delta = delta_between(counter_find(view->before, netns, *names),
					       counter_find(view->after, netns, *names));

		if (delta != UINT64_MAX)
			sum = (isnan(sum) ? 0 : sum) + (double)delta;
	}
	return sum;
}

#define MOVED(view, ...) counters_moved(view, (const char *const[]){__VA_ARGS__, NULL})

static double per_second(const struct checklist_view *view, double sum)
{
	uint64_t span = span_ns(view);

	return span ? sum * 1e9 / (double)span : NAN;
}

/* The value of a measure; NaN when unknown or not a number. */
static double measure_value(const struct module *module, const char *name)
{
	const struct module_scope *scope = module_scope_find(module->kind);
	struct record record = module_scope_record(scope, module);
	struct shape shape = module_scope_shape(scope);
	struct field_ref ref;
	struct value value;

	if (shape_find(&shape, name, &ref) < 0)
		return NAN;
	value = record_get(&record, ref);
	return value_number(&value);
}

struct summary {
	unsigned count;
	double sum, min, max;
};

/* Over all modules of a kind that have the measure. */
static struct summary summarise(const struct graph *graph, enum module_kind kind, const char *name)
{
	struct summary summary = {.sum = 0, .min = INFINITY, .max = -INFINITY};

	vec_each(&graph->modules, at) {
		double value = (*at)->kind == kind && module_scope_find(kind) ? measure_value(*at, name) : NAN;

		if (isnan(value))
			continue;
		summary.count++;
		summary.sum += value;
		summary.min = fmin(summary.min, value);
		summary.max = fmax(summary.max, value);
	}
	return summary;
}

static unsigned count_modules(const struct graph *graph, enum module_kind kind)
{
	unsigned count = 0;

	vec_each(&graph->modules, at)
		count += (*at)->kind == kind;
	return count;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void add_number(struct buf *out, double number, const char *unit)
{
	if (isnan(number)) {
		buf_add_format(out, "- %s", unit);
	} else {
		format_add_number(out, number);
		buf_add_format(out, " %s", unit);
	}
}

static void add_time(struct buf *out, double ns)
{
	format_add_duration(out, (int64_t)ns);
}

static void describe_counters(const struct checklist_view *view, struct buf *found)
{
	double sent = MOVED(view, "TcpOutSegs"), retransmitted = MOVED(view, "TcpRetransSegs");

	if (!view->before) {
		buf_add_text(found, "recording: nest report and nest counters -f show its rates");
		return;
	}
	add_number(found, per_second(view, MOVED(view, "IpInReceives", "Ip6InReceives")), "packets/s in, ");
	add_number(found, per_second(view, MOVED(view, "IpOutRequests", "Ip6OutRequests")), "out; ");
	add_number(found, per_second(view, MOVED(view, "TcpActiveOpens")), "connects/s, ");
	add_number(found, per_second(view, MOVED(view, "TcpPassiveOpens")), "accepts/s; ");
	add_number(found, retransmitted, "retransmits");
	if (sent > 0) {
		buf_add_text(found, " (");
		format_add_share(found, retransmitted / (sent + retransmitted));
		buf_add_char(found, ')');
	}
}

static void describe_connections(const struct checklist_view *view, struct buf *found)
{
	format_add_plural(found, count_modules(view->graph, MODULE_CONN), "connection");
	buf_add_text(found, ", ");
	format_add_plural(found, count_modules(view->graph, MODULE_LISTENER), "listener");
	buf_add_text(found, ", ");
	buf_add_format(found, "%u UDP", count_modules(view->graph, MODULE_UDP));
	if (!view->before)
		return;
	buf_add_text(found, "; ");
	add_number(found, MOVED(view, "TcpAttemptFails"), "failed connects, ");
	add_number(found, MOVED(view, "TcpEstabResets"), "resets");
}

/* Unknown counts as 0. */
static double known_delta(uint64_t before, uint64_t after)
{
	uint64_t delta = delta_between(before, after);

	return delta == UINT64_MAX ? 0 : (double)delta;
}

/* The busiest interface, and the drops and errors of all. */
static void describe_interfaces(const struct checklist_view *view, struct buf *found)
{
	const struct link_record *busiest = NULL;
	double most = -1, dropped = 0, errors = 0, use = NAN;

	if (!view->before) {
		buf_add_text(found, "recording: nest links -f shows its interface counters");
		return;
	}
	snapshot_each(view->after, link_type, const struct link_record, after)
		snapshot_each(view->before, link_type, const struct link_record, before) {
			double rx, tx;

			if (before->ifindex != after->ifindex || before->netns != after->netns)
				continue;
			rx = delta_rate(delta_between(before->rx_bytes, after->rx_bytes), span_ns(view));
			tx = delta_rate(delta_between(before->tx_bytes, after->tx_bytes), span_ns(view));
			dropped += known_delta(before->rx_dropped, after->rx_dropped) +
				   known_delta(before->tx_dropped, after->tx_dropped);
			errors += known_delta(before->rx_errors, after->rx_errors) +
				  known_delta(before->tx_errors, after->tx_errors);
			if (!(fmax(rx, tx) > most))
				continue;
			most = fmax(rx, tx);
			busiest = after;
			use = after->speed && after->speed != UINT64_MAX ? most * 8 / (double)after->speed : NAN;
		}
	if (!busiest) {
		buf_add_text(found, "no interface found");
		return;
	}
	buf_add_format(found, "busiest %.16s ", busiest->dev);
	format_add_rate(found, most);
	if (isnan(use)) {
		buf_add_text(found, " (speed unknown)");
	} else {
		buf_add_text(found, " (");
		format_add_share(found, use);
		buf_add_text(found, " of its speed)");
	}
	buf_add_format(found, "; all: %.0f drops, %.0f errors", dropped, errors);
}

static void describe_unusual(const struct checklist_view *view, struct buf *found)
{
	struct summary softnet = summarise(view->graph, MODULE_HOST, "softnet_dropped");

	if (view->before) {
		add_number(found, MOVED(view, "TcpExtTCPTimeouts"), "RTOs, ");
		add_number(found, MOVED(view, "TcpOutRsts"), "resets sent; drops: ");
		add_number(found, MOVED(view, "TcpExtListenDrops"), "listen, ");
		add_number(found, MOVED(view, "UdpRcvbufErrors", "Udp6RcvbufErrors"), "UDP buffer, ");
	}
	add_number(found, softnet.count ? softnet.max : NAN, view->before ? "CPU backlog" : "CPU backlog drops");
}

static void describe_names(const struct checklist_view *view, struct buf *found)
{
	struct summary asked = summarise(view->graph, MODULE_RESOLVER, "dns_queries");
	struct summary answered = summarise(view->graph, MODULE_RESOLVER, "dns_answers");
	struct summary late = summarise(view->graph, MODULE_RESOLVER, "dns_latency_ns");

	if (asked.sum == 0) {
		buf_add_text(found, "no name lookups (configured: ");
		format_add_plural(found, count_modules(view->graph, MODULE_RESOLVER), "name server");
		buf_add_char(found, ')');
		return;
	}
	buf_add_format(found, "%.0f lookups, %.0f replies", asked.sum, answered.sum);
	if (late.count) {
		buf_add_text(found, ", slowest server: mean latency ");
		add_time(found, late.max);
	}
}

static void describe_latency(const struct checklist_view *view, struct buf *found)
{
	struct summary rtt = summarise(view->graph, MODULE_CONN, "srtt_ns");
	struct summary base = summarise(view->graph, MODULE_CONN, "min_rtt_ns");

	if (!rtt.count) {
		buf_add_text(found, "no connection with an RTT");
		return;
	}
	buf_add_text(found, "RTT ");
	add_time(found, rtt.min);
	buf_add_text(found, " to ");
	add_time(found, rtt.max);
	buf_add_text(found, " on ");
	format_add_plural(found, rtt.count, "connection");
	if (base.count) {
		buf_add_text(found, "; minimum RTT ");
		add_time(found, base.min);
	}
}

static void describe_load(const struct checklist_view *view, struct buf *found)
{
	(void)view;
	buf_add_text(found, "not done: it would disturb the measurement");
}

static void describe_tools(const struct checklist_view *view, struct buf *found)
{
	_cleanup_free_ const struct tool **tools = NULL;
	size_t count;

	(void)view;
	tools = tool_list(&count);
	buf_add_format(found, "%zu tools; nest tools shows which work here", count);
}

static void describe_cpus(const struct checklist_view *view, struct buf *found)
{
	struct summary busy = summarise(view->graph, MODULE_CPU, "cpu_busy_share");
	struct summary softirq = summarise(view->graph, MODULE_CPU, "cpu_softirq_max_share");

	if (!busy.count) {
		buf_add_text(found, "CPU times are unknown");
		return;
	}
	buf_add_text(found, "CPUs ");
	format_add_share(found, busy.max);
	buf_add_text(found, " busy");
	if (!softirq.count)
		return;
	buf_add_text(found, "; softirq ");
	format_add_share(found, softirq.max);
	buf_add_text(found, " of the busiest CPU");
}

static void describe_internals(const struct checklist_view *view, struct buf *found)
{
	_cleanup_free_ const struct event **events = NULL;
	size_t count;

	(void)view;
	events = event_list(&count);
	buf_add_format(found, "%zu events; nest events shows which work on this kernel", count);
}

/* Index of the step about CPUs, and the share of their time from which on they are no longer fine. */
#define STEP_CPUS 8
#define BUSY      0.9

/* --- the steps ---------------------------------------------------------------------------------------------------- */

#define NEXT(...)                                                                                                      \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

const struct checklist_step checklist_steps[CHECKLIST_STEPS] = {
	{"traffic: packets, connections, retransmissions", describe_counters,
	 NEXT("nest counters 1", "nest sockets", "nest limits"), false},
	{"sockets: connections, listeners, failed connects", describe_connections,
	 NEXT("nest tcplife -d 10", "nest tcpconnect -d 10", "nest tcpaccept -d 10"), false},
	{"interfaces: the busiest, drops, errors", describe_interfaces, NEXT("nest links 1", "nest links -q 1"), false},
	{"loss: retransmission timeouts, resets, drops", describe_unusual,
	 NEXT("nest tcpretrans -d 10", "nest tcpdrop -d 10", "nest skbdrop -d 10"), false},
	{"name resolution", describe_names, NEXT("nest gethostlatency -d 10", "nest dnslat -d 10"), false},
	{"latency: connect, first byte, inside the host", describe_latency,
	 NEXT("nest tcpconnlat -d 10", "nest so1stbyte -d 10", "nest tcprtt -d 10", "nest qdisclat -d 10"), false},
	{"known load", describe_load, NEXT("iperf3 -c HOST", "nest superping -d 10"), true},
	{"tools for the findings", describe_tools, NEXT("nest tools"), true},
	{"CPU time", describe_cpus, NEXT("nest netcpu -d 10", "nest netcpu --folded -d 10"), false},
	{"stack internals: events and functions", describe_internals,
	 NEXT("nest events", "nest trace skb.drop --count --by reason -d 10", "nest funccount 'tcp_*' -d 10"), true},
};

/* Causes that belong to another step than the rest of their layer. */
static const struct {
	const char *cause;
	unsigned step;
} exceptions[] = {
	{"tcp-memory", 1},           {"ports-exhausted", 2},   {"timewait-overflow", 2},
	{"path-latency", 6},         {"path-congestion", 6},   {"peer-slow", 6},
	{"peer-not-reading", 6},     {"peer-window-small", 6}, {"app-out-of-fds", 2},
	{"udp-receive-overflow", 4},
};

static const struct {
	const char *layer;
	unsigned step;
} layers[] = {
	{"application", 6}, {"host", 9},      {"listener", 2}, {"socket", 6},    {"queue", 3},
	{"filter", 4},      {"interface", 3}, {"route", 4},    {"neighbour", 6}, {"tunnel", 4},
	{"path", 4},        {"peer", 2},      {"resolver", 5},
};

bool checklist_is_busy(unsigned step, const struct checklist_view *view)
{
	struct summary busy = summarise(view->graph, MODULE_CPU, "cpu_busy_share");
	struct summary softirq = summarise(view->graph, MODULE_CPU, "cpu_softirq_max_share");

	return step == STEP_CPUS && ((busy.count && busy.max >= BUSY) || (softirq.count && softirq.max >= BUSY));
}

unsigned checklist_step_of(const struct finding_record *finding)
{
	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (strcmp(exceptions[i].cause, finding->cause) == 0)
			return exceptions[i].step - 1;
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (strcmp(layers[i].layer, finding->layer) == 0)
			return layers[i].step - 1;
	return 0;
}
