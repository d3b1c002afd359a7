/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/map.h"
#include "snapshot/core/scan.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/proc/host_limit.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/softnet.h"
#include "snapshot/socket/socket.h"

/* Of processes, listeners and destinations only rows at this share or above are kept, and the fullest of each kind. */
#define NOTABLE          0.5
#define DESTINATIONS_MAX 65536

#define L                struct host_limit_record
static const struct field limit_fields[] = {
	FIELD(L, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(L, limit, TEXT, "limited resource"),
	FIELD(L, of, TEXT, "process, listener, CPU or destination that it belongs to", .drift = DRIFTS),
	FIELD(L, used, COUNT, "current use", .drift = DRIFTS),
	FIELD(L, max, COUNT, "limit"),
	FIELD(L, used_bytes, BYTES, "used, of memory", .heading = "used_bytes", .hidden = true, .drift = DRIFTS),
	FIELD(L, max_bytes, BYTES, "the limit, of memory", .heading = "max_bytes", .hidden = true),
	FIELD(L, share, RATIO, "used share of the limit", .unit = "%", .drift = DRIFTS),
	FIELD(L, raise, TEXT, "setting that raises the limit", .hidden = true),
};
#undef L
RECORD_TYPE(host_limit_type, "host_limit", struct host_limit_record, limit_fields, "a resource limit and its use");

static void add_row(struct snapshot *snapshot, const struct host_limit_record *limit, bool in_bytes)
{
	struct host_limit_record *record;

	if (limit->used == UINT64_MAX || limit->max == UINT64_MAX || limit->max == 0)
		return;
	record = snapshot_table_add(snapshot_table(snapshot, &host_limit_type));
	if (!record)
		return;
	*record = *limit;
	record->used_bytes = in_bytes ? limit->used : UINT64_MAX;
	record->max_bytes = in_bytes ? limit->max : UINT64_MAX;
	record->share = (double)limit->used / (double)limit->max;
}

static void add(struct snapshot *snapshot, const struct host_limit_record *limit)
{
	add_row(snapshot, limit, false);
}

/* Members of 32 bits have an unknown of their own. */
static uint64_t widen_unknown(uint32_t value)
{
	return value == UINT32_MAX ? UINT64_MAX : value;
}

/* The fullest of its kind so far, added when none is notable. */
struct fullest {
	double share;
	const void *record;
};

/* Updates the fullest; returns whether this one gets a row anyway. */
static bool is_notable(struct fullest *fullest, uint64_t used, uint64_t max, const void *record)
{
	double share = max ? (double)used / (double)max : 0;

	if (max == 0 || used == UINT64_MAX || max == UINT64_MAX)
		return false;
	if (!fullest->record || share > fullest->share)
		*fullest = (struct fullest){share, record};
	return share >= NOTABLE;
}

static void add_memory(struct snapshot *snapshot)
{
	snapshot_each(snapshot, memory_type, const struct memory_record, m) {
		/* The first two in bytes. */
		const struct host_limit_record rows[] = {
			{.limit = "tcp-memory",
			 .used = m->tcp_bytes,
			 .max = m->tcp_max_bytes,
			 .raise = "net.ipv4.tcp_mem"},
			{.limit = "udp-memory",
			 .used = m->udp_bytes,
			 .max = m->udp_max_bytes,
			 .raise = "net.ipv4.udp_mem"},
			{.limit = "time-wait",
			 .used = widen_unknown(m->tcp_time_wait),
			 .max = widen_unknown(m->time_wait_max),
			 .raise = "net.ipv4.tcp_max_tw_buckets"},
			{.limit = "orphans",
			 .used = widen_unknown(m->tcp_orphan),
			 .max = widen_unknown(m->orphan_max),
			 .raise = "net.ipv4.tcp_max_orphans"},
		};

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct host_limit_record row = rows[i];

			row.netns = m->netns;
			add_row(snapshot, &row, i < 2);
		}
	}
	snapshot_each(snapshot, conntrack_type, const struct conntrack_record, c)
		add(snapshot, &(struct host_limit_record){.netns = c->netns,
							  .limit = "conntrack",
							  .used = c->entries,
							  .max = c->entries_max,
							  .raise = "net.netfilter.nf_conntrack_max"});
}

static void add_process(struct snapshot *snapshot, const struct process_record *p)
{
	char of[64];
	int n = snprintf(of, sizeof(of), "%.16s (%u)", p->comm, p->pid);

	add(snapshot, &(struct host_limit_record){.limit = "process-files",
						  .of = snapshot_text(snapshot, of, (size_t)n),
						  .used = p->fds,
						  .max = p->fd_max,
						  .raise = "RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)"});
}

