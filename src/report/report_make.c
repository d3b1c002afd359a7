/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report from a recording: findings and marks as recorded, the rest computed from its snapshots and events. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "diagnose/infer/diagnosis.h"
#include "report/report_oops.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/softnet.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "store/recording_inside.h"
#include "store/replay.h"
#include "store/rows.h"
#include "store/sql.h"

/* A finding not reported for longer than this has ended. */
#define STALL_GAP_NS (5 * NSEC_PER_SEC / 2)
#define CONNS_MAX    ((size_t)1 << 20)

/* A TCP connection, with its counters when last seen. */
struct conn {
	struct addr raddr;
	uint16_t lport, rport;
	uint32_t talker;
	uint64_t tx, rx, retrans, retrans_bytes;
};

struct talker_key {
	struct addr raddr;
	uint16_t port;
	bool from;
	char comm[16];
} __attribute__((packed));

struct talker {
	struct report_talker sums;
	bool ended; /* listed even if nothing was sent */
	VEC(uint64_t) srtts;
};

struct making {
	struct report *report;
	struct recording *recording;
	struct time_range range;
	struct map conns;    /* cookie -> struct conn */
	struct map talkers;  /* struct talker_key -> index */
	struct map counters; /* "where\treason" -> struct drop_sum */
	struct map ports;    /* of listeners */
	VEC(struct talker) sums;
	VEC(uint64_t) srtts; /* of the current second */
	struct report_point point;
	uint64_t second_begin_ns;
	bool first;
};

struct drop_sum {
	uint64_t last;
	uint64_t sum;
};

/* --- findings --- */

static bool stall_continues(const struct report_stall *stall, const struct finding_record *finding, uint64_t time_ns)
{
	return strcmp(stall->cause, finding->cause) == 0 && strcmp(stall->module, finding->module) == 0 &&
	       time_ns >= stall->end_ns && time_ns - stall->end_ns <= STALL_GAP_NS;
}

static void see_finding(struct making *making, struct report_stall **stalls, size_t *count,
			const struct finding_record *finding, uint64_t time_ns)
{
	struct report_stall *stall = NULL;

	for (size_t i = *count; i-- > 0 && !stall;)
		if (stall_continues(&(*stalls)[i], finding, time_ns))
			stall = &(*stalls)[i];
	if (!stall) {
		*stalls = xrealloc_array(*stalls, *count + 1, sizeof(**stalls));
		stall = &(*stalls)[(*count)++];
		*stall = (struct report_stall){.begin_ns = time_ns,
					       .cause = report_text(making->report, finding->cause),
					       .module = report_text(making->report, finding->module),
					       .layer = report_text(making->report, finding->layer)};
	}
	stall->end_ns = time_ns;
	/* A finding covers the second before its time. */
	stall->span_ns = stall->end_ns - stall->begin_ns + NSEC_PER_SEC;
	if (!(finding->certainty < stall->certainty))
		stall->certainty = finding->certainty;
	if (finding->because)
		stall->because = report_text(making->report, finding->because);
}

static int read_findings(struct making *making, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	_cleanup_free_ struct report_stall *stalls = NULL;
	struct shape shape = {.count = 2, .types = {&moment_type, &finding_type}};
	struct finding_record finding;
	struct moment_record moment;
	size_t count = 0;
	int r;

	if (!recording_has(making->recording, finding_type.name))
		return 0;
	r = rows_open(making->recording,
		      &(struct rows_request){.name = finding_type.name,
					     .shape = &shape,
					     .from_ns = making->range.from_ns,
					     .to_ns = making->range.to_ns == UINT64_MAX ? 0 : making->range.to_ns},
		      &rows, why);
	while (r == 0 && (r = rows_next(rows, (void *[]){&moment, &finding}, why)) > 0) {
		if (moment.time_ns != UINT64_MAX && finding.cause && finding.module)
			see_finding(making, &stalls, &count, &finding, moment.time_ns);
		rows_free_parts(&shape, (void *[]){&moment, &finding});
		r = 0;
	}
	for (size_t i = 0; i < count; i++)
		report_add_stall(making->report, &stalls[i]);
	return r;
}

