/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_conn.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "diagnose/infer/infer.h"
#include "diagnose/measure/conn_minute.h"
#include "diagnose/measure/far_end.h"
#include "record/field_set.h"

#define FINDINGS_MAX 20
/* As in two_ends.rules. */
#define LOSS_CLEAR 0.02
#define LOSS_NONE  0.001
#define SEGS_MIN   20

struct conn_end {
	struct endpoint local;
	char *host; /* NULL: no rows of this end */
	struct conn_minute_record last;
	bool own_fault;
};

struct fleet_conn {
	struct conn_end ends[2];
	struct fleet_span span;
	char *name;
	struct end_pairs pairs;
	struct kept_answer rows, findings;
	struct far_end_measures measures;
	struct text_record hosts[2];
	struct finding_record found[FINDINGS_MAX + 1];
	struct text_record affects;
	char *texts[FINDINGS_MAX + 1]; /* because */
	char *lost_module;
	struct diagnosis_record record;
};

/* --- what was asked --- */

static int parse_conn(struct fleet_conn *conn, const char *text, struct why *why)
{
	const char *dash = strchr(text, '-');
	_cleanup_free_ char *first = dash ? xstrndup(text, (size_t)(dash - text)) : NULL;

	if (!first || addr_parse_endpoint(first, &conn->ends[0].local) < 0 ||
	    addr_parse_endpoint(dash + 1, &conn->ends[1].local) < 0 || !conn->ends[0].local.port ||
	    !conn->ends[1].local.port)
		return why_set(why, -EINVAL, "--conn needs ADDR:PORT-ADDR:PORT, such as 10.0.0.1:40000-10.0.0.2:443");
	return 0;
}

static void add_endpoint(struct buf *sql, const struct endpoint *endpoint, const char *side)
{
	char text[ADDR_TEXT_MAX];

	(void)addr_format(&endpoint->addr, text);
	buf_add_format(sql, "%caddr = '%s' AND %cport = %u", *side, text, *side, endpoint->port);
}

/* --- rows --- */

static int set_field(const struct field *field, void *record, const struct value *value)
{
	char text[ADDR_TEXT_MAX];

	switch (value->class) {
	case VALUE_UINT:
		return field_set_integer(field, record, value->uint);
	case VALUE_INT:
		return field_set_integer(field, record, value->sint);
	case VALUE_TEXT:
		return field_set_text(field, record, value->text, value->len);
	case VALUE_ADDR:
		return field_set_text(field, record, text, addr_format(value->addr, text));
	default:
		return 0;
	}
}

static bool get_minute(const struct kept_answer *rows, uint32_t row, struct conn_minute_record *ret_minute)
{
	const struct record_type *type = &conn_minute_type;

	*ret_minute = (struct conn_minute_record){
		.tx_bytes = UINT64_MAX,
		.acked_bytes = UINT64_MAX,
		.rx_bytes = UINT64_MAX,
		.tx_segs = UINT32_MAX,
		.retrans_segs = UINT32_MAX,
		.rx_segs = UINT32_MAX,
	};
	for (uint32_t i = 0; i < type->field_count; i++) {
		struct value value = kept_answer_cell(rows, row, type->fields[i].name);

		if (set_field(&type->fields[i], ret_minute, &value) < 0)
			return false;
	}
	return ret_minute->time_ns != 0;
}

static bool is_endpoint(const struct endpoint *endpoint, const struct addr *addr, uint16_t port)
{
	return endpoint->port == port && memcmp(&endpoint->addr, addr, sizeof(*addr)) == 0;
}

static void add_row(struct fleet_conn *conn, struct snapshot *snapshot, uint32_t row, enum end_side side)
{
	struct conn_end *end = &conn->ends[side];
	struct conn_minute_record minute;

	if (!get_minute(&conn->rows, row, &minute) || !is_endpoint(&end->local, &minute.laddr, minute.lport))
		return;
	if (!end->host)
		end->host = xstrdup(kept_answer_text(&conn->rows, row, "host"));
	end->last = minute;
	conn_minute_show(&minute, snapshot);
	end_pairs_add(&conn->pairs, side, snapshot);
}