static void add_files(struct snapshot *snapshot)
{
	struct fullest fullest = {};
	const char *text;
	uint64_t used, max;

	if (snapshot_read(snapshot, "/proc/sys/fs/file-nr") == 0) {
		text = buf_text(&snapshot->text);
		if (scan_u64(&text, &used) && scan_skip(&text, 1) && scan_u64(&text, &max))
			add(snapshot, &(struct host_limit_record){
					      .limit = "open-files", .used = used, .max = max, .raise = "fs.file-max"});
	}
	snapshot_each(snapshot, process_type, const struct process_record, p)
		if (is_notable(&fullest, widen_unknown(p->fds), widen_unknown(p->fd_max), p))
			add_process(snapshot, p);
	if (fullest.record && fullest.share < NOTABLE)
		add_process(snapshot, fullest.record);
}

static void add_listener(struct snapshot *snapshot, const struct socket_record *s)
{
	_cleanup_buf_ struct buf of = BUF_INIT(128);

	addr_format_endpoint(&(struct endpoint){s->laddr, s->lport}, &of);
	add(snapshot, &(struct host_limit_record){.netns = s->netns,
						  .limit = "accept-queue",
						  .of = snapshot_text(snapshot, buf_text(&of), of.len),
						  .used = s->backlog,
						  .max = s->backlog_max,
						  .raise = "listen() and net.core.somaxconn"});
}

static void add_listeners(struct snapshot *snapshot)
{
	struct fullest fullest = {};

	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (s->state == SOCKET_LISTEN &&
		    is_notable(&fullest, widen_unknown(s->backlog), widen_unknown(s->backlog_max), s))
			add_listener(snapshot, s);
	if (fullest.record && fullest.share < NOTABLE)
		add_listener(snapshot, fullest.record);
}

/* A setting that is a number; UINT64_MAX: unknown. */
static uint64_t read_number(struct snapshot *snapshot, const char *path)
{
	const char *text;
	uint64_t value;

	if (snapshot_read_setting(snapshot, path) < 0)
		return UINT64_MAX;
	text = buf_text(&snapshot->text);
	return scan_u64(&text, &value) ? value : UINT64_MAX;
}

/* Neighbour entries of the whole host, visible in the initial namespace only: names, then hexadecimal columns. */
static uint64_t read_entries(struct snapshot *snapshot, const char *path)
{
	const char *text;
	uint64_t value;

	if (snapshot_read(snapshot, path) < 0)
		return UINT64_MAX;
	text = buf_text(&snapshot->text);
	return scan_next_line(&text) && scan_hex(&text, &value) ? value : UINT64_MAX;
}