static int read_marks(struct making *making, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&mark_type);
	struct mark_record mark;
	int r = rows_open(making->recording, &(struct rows_request){.name = mark_type.name, .shape = &shape}, &rows,
			  why);

	while (r == 0 && (r = rows_next(rows, (void *[]){&mark}, why)) > 0) {
		if (mark.time_ns >= making->range.from_ns && mark.time_ns <= making->range.to_ns)
			report_add_mark(making->report, mark.time_ns, mark.label ?: "");
		rows_free_parts(&shape, (void *[]){&mark});
		r = 0;
	}
	return r;
}

/* --- connections --- */

static const char *owner_name(const struct snapshot *snapshot, const struct socket_record *socket)
{
	const struct owner_record *owners = snapshot_first(snapshot, &owner_type);
	const struct process_record *process;

	if (socket->owner == SOCKET_NONE)
		return "";
	process = process_find(snapshot, owners[socket->owner].pid);
	return process ? process->comm : "";
}

static uint32_t find_talker(struct making *making, const struct talker_key *key)
{
	uint32_t *index;
	bool is_new;

	index = map_put(&making->talkers, key, &is_new);
	if (!index)
		return UINT32_MAX;
	if (is_new) {
		struct talker *talker = vec_add(&making->sums);
		char comm[17] = "";

		memcpy(comm, key->comm, sizeof(key->comm));
		*index = (uint32_t)making->sums.count - 1;
		talker->sums = (struct report_talker){.comm = report_text(making->report, comm),
						      .way = key->from ? "from" : "to",
						      .raddr = key->raddr,
						      .port = key->port,
						      .retrans_share = NAN,
						      .srtt_ns = UINT64_MAX,
						      .min_rtt_ns = UINT64_MAX,
						      .resets = UINT32_MAX,
						      .zero_windows = UINT32_MAX};
	}
	return *index;
}

static uint32_t talker_of_socket(struct making *making, const struct snapshot *snapshot,
				 const struct socket_record *socket)
{
	const char *comm = owner_name(snapshot, socket);
	struct talker_key key;

	memset(&key, 0, sizeof(key));
	key.raddr = socket->raddr;
	key.from = map_get(&making->ports, &socket->lport) != NULL;
	key.port = key.from ? socket->lport : socket->rport;
	memcpy(key.comm, comm, strnlen(comm, sizeof(key.comm)));
	return find_talker(making, &key);
}

/* The increase of a counter; 0 at the first sample of a connection older than the recording. */
static uint64_t counter_move(uint64_t *last, uint64_t now)
{
	uint64_t delta = now == UINT64_MAX || *last == UINT64_MAX ? 0 : delta_between(*last, now);

	if (now != UINT64_MAX)
		*last = now;
	return delta == UINT64_MAX ? 0 : delta;
}