static int ask_rows(struct fleet_conn *conn, struct fleet_link *link, struct why *why)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	int r;

	buf_add_text(&sql, "SELECT * FROM @conn_minute WHERE @time AND ((");
	add_endpoint(&sql, &conn->ends[0].local, "l");
	buf_add_text(&sql, " AND ");
	add_endpoint(&sql, &conn->ends[1].local, "r");
	buf_add_text(&sql, ") OR (");
	add_endpoint(&sql, &conn->ends[1].local, "l");
	buf_add_text(&sql, " AND ");
	add_endpoint(&sql, &conn->ends[0].local, "r");
	buf_add_text(&sql, ")) ORDER BY time_ns LIMIT 20000");
	r = kept_answer_ask(link, &conn->span, buf_text(&sql), &conn->rows, why);
	for (enum end_side side = END_HERE; r == 0 && side <= END_THERE; side++)
		for (uint32_t row = 0; row < conn->rows.count; row++)
			add_row(conn, snapshot, row, side);
	return r;
}

/* --- both ends --- */

static void measure_loss(const struct end_pair *pair, enum end_side from, uint64_t *ret_segs, uint64_t *ret_arrived,
			 uint64_t *ret_lost, double *ret_share)
{
	const struct end_history *sender = &pair->sides[from], *receiver = &pair->sides[!from];
	uint64_t begin, end;
	struct end_loss loss;

	if (sender->samples.count < 2 || receiver->samples.count < 2)
		return;
	begin = max_of(sender->samples.items[0].sent, receiver->samples.items[0].received);
	end = min_of(sender->samples.items[sender->samples.count - 1].sent,
		     receiver->samples.items[receiver->samples.count - 1].received);
	if (!end_pair_loss(pair, from, begin, end, &loss))
		return;
	*ret_segs = loss.sent_segs;
	*ret_arrived = loss.arrived_segs;
	*ret_lost = loss.sent_segs > loss.arrived_segs ? loss.sent_segs - loss.arrived_segs : 0;
	*ret_share = loss.sent_segs ? (double)*ret_lost / (double)loss.sent_segs : NAN;
}

static void fill_measures(struct fleet_conn *conn)
{
	struct far_end_measures *m = &conn->measures;
	const struct conn_end *here = &conn->ends[0], *there = &conn->ends[1];
	struct clock_bound bound = end_pairs_align(&conn->pairs);
	struct end_key key = end_key_make(&here->local.addr, here->local.port, &there->local.addr, there->local.port);
	const struct end_pair *pair = end_pairs_find(&conn->pairs, &key);

	far_end_measures_init(m, conn->name);
	(void)clock_bound_offset(&bound, &m->far_clock_error_ns);
	snprintf(m->far_host, sizeof(m->far_host), "%s", there->host);
	m->far_pid = there->last.pid;
	memcpy(m->far_comm, there->last.comm, sizeof(m->far_comm));
	m->far_recvq_max_bytes = there->last.recvq_bytes;
	if (!pair)
		return;
	measure_loss(pair, END_HERE, &m->out_segs, &m->out_arrived_segs, &m->out_lost_segs, &m->out_lost_share);
	measure_loss(pair, END_THERE, &m->in_segs, &m->in_arrived_segs, &m->in_lost_segs, &m->in_lost_share);
}

/* --- findings --- */

static int ask_findings(struct fleet_conn *conn, struct fleet_link *link, struct why *why)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(8192), a = BUF_INIT(256), b = BUF_INIT(256);

	addr_format_endpoint(&conn->ends[0].local, &a);
	addr_format_endpoint(&conn->ends[1].local, &b);
	/* Ids of modules are made of digits, letters and [].:-; an address is nothing else. */
	buf_add_format(&sql,
		       "SELECT host, cause, layer, module, max(certainty) AS worst, argMax(because, certainty) AS why, "
		       "argMax(advice, certainty) AS remedy FROM @finding WHERE @time AND "
		       "(positionCaseInsensitive(toString(affects), 'conn:%s-%s') > 0 OR "
		       "positionCaseInsensitive(toString(affects), 'conn:%s-%s') > 0) "
		       "GROUP BY host, cause, layer, module ORDER BY worst DESC, cause LIMIT %d",
		       buf_text(&a), buf_text(&b), buf_text(&b), buf_text(&a), FINDINGS_MAX);
	return kept_answer_ask(link, &conn->span, buf_text(&sql), &conn->findings, why);
}

/* What a host cannot see for itself. */
static bool is_elsewhere(const char *layer)
{
	return strcmp(layer, "path") == 0 || strcmp(layer, "peer") == 0;
}