static void add_neighbours(struct snapshot *snapshot)
{
	static const struct {
		struct host_limit_record row;
		const char *stat, *path;
	} tables[] = {
		{{.limit = "neighbours-ipv4", .raise = "net.ipv4.neigh.default.gc_thresh3"},
		 "/proc/thread-self/net/stat/arp_cache",
		 "/proc/sys/net/ipv4/neigh/default/gc_thresh3"},
		{{.limit = "neighbours-ipv6", .raise = "net.ipv6.neigh.default.gc_thresh3"},
		 "/proc/thread-self/net/stat/ndisc_cache",
		 "/proc/sys/net/ipv6/neigh/default/gc_thresh3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct host_limit_record row = tables[i].row;

		row.used = read_entries(snapshot, tables[i].stat);
		row.max = read_number(snapshot, tables[i].path);
		add(snapshot, &row);
	}
}

/* The fullest per-CPU receive backlog (softnet). */
static void add_backlog(struct snapshot *snapshot)
{
	uint64_t max = read_number(snapshot, "/proc/sys/net/core/netdev_max_backlog"), used = UINT64_MAX;
	uint32_t cpu = 0;
	char of[24];
	int n;

	snapshot_each(snapshot, softnet_type, const struct softnet_record, softnet)
		if (softnet->backlog != UINT32_MAX && (used == UINT64_MAX || softnet->backlog > used)) {
			used = softnet->backlog;
			cpu = softnet->cpu;
		}
	n = snprintf(of, sizeof(of), "cpu %u", cpu);
	add(snapshot, &(struct host_limit_record){.limit = "receive-backlog",
						  .of = snapshot_text(snapshot, of, (size_t)n),
						  .used = used,
						  .max = max,
						  .raise = "net.core.netdev_max_backlog"});
}

/* Reassembly memory; usage and limit are per namespace. */
static void add_fragments(struct snapshot *snapshot)
{
	static const struct {
		struct host_limit_record row;
		const char *stat, *word, *path;
	} kinds[] = {
		{{.limit = "fragments-ipv4", .raise = "net.ipv4.ipfrag_high_thresh"},
		 "/proc/thread-self/net/sockstat",
		 "FRAG:",
		 "/proc/sys/net/ipv4/ipfrag_high_thresh"},
		{{.limit = "fragments-ipv6", .raise = "net.ipv6.ip6frag_high_thresh"},
		 "/proc/thread-self/net/sockstat6",
		 "FRAG6:",
		 "/proc/sys/net/ipv6/ip6frag_high_thresh"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct host_limit_record row = kinds[i].row;
		const char *line;

		row.netns = snapshot->netns;
		row.used = UINT64_MAX;
		row.max = read_number(snapshot, kinds[i].path);
		if (snapshot_read(snapshot, kinds[i].stat) < 0)
			continue;
		line = strstr(buf_text(&snapshot->text), kinds[i].word);
		line = line ? strstr(line, "memory ") : NULL;
		if (line)
			line += strlen("memory ");
		if (!line || !scan_u64(&line, &row.used))
			row.used = UINT64_MAX;
		add_row(snapshot, &row, true);
	}
}

/* Local ports that connections to one remote address and port have taken. */
struct target {
	struct addr raddr;
	uint16_t rport;
	uint8_t proto;
	uint32_t netns;
};

static void add_target(struct snapshot *snapshot, const struct target *target, uint64_t used, uint64_t max)
{
	_cleanup_buf_ struct buf of = BUF_INIT(128);

	addr_format_endpoint(&(struct endpoint){target->raddr, target->rport}, &of);
	add(snapshot, &(struct host_limit_record){.netns = target->netns,
						  .limit = "local-ports",
						  .of = snapshot_text(snapshot, buf_text(&of), of.len),
						  .used = used,
						  .max = max,
						  .raise = "net.ipv4.ip_local_port_range"});
}

static void count_targets(const struct snapshot *snapshot, uint64_t low, uint64_t high, struct map *used)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		struct target target;
		uint64_t *count;

		if (s->netns != snapshot->netns || s->state == SOCKET_LISTEN || s->rport == 0 || s->lport < low ||
		    s->lport > high)
			continue;
		memset(&target, 0, sizeof(target));
		target.raddr = s->raddr;
		target.rport = s->rport;
		target.proto = s->proto;
		target.netns = s->netns;
		count = map_put(used, &target, NULL);
		if (count)
			(*count)++;
	}
}

static void add_ports(struct snapshot *snapshot)
{
	_cleanup_(map_done) struct map used = MAP_INIT(sizeof(struct target), sizeof(uint64_t), DESTINATIONS_MAX);
	struct fullest fullest = {};
	const char *text;
	uint64_t low, high, max;
	const void *key;
	size_t at = 0;
	void *value;

	if (snapshot_read_setting(snapshot, "/proc/sys/net/ipv4/ip_local_port_range") < 0)
		return;
	text = buf_text(&snapshot->text);
	if (!scan_u64(&text, &low) || !scan_u64(&text, &high) || high < low)
		return;
	max = high - low + 1;
	count_targets(snapshot, low, high, &used);
	while (map_next(&used, &at, &key, &value))
		if (is_notable(&fullest, *(uint64_t *)value, max, key))
			add_target(snapshot, key, *(uint64_t *)value, max);
	if (fullest.record && fullest.share < NOTABLE)
		add_target(snapshot, fullest.record, *(uint64_t *)map_get(&used, fullest.record), max);
}

static int collect_host(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	(void)request;
	(void)why;
	add_memory(snapshot);
	add_files(snapshot);
	add_listeners(snapshot);
	add_neighbours(snapshot);
	add_backlog(snapshot);
	return 0;
}

/* Per-namespace settings: read inside the namespace. */
static int collect_ports(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	(void)request;
	(void)why;
	add_ports(snapshot);
	add_fragments(snapshot);
	return 0;
}

static const struct record_type *const needs[] = {&socket_type,    &process_type, &memory_type,
						  &conntrack_type, &softnet_type, NULL};
static const struct record_type *const types[] = {&host_limit_type, NULL};

static const struct snapshot_source limit_source = {
	.name = "limit",
	.lost = "use of host-wide limits",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.collect = collect_host,
};
SNAPSHOT_SOURCE(limit_source);

static const struct snapshot_source limit_ports_source = {
	.name = "limit-ports",
	.lost = "use of local ports and reassembly memory",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect_ports,
};
SNAPSHOT_SOURCE(limit_ports_source);