static void see_connection(struct making *making, const struct snapshot *snapshot, const struct socket_record *socket,
			   const struct tcp_record *tcp)
{
	bool is_new;
	struct conn *conn = map_put(&making->conns, &socket->cookie, &is_new);
	uint64_t tx, rx, retrans, retrans_bytes;
	struct talker *talker;

	if (!conn)
		return;
	if (is_new) {
		*conn = (struct conn){.talker = talker_of_socket(making, snapshot, socket)};
		if (conn->talker != UINT32_MAX)
			making->sums.items[conn->talker].sums.connections++;
		if (making->first) {
			conn->tx = tcp->bytes_sent;
			conn->rx = tcp->bytes_received;
			conn->retrans = tcp->total_retrans;
			conn->retrans_bytes = tcp->bytes_retrans;
		}
	}
	tx = counter_move(&conn->tx, tcp->bytes_sent);
	rx = counter_move(&conn->rx, tcp->bytes_received);
	retrans = counter_move(&conn->retrans, tcp->total_retrans == UINT32_MAX ? UINT64_MAX : tcp->total_retrans);
	retrans_bytes = counter_move(&conn->retrans_bytes, tcp->bytes_retrans);
	making->point.tx_rate += (double)tx;
	making->point.rx_rate += (double)rx;
	making->point.retrans_rate += (double)retrans;
	if (tcp->srtt_ns && tx + rx > 0)
		vec_push(&making->srtts, tcp->srtt_ns);
	if (conn->talker == UINT32_MAX)
		return;
	talker = &making->sums.items[conn->talker];
	talker->sums.tx_bytes += tx;
	talker->sums.rx_bytes += rx;
	talker->sums.retrans += retrans;
	talker->sums.retrans_bytes += retrans_bytes;
	talker->sums.min_rtt_ns = min_of(talker->sums.min_rtt_ns, tcp->min_rtt_ns);
	if (tcp->srtt_ns && tx + rx > 0) {
		vec_push(&talker->srtts, tcp->srtt_ns);
		report_add_latency(making->report, "TCP SRTT", tcp->srtt_ns);
	}
}

static void see_sockets(struct making *making, const struct snapshot *snapshot)
{
	uint32_t connections = 0;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->state == SOCKET_LISTEN && socket->lport)
			(void)map_put(&making->ports, &socket->lport, NULL);
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);

		connections += socket->state == SOCKET_ESTABLISHED && tcp;
		if (tcp)
			see_connection(making, snapshot, socket, tcp);
	}
	making->point.connections = connections;
}

/* --- drops --- */

static void see_drops(struct making *making, const char *where, const char *reason, uint64_t now)
{
	_cleanup_free_ char *key = xasprintf("%s\t%s", where, reason);
	struct drop_sum *sum;
	uint64_t delta;
	bool is_new;

	if (now == UINT64_MAX)
		return;
	sum = map_put(&making->counters, key, &is_new);
	if (!sum)
		return;
	if (is_new)
		sum->last = now;
	delta = delta_between(sum->last, now);
	sum->last = now;
	if (delta == UINT64_MAX)
		return;
	sum->sum += delta;
	making->point.drop_rate += (double)delta;
}

static bool is_drop(const char *counter)
{
	static const char *const patterns[] = {"*Drop",       "*Drops",       "*Dropped",     "*Overflows",
					       "*Pruned",     "*PruneCalled", "*InErrors",    "*bufErrors",
					       "*CsumErrors", "*InDiscards",  "*OutDiscards", "*NoRoutes",
					       "*AddrErrors", "*ReqQFull*",   "*Filter",      "*MemErrors"};

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (text_glob_match(patterns[i], counter))
			return true;
	return false;
}

static void see_counters(struct making *making, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, counter_type, const struct counter_record, counter)
		if (counter->counter && !counter->gauge && is_drop(counter->counter))
			see_drops(making, "protocols", counter->counter, counter->value);
	snapshot_each(snapshot, qdisc_type, const struct qdisc_record, qdisc) {
		_cleanup_free_ char *where = xasprintf("qdisc of %.16s", qdisc->dev),
				    *reason = xasprintf("%.16s %.12s", qdisc->kind, qdisc->handle);

		see_drops(making, where, reason, qdisc->drops == UINT32_MAX ? UINT64_MAX : qdisc->drops);
	}
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		_cleanup_free_ char *where = xasprintf("interface %.16s", link->dev);

		see_drops(making, where, "rx_dropped", link->rx_dropped);
		see_drops(making, where, "tx_dropped", link->tx_dropped);
		see_drops(making, where, "rx_errors", link->rx_errors);
		see_drops(making, where, "tx_errors", link->tx_errors);
	}
	snapshot_each(snapshot, softnet_type, const struct softnet_record, softnet) {
		_cleanup_free_ char *where = xasprintf("CPU %u", softnet->cpu);

		see_drops(making, where, "backlog full", softnet->dropped);
	}
}