static bool is_loss(const char *cause)
{
	return strcmp(cause, "path-loss") == 0 || strcmp(cause, "path-blackhole") == 0 ||
	       strcmp(cause, "path-outage") == 0 || strcmp(cause, "path-policed") == 0;
}

double fleet_conn_judge(const struct fleet_conn_finding *finding, bool other_own, double lost)
{
	double certainty = finding->certainty;

	if (!is_elsewhere(finding->layer))
		return certainty;
	/* The other host knows better what it does, and so do two counters. */
	if (other_own)
		certainty *= 0.1;
	if (is_loss(finding->cause) && lost < LOSS_NONE)
		certainty *= 0.1;
	if (strcmp(finding->layer, "peer") == 0 && lost >= LOSS_CLEAR)
		certainty *= 0.5;
	if (strcmp(finding->cause, "path-loss") == 0 && lost >= LOSS_CLEAR)
		certainty = max_of(certainty, 0.95);
	return certainty;
}

static double lost_share(const struct far_end_measures *m)
{
	double out = m->out_segs != UINT64_MAX && m->out_segs >= SEGS_MIN ? m->out_lost_share : NAN;
	double in = m->in_segs != UINT64_MAX && m->in_segs >= SEGS_MIN ? m->in_lost_share : NAN;

	return isnan(out) ? in : isnan(in) ? out : max_of(out, in);
}

static struct fleet_conn_finding finding_at(const struct fleet_conn *conn, uint32_t row)
{
	struct value worst = kept_answer_cell(&conn->findings, row, "worst");

	return (struct fleet_conn_finding){
		.host = kept_answer_text(&conn->findings, row, "host"),
		.cause = kept_answer_text(&conn->findings, row, "cause"),
		.layer = kept_answer_text(&conn->findings, row, "layer"),
		.module = kept_answer_text(&conn->findings, row, "module"),
		.certainty = worst.class == VALUE_REAL   ? worst.real
			     : worst.class == VALUE_UINT ? (double)worst.uint
							 : 0,
	};
}

static void note_own_faults(struct fleet_conn *conn)
{
	for (uint32_t i = 0; i < conn->findings.count; i++) {
		struct fleet_conn_finding finding = finding_at(conn, i);

		for (size_t e = 0; e < ARRAY_SIZE(conn->ends); e++)
			if (conn->ends[e].host && strcmp(conn->ends[e].host, finding.host) == 0)
				conn->ends[e].own_fault |= !is_elsewhere(finding.layer) && finding.certainty >= 0.5;
	}
}

static bool other_has_fault(const struct fleet_conn *conn, const char *host)
{
	for (size_t e = 0; e < ARRAY_SIZE(conn->ends); e++)
		if (conn->ends[e].host && strcmp(conn->ends[e].host, host) != 0 && conn->ends[e].own_fault)
			return true;
	return false;
}

static struct finding_record *add_finding(struct fleet_conn *conn, const struct fleet_conn_finding *given,
					  double certainty, char *because)
{
	size_t count = conn->record.findings.count++;

	conn->texts[count] = because;
	conn->found[count] = (struct finding_record){
		.cause = given->cause,
		.layer = given->layer,
		.module = given->module,
		.accused = given->module,
		.summary = given->cause,
		.certainty = certainty,
		.severity = certainty >= 0.8 ? SEVERITY_HIGH : SEVERITY_MEDIUM,
		.because = because,
		.affects = {.items = &conn->affects, .count = 1},
	};
	return &conn->found[count];
}

/* Two counters say it even where neither host was sure. */
static void add_loss(struct fleet_conn *conn)
{
	const struct far_end_measures *m = &conn->measures;
	bool out = m->out_segs != UINT64_MAX && !(m->in_lost_share > m->out_lost_share);
	uint64_t segs = out ? m->out_segs : m->in_segs, lost = out ? m->out_lost_segs : m->in_lost_segs;
	struct fleet_conn_finding loss = {.cause = "path-loss", .layer = "path"};
	char address[ADDR_TEXT_MAX];

	(void)addr_format(&conn->ends[1].local.addr, address);
	loss.module = conn->lost_module = xasprintf("path:%s", address);
	(void)add_finding(conn, &loss, 0.95,
			  xasprintf("of %" PRIu64 " segments that %s sent to %s, %" PRIu64 " did not arrive", segs,
				    conn->ends[out ? 0 : 1].host, conn->ends[out ? 1 : 0].host, lost));
}