/* --- seconds --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t middle_of(uint64_t *items, size_t count)
{
	if (count == 0)
		return UINT64_MAX;
	qsort(items, count, sizeof(*items), by_number);
	return items[(count - 1) / 2];
}

static void end_second(struct making *making, uint64_t now_ns)
{
	double seconds = (double)(now_ns - making->second_begin_ns) / NSEC_PER_SEC;
	struct report_point *point = &making->point;

	if (seconds > 0) {
		point->tx_rate /= seconds;
		point->rx_rate /= seconds;
		point->retrans_rate /= seconds;
		point->drop_rate /= seconds;
		point->srtt_ns = middle_of(making->srtts.items, making->srtts.count);
		report_add_point(making->report, point);
	}
	making->srtts.count = 0;
	making->second_begin_ns = now_ns;
	*point = (struct report_point){.time_ns = now_ns};
}

static void see_sample(struct making *making, const struct snapshot *snapshot)
{
	struct report_record *head = report_head(making->report);
	uint64_t now_ns = snapshot->begin_time_ns;

	if (making->first) {
		head->begin_ns = now_ns;
		making->second_begin_ns = now_ns;
		making->point.time_ns = now_ns;
	}
	see_sockets(making, snapshot);
	see_counters(making, snapshot);
	if (now_ns > making->second_begin_ns && now_ns - making->second_begin_ns >= NSEC_PER_SEC - NSEC_PER_SEC / 20)
		end_second(making, now_ns);
	making->first = false;
	head->end_ns = max_of(head->end_ns, now_ns);
	head->samples++;
}

static int walk_snapshots(struct making *making, struct why *why)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_(replay_closep) struct replay *replay = NULL;
	int r;

	if (!recording_has_states(making->recording, gap_type.name)) {
		report_add_unknown(making->report, "No snapshots were recorded: talkers and drops are known only "
						   "from events.");
		return 0;
	}
	r = replay_open(making->recording, &making->range, NULL, &replay, why);
	while (r == 0 && (r = replay_next(replay, snapshot, why)) > 0) {
		see_sample(making, snapshot);
		report_head(making->report)->lost += snapshot_refused(snapshot);
		r = 0;
	}
	if (replay)
		report_head(making->report)->lost += replay_refused(replay);
	return r;
}

static void add_sums(struct making *making)
{
	const void *key;
	size_t at = 0;
	void *value;

	vec_each(&making->sums, talker) {
		talker->sums.srtt_ns = middle_of(talker->srtts.items, talker->srtts.count);
		/* Only snapshots have the number of retransmitted bytes. */
		if (talker->sums.tx_bytes && !talker->ended)
			talker->sums.retrans_share = (double)talker->sums.retrans_bytes / (double)talker->sums.tx_bytes;
		if (talker->ended || talker->sums.tx_bytes + talker->sums.rx_bytes + talker->sums.retrans > 0)
			report_add_talker(making->report, &talker->sums);
	}
	while (map_next(&making->counters, &at, &key, &value)) {
		const struct drop_sum *sum = value;
		_cleanup_free_ char *where = xstrdup(key);
		char *reason = strchr(where, '\t');

		*reason++ = '\0';
		if (sum->sum)
			report_add_drop(making->report, where, reason, sum->sum);
	}
}

/* --- events --- */

static bool has_column(const struct recorded_table *table, const char *name)
{
	vec_each(&table->columns, column)
		if (strcmp(*column, name) == 0)
			return true;
	return false;
}

/* Events extend the recording's length where there are no samples. */
static void extend_span(struct making *making, int64_t time_ns)
{
	struct report_record *head = report_head(making->report);

	if (time_ns <= 0)
		return;
	if (head->begin_ns == 0 || (uint64_t)time_ns < head->begin_ns)
		head->begin_ns = (uint64_t)time_ns;
	head->end_ns = max_of(head->end_ns, (uint64_t)time_ns);
}

static void bind_range(const struct making *making, sqlite3_stmt *statement)
{
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)min_of(making->range.from_ns, (uint64_t)INT64_MAX));
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)min_of(making->range.to_ns, (uint64_t)INT64_MAX));
}

/* One distribution for every event table with a latency. */
static int read_latency(struct making *making, const struct recorded_table *table, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);
	_cleanup_free_ char *what = xasprintf("%s (lat_ns)", table->name);
	int code, r;

	buf_add_text(&sql, "SELECT time_ns, lat_ns FROM main.");
	sql_add_name(&sql, table->name);
	buf_add_text(&sql, " WHERE time_ns BETWEEN ?1 AND ?2");
	r = recording_prepare(making->recording, buf_text(&sql), &statement, why);
	if (r < 0)
		return r;
	bind_range(making, statement);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		sqlite3_int64 lat = sqlite3_column_int64(statement, 1);

		extend_span(making, sqlite3_column_int64(statement, 0));
		if (sqlite3_column_type(statement, 1) == SQLITE_INTEGER && lat >= 0)
			report_add_latency(making->report, what, (uint64_t)lat);
	}
	return code == SQLITE_DONE ? 0 : recording_fail(making->recording, code, why);
}

/* Drops by reason, from single events. */
static int read_drop_events(struct making *making, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code, r;

	if (!recording_has(making->recording, "skb.drop"))
		return 0;
	r = recording_prepare(
		making->recording,
		"SELECT coalesce(reason, 'unknown'), count(*) FROM main.skb_drop WHERE time_ns BETWEEN ?1 AND ?2 "
		"GROUP BY 1",
		&statement, why);
	if (r < 0)
		return r;
	bind_range(making, statement);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		report_add_drop(making->report, "packet (event)", (const char *)sqlite3_column_text(statement, 0),
				(uint64_t)sqlite3_column_int64(statement, 1));
	return code == SQLITE_DONE ? 0 : recording_fail(making->recording, code, why);
}

/* Columns of the statement below. */
enum close_column {
	CLOSE_TIME,
	CLOSE_COOKIE,
	CLOSE_COMM,
	CLOSE_RADDR,
	CLOSE_LPORT,
	CLOSE_RPORT,
	CLOSE_ROLE,
	CLOSE_TX,
	CLOSE_RX,
	CLOSE_RETRANSMITS,
	CLOSE_SRTT,
};

/* The column's integer; 0 when it holds none. */
static uint64_t number_of(sqlite3_stmt *statement, enum close_column column)
{
	sqlite3_int64 value = sqlite3_column_int64(statement, column);

	return sqlite3_column_type(statement, column) == SQLITE_INTEGER && value > 0 ? (uint64_t)value : 0;
}

static const char *text_of(sqlite3_stmt *statement, enum close_column column)
{
	return sqlite3_column_type(statement, column) == SQLITE_TEXT
		       ? (const char *)sqlite3_column_text(statement, column)
		       : "";
}

static void see_close(struct making *making, sqlite3_stmt *statement)
{
	uint64_t cookie = (uint64_t)sqlite3_column_int64(statement, CLOSE_COOKIE);
	uint64_t srtt_ns = number_of(statement, CLOSE_SRTT);
	const char *comm = text_of(statement, CLOSE_COMM);
	struct talker_key key;
	struct talker *talker;
	uint32_t at;

	extend_span(making, sqlite3_column_int64(statement, CLOSE_TIME));
	memset(&key, 0, sizeof(key));
	/* Connections seen in snapshots are already counted. */
	if (map_get(&making->conns, &cookie) || addr_parse(text_of(statement, CLOSE_RADDR), &key.raddr) < 0)
		return;
	key.from = strcmp(text_of(statement, CLOSE_ROLE), "server") == 0;
	key.port = (uint16_t)number_of(statement, key.from ? CLOSE_LPORT : CLOSE_RPORT);
	memcpy(key.comm, comm, strnlen(comm, sizeof(key.comm)));
	at = find_talker(making, &key);
	if (at == UINT32_MAX)
		return;
	talker = &making->sums.items[at];
	talker->ended = true;
	talker->sums.connections++;
	talker->sums.tx_bytes += number_of(statement, CLOSE_TX);
	talker->sums.rx_bytes += number_of(statement, CLOSE_RX);
	talker->sums.retrans += number_of(statement, CLOSE_RETRANSMITS);
	if (srtt_ns)
		vec_push(&talker->srtts, srtt_ns);
}