static int by_certainty(const void *a, const void *b)
{
	double first = ((const struct finding_record *)a)->certainty,
	       second = ((const struct finding_record *)b)->certainty;

	return first < second ? 1 : first > second ? -1 : 0;
}

static void judge(struct fleet_conn *conn)
{
	bool both = conn->ends[0].host && conn->ends[1].host;
	double lost = both ? lost_share(&conn->measures) : NAN;
	bool has_loss = false;

	note_own_faults(conn);
	for (uint32_t i = 0; i < conn->findings.count && i < FINDINGS_MAX; i++) {
		struct fleet_conn_finding given = finding_at(conn, i);
		struct value remedy = kept_answer_cell(&conn->findings, i, "remedy");
		double certainty = fleet_conn_judge(&given, both && other_has_fault(conn, given.host), lost);
		struct finding_record *finding;

		has_loss |= strcmp(given.cause, "path-loss") == 0;
		if (certainty < INFER_THRESHOLD)
			continue;
		finding = add_finding(conn, &given, certainty,
				      xasprintf("%s: %s", given.host, kept_answer_text(&conn->findings, i, "why")));
		finding->advice = remedy.class == VALUE_TEXT ? remedy.text : NULL;
	}
	if (!has_loss && lost >= LOSS_CLEAR)
		add_loss(conn);
	qsort(conn->found, conn->record.findings.count, sizeof(conn->found[0]), by_certainty);
}

/* --- the whole --- */

static void fill_record(struct fleet_conn *conn)
{
	struct diagnosis_record *record = &conn->record;
	bool both = conn->ends[0].host && conn->ends[1].host;

	conn->affects.text = conn->name;
	record->schema = DIAGNOSIS_SCHEMA;
	record->host = conn->ends[0].host ?: conn->ends[1].host;
	record->start_ns = conn->span.from_ns;
	record->window_ms = (conn->span.to_ns - conn->span.from_ns) / NSEC_PER_MSEC;
	record->findings.items = conn->found;
	for (size_t e = 0; both && e < ARRAY_SIZE(conn->ends); e++)
		conn->hosts[e].text = conn->ends[e].host;
	record->seen_from = (struct list){.items = conn->hosts, .count = both ? 2 : 0};
	record->ends = (struct list){.items = &conn->measures, .count = both};
	if (both)
		fill_measures(conn);
	judge(conn);
	record->healthy = record->findings.count == 0;
}

int fleet_conn_make(struct fleet_link *link, const char *conn_text, const struct fleet_span *span,
		    struct fleet_conn **ret_conn, struct why *why)
{
	_cleanup_(fleet_conn_freep) struct fleet_conn *conn = xzalloc(sizeof(*conn));
	_cleanup_(kept_answer_done) struct kept_answer tables = {};
	int r;

	conn->pairs = (struct end_pairs)END_PAIRS_INIT;
	conn->span = *span;
	conn->name = xasprintf("conn:%s", conn_text);
	r = parse_conn(conn, conn_text, why);
	if (r == 0)
		r = kept_answer_tables(link, &tables, why);
	if (r == 0 && kept_answer_has(&tables, "name", conn_minute_type.name))
		r = ask_rows(conn, link, why);
	if (r == 0 && !conn->ends[0].host && !conn->ends[1].host)
		r = why_set(why, -ENODATA,
			    "no host has rows of %s in this time: agents ship one per minute of each connection they "
			    "follow (table conn_minute); --last goes further back",
			    conn_text);
	if (r == 0 && kept_answer_has(&tables, "name", "finding"))
		r = ask_findings(conn, link, why);
	if (r < 0)
		return r;
	fill_record(conn);
	*ret_conn = take_ptr(conn);
	return 0;
}

void fleet_conn_free(struct fleet_conn *conn)
{
	if (!conn)
		return;
	for (size_t e = 0; e < ARRAY_SIZE(conn->ends); e++)
		free(conn->ends[e].host);
	for (size_t i = 0; i < ARRAY_SIZE(conn->texts); i++)
		free(conn->texts[i]);
	end_pairs_done(&conn->pairs);
	kept_answer_done(&conn->rows);
	kept_answer_done(&conn->findings);
	free(conn->lost_module);
	free(conn->name);
	free(conn);
}

const struct diagnosis_record *fleet_conn_diagnosis(const struct fleet_conn *conn)
{
	return &conn->record;
}