/* Connections shorter than the sample interval are known only from tcp.close. */
static int read_closes(struct making *making, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code, r;

	if (!recording_has(making->recording, "tcp.close"))
		return 0;
	r = recording_prepare(making->recording,
			      "SELECT time_ns, cookie, comm, raddr, lport, rport, role, tx_bytes, rx_bytes, "
			      "retransmits, srtt_ns FROM main.tcp_close WHERE time_ns BETWEEN ?1 AND ?2",
			      &statement, why);
	if (r < 0)
		return r;
	bind_range(making, statement);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		see_close(making, statement);
	return code == SQLITE_DONE ? 0 : recording_fail(making->recording, code, why);
}

static int read_events(struct making *making, struct why *why)
{
	int r = read_drop_events(making, why);

	if (r == 0)
		r = read_closes(making, why);

	for (size_t i = 0; r == 0 && i < recording_table_count(making->recording); i++) {
		const struct recorded_table *table = recording_table(making->recording, i);

		if (!table->states && has_column(table, "time_ns") && has_column(table, "lat_ns"))
			r = read_latency(making, table, why);
	}
	return r;
}

/* --- the report --- */

static void fill_head(struct making *making)
{
	struct report_record *head = report_head(making->report);
	const struct host_record *host = recording_host(making->recording);
	char text[66] = "";

	head->file = report_text(making->report, recording_path(making->recording));
	memcpy(text, host->host, sizeof(host->host));
	head->host = report_text(making->report, text);
	memcpy(text, host->kernel, sizeof(host->kernel));
	head->kernel = report_text(making->report, text);
	head->command = report_text(making->report, recording_command(making->recording));
}

static void making_done(struct making *making)
{
	vec_each(&making->sums, talker)
		vec_done(&talker->srtts);
	vec_done(&making->sums);
	vec_done(&making->srtts);
	map_done(&making->conns);
	map_done(&making->talkers);
	map_done(&making->counters);
	map_done(&making->ports);
}

int report_make(struct recording *recording, const struct time_range *range, struct report **ret_report,
		struct why *why)
{
	_cleanup_(report_freep) struct report *report = report_new();
	struct making making = {
		.report = report,
		.recording = recording,
		.range = *range,
		.conns = MAP_INIT(sizeof(uint64_t), sizeof(struct conn), CONNS_MAX),
		.talkers = MAP_INIT(sizeof(struct talker_key), sizeof(uint32_t), CONNS_MAX),
		.counters = MAP_INIT(0, sizeof(struct drop_sum), CONNS_MAX),
		.ports = MAP_INIT(sizeof(uint16_t), 1, 0),
		.first = true,
	};
	int r;

	fill_head(&making);
	r = read_findings(&making, why);
	if (r == 0)
		r = read_marks(&making, why);
	if (r == 0)
		r = report_oops_read(report, recording, range, why);
	if (r == 0)
		r = walk_snapshots(&making, why);
	if (r == 0)
		r = read_events(&making, why);
	if (r == 0)
		add_sums(&making);
	making_done(&making);
	if (r < 0)
		return r;
	(void)report_finish(report);
	*ret_report = take_ptr(report);
	return 0;
}
