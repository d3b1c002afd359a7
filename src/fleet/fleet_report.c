/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "record/bare.h"
#include "view/format.h"
#include "view/json.h"
#include "view/list.h"

/*
 * The questions (kept_answer.h). A question is asked when all of its tables are there; of several with one name, the
 * first of these: agents add up minutes, nest record does not.
 */
struct section {
	const char *name;
	const char *heading; /* NULL: for pictures, not in the text */
	const char *tables[2];
	const char *sql;
	enum { OF_ANY, OF_FLEET, OF_HOST } scope; /* asked about the fleet, about a host, or both */
};

/* The address of path:ADDRESS and peer:ADDRESS:PORT. */
#define ADDRESS                                                                                                        \
	"replaceRegexpAll(if(module LIKE 'peer:%', replaceRegexpOne(ifNull(module, ''), ':[0-9]+$', ''), "             \
	"ifNull(module, '')), '^(path|peer):|[\\\\[\\\\]]', '')"
#define ELSEWHERE "(module LIKE 'path:%' OR module LIKE 'peer:%')"
#define ACCUSERS                                                                                                       \
	"SELECT " ADDRESS                                                                                              \
	" AS address, uniqExact(host) AS hosts, groupUniqArray(toString(ifNull(cause, ''))) AS causes, "               \
	"arrayStringConcat(arraySlice(arraySort(groupUniqArray(toString(host))), 1, 5), ', ') AS accusers, "           \
	"count() AS findings, max(certainty) AS certainty FROM @finding WHERE @time AND " ELSEWHERE                    \
	" GROUP BY address"

#define ACCUSED_HEADING "Addresses accused, and how many of the hosts that talk to them accuse them"
#define ACCUSED_BY(table)                                                                                              \
	"SELECT address, hosts, talkers, arrayStringConcat(arraySort(causes), ', ') AS reported, findings, "           \
	"certainty, "                                                                                                  \
	"accusers FROM (" ACCUSERS                                                                                     \
	") AS accused ANY LEFT JOIN (SELECT ifNull(raddr, '') AS address, uniqExact(host) AS "                         \
	"talkers FROM " table                                                                                          \
	" WHERE @time GROUP BY address) AS talked USING address ORDER BY hosts DESC, findings DESC, address LIMIT 30"
/* A mean of means, each of as many. */
#define MEAN(value, weight)                                                                                            \
	"toUInt64(sumIf(" value " * " weight ", isNotNull(" value ")) / greatest(sumIf(" weight ", isNotNull(" value   \
	")), 1))"

static const struct section sections[] = {
	{"causes",
	 "Causes",
	 {"finding"},
	 "SELECT cause, layer, uniqExact(host) AS hosts, count() AS findings, max(certainty) AS certainty, "
	 "min(time_ns) AS begin_ns, max(time_ns) AS end_ns FROM @finding WHERE @time GROUP BY cause, layer "
	 "ORDER BY hosts DESC, findings DESC, cause LIMIT 30"},
	{"timeline",
	 NULL,
	 {"finding"},
	 "SELECT intDiv(time_ns, @step) * @step AS begin_ns, cause, uniqExact(host) AS hosts, count() AS findings "
	 "FROM @finding WHERE @time GROUP BY begin_ns, cause ORDER BY begin_ns, cause LIMIT 5000"},
	{"findings",
	 "Findings",
	 {"finding"},
	 "SELECT min(time_ns) AS begin_ns, max(time_ns) AS end_ns, cause, layer, module, count() AS findings, "
	 "max(certainty) AS highest, argMax(severity, certainty) AS worst, argMax(because, certainty) AS "
	 "explanation, argMax(advice, certainty) AS counsel FROM @finding WHERE @time GROUP BY cause, layer, module "
	 "ORDER BY highest DESC, findings DESC, cause, module LIMIT 50",
	 OF_HOST},
	{"accused", ACCUSED_HEADING, {"finding", "path_minute"}, ACCUSED_BY("@path_minute"), OF_FLEET},
	{"accused", ACCUSED_HEADING, {"finding", "tcp_close"}, ACCUSED_BY("@tcp_close"), OF_FLEET},
	{"accused_services",
	 "Service ports accused",
	 {"finding"},
	 "SELECT toUInt16OrZero(extract(ifNull(module, ''), ':([0-9]+)$')) AS port, uniqExact(host) AS hosts, "
	 "uniqExact(module) AS servers, arrayStringConcat(arraySort(groupUniqArray(toString(ifNull(cause, '')))), "
	 "', ') AS reported, count() AS findings, max(certainty) AS certainty FROM @finding WHERE @time AND module "
	 "LIKE "
	 "'peer:%' GROUP BY port HAVING port > 0 ORDER BY hosts DESC, findings DESC, port LIMIT 20",
	 OF_FLEET},
	{"lossy",
	 "Addresses to which several hosts retransmit 1 % or more",
	 {"path_minute"},
	 "SELECT address, uniqExactIf(source, share >= 0.01) AS hosts, uniqExact(source) AS talkers, sum(segs) AS "
	 "segments, sum(again) AS retransmitted, sum(again) / sum(segs) AS retransmit_share FROM (SELECT "
	 "ifNull(raddr, '') AS address, host AS source, sum(tx_segs) AS segs, sum(retrans_segs) AS again, again / segs "
	 "AS share FROM @path_minute WHERE @time GROUP BY address, source HAVING segs >= 1000) WHERE address != '' "
	 "GROUP BY address HAVING hosts >= 2 ORDER BY hosts DESC, retransmitted DESC, address LIMIT 30",
	 OF_FLEET},
	{"alone",
	 "Hosts that alone accuse several addresses",
	 {"finding"},
	 "SELECT accuser AS host, count() AS addresses, sum(found) AS findings FROM (SELECT any(host) AS "
	 "accuser, " ADDRESS
	 " AS address, uniqExact(host) AS accusers, count() AS found FROM @finding WHERE @time AND " ELSEWHERE
	 " GROUP BY address HAVING accusers = 1) GROUP BY accuser HAVING addresses >= 3 "
	 "ORDER BY addresses DESC, host LIMIT 30",
	 OF_FLEET},
	{"hosts",
	 "Hosts with findings",
	 {"finding"},
	 "SELECT host, count() AS findings, uniqExact(cause) AS causes, uniqExact(module) AS modules, "
	 "argMax(cause, certainty) AS worst, argMax(module, certainty) AS worst_module, max(certainty) AS "
	 "worst_certainty, "
	 "max(time_ns) AS end_ns FROM @finding WHERE @time GROUP BY host ORDER BY findings DESC, host LIMIT 30",
	 OF_FLEET},
	{"services",
	 "Services",
	 {"service_minute"},
	 "SELECT port, role, uniqExact(host) AS hosts, sum(closed) AS connections_closed, sum(failed) AS "
	 "connections_failed, sum(tx_segs) AS segments, sum(retrans_segs) AS retransmitted, " MEAN(
		 "srtt_ns",
		 "connections") " AS srtt_mean_ns, max(srtt_max_ns) AS srtt_highest_ns, sum(answers) AS "
				"replies, " MEAN(
					"answer_ns",
					"answers") " AS reply_mean_ns "
						   "FROM @service_minute WHERE @time AND isNotNull(port) GROUP BY "
						   "port, role "
						   "ORDER BY connections_closed DESC, replies DESC, port LIMIT 20"},
	{"services",
	 "Services",
	 {"tcp_close"},
	 "SELECT if(role = 'server', lport, rport) AS port, role, uniqExact(host) AS hosts, count() AS connections, "
	 "sum(tx_bytes) AS tx_bytes, sum(rx_bytes) AS rx_bytes, sum(retransmits) AS retransmits, "
	 "countIf(isNotNull(error)) AS errors, toUInt64(quantile(0.5)(srtt_ns)) AS srtt_p50_ns, "
	 "toUInt64(quantile(0.99)(srtt_ns)) AS srtt_p99_ns "
	 "FROM @tcp_close WHERE @time AND isNotNull(role) GROUP BY port, role "
	 "ORDER BY connections DESC, port LIMIT 20"},
	{"paths",
	 "Peers by retransmissions",
	 {"path_minute"},
	 "SELECT raddr, uniqExact(host) AS hosts, sum(closed) AS connections_closed, sum(tx_segs) AS segments, "
	 "sum(retrans_segs) AS retransmitted, retransmitted / greatest(segments, 1) AS retransmit_share, "
	 "max(srtt_max_ns) AS srtt_highest_ns, min(min_rtt_ns) AS min_rtt_lowest_ns "
	 "FROM @path_minute WHERE @time AND isNotNull(raddr) GROUP BY raddr HAVING retransmitted > 0 "
	 "ORDER BY retransmitted DESC, raddr LIMIT 20"},
	{"paths",
	 "Peers by retransmissions",
	 {"tcp_close"},
	 "SELECT raddr, uniqExact(host) AS hosts, count() AS connections, sum(retransmits) AS retransmits, "
	 "sum(tx_bytes) AS tx_bytes, toUInt64(quantile(0.5)(srtt_ns)) AS srtt_p50_ns, min(min_rtt_ns) AS min_rtt_ns "
	 "FROM @tcp_close WHERE @time GROUP BY raddr HAVING retransmits > 0 "
	 "ORDER BY retransmits DESC, raddr LIMIT 20"},
	{"retransmits",
	 "Retransmissions by kind",
	 {"retransmit_minute"},
	 "SELECT kind, uniqExact(host) AS hosts, uniqExact(raddr) AS peers, sum(count) AS retransmissions, sum(bytes) "
	 "AS retransmitted_bytes FROM @retransmit_minute WHERE @time GROUP BY kind "
	 "ORDER BY retransmissions DESC, kind LIMIT 20"},
	{"drops",
	 "Dropped packets",
	 {"drop_minute"},
	 "SELECT reason, uniqExact(host) AS hosts, uniqExact(raddr) AS peers, sum(packets) AS drops, sum(bytes) AS "
	 "dropped_bytes, any(place) AS kernel_function FROM @drop_minute WHERE @time GROUP BY reason "
	 "ORDER BY drops DESC, reason LIMIT 20"},
	{"drops",
	 "Dropped packets",
	 {"skb_drop"},
	 "SELECT reason, uniqExact(host) AS hosts, count() AS drops FROM @skb_drop WHERE @time GROUP BY reason "
	 "ORDER BY drops DESC, reason LIMIT 20"},
	{"losses",
	 "Rows and events that were lost",
	 {"loss"},
	 "SELECT host, source, sum(count) AS lost FROM @loss WHERE @time GROUP BY host, source ORDER BY lost DESC, "
	 "host LIMIT 20"},
};

struct fleet_report {
	struct fleet_span span;
	char *server;
	struct kept_answer answers[ARRAY_SIZE(sections)];
	VEC(char *) conclusions;
	uint64_t hosts, hosts_with_findings;
};

/* The answer to the question of that name that was asked; else the last of that name, which is empty. */
static size_t section_of(const struct fleet_report *report, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strcmp(sections[i].name, name) == 0) {
			found = i;
			if (report->answers[i].asked)
				break;
		}
	return found;
}

static const struct kept_answer *answer_of(const struct fleet_report *report, const char *name)
{
	return &report->answers[section_of(report, name)];
}

/* --- questions --- */

static bool is_wanted(const struct section *section, const struct fleet_span *span, const struct kept_answer *tables)
{
	return section->scope != (span->host ? OF_FLEET : OF_HOST) &&
	       kept_answer_has(tables, "name", section->tables[0]) &&
	       (!section->tables[1] || kept_answer_has(tables, "name", section->tables[1]));
}

static int ask_all(struct fleet_link *link, struct fleet_report *report, const struct kept_answer *tables,
		   struct why *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sections); i++) {
		const struct section *section = &sections[i];

		if (!answer_of(report, section->name)->asked && is_wanted(section, &report->span, tables))
			r = kept_answer_ask(link, &report->span, section->sql, &report->answers[i], why);
	}
	return r;
}

/* Hosts that say anything: every host writes a verdict per second. */
static int count_hosts(struct fleet_link *link, struct fleet_report *report, const struct kept_answer *tables,
		       struct why *why)
{
	struct kept_answer kept = {};
	int r = 0;

	if (kept_answer_has(tables, "name", "verdict"))
		r = kept_answer_ask(link, &report->span,
				    "SELECT uniqExact(host) AS hosts, uniqExactIf(host, findings > 0) AS stalled FROM "
				    "@verdict WHERE @time",
				    &kept, why);
	if (r == 0 && kept.count) {
		report->hosts = kept_answer_number(&kept, 0, "hosts");
		report->hosts_with_findings = kept_answer_number(&kept, 0, "stalled");
	}
	kept_answer_done(&kept);
	return r;
}

/* --- conclusions --- */

/* One accuser proves nothing, and neither does a few of many. */
static bool is_shared(const struct kept_answer *kept, uint32_t row)
{
	uint64_t hosts = kept_answer_number(kept, row, "hosts");

	return hosts >= 2 && hosts * 2 >= kept_answer_number(kept, row, "talkers");
}

/* Loss that no host took for a cause: each of them has little of it, all of them to the same address. */
static void conclude_lossy(struct fleet_report *report, const struct kept_answer *accused)
{
	const struct kept_answer *lossy = answer_of(report, "lossy");

	for (uint32_t i = 0; i < lossy->count; i++) {
		const char *address = kept_answer_text(lossy, i, "address");

		if (is_shared(lossy, i) && !kept_answer_has(accused, "address", address))
			vec_push(&report->conclusions,
				 xasprintf("%s: %" PRIu64 " of %" PRIu64
					   " hosts that send to it retransmit 1 %% or more; segments are lost at that "
					   "address or on the path they share",
					   address, kept_answer_number(lossy, i, "hosts"),
					   kept_answer_number(lossy, i, "talkers")));
	}
}

static void conclude(struct fleet_report *report)
{
	const struct kept_answer *accused = answer_of(report, "accused"), *alone = answer_of(report, "alone");

	for (uint32_t i = 0; i < accused->count; i++) {
		uint64_t hosts = kept_answer_number(accused, i, "hosts"),
			 talkers = kept_answer_number(accused, i, "talkers");

		if (!is_shared(accused, i))
			continue;
		talkers = max_of(talkers, hosts);
		vec_push(&report->conclusions, xasprintf("%s: %" PRIu64 " of %" PRIu64
							 " hosts that talk to it report %s; the fault is at that "
							 "address or on the path they share",
							 kept_answer_text(accused, i, "address"), hosts, talkers,
							 kept_answer_text(accused, i, "reported")));
	}
	for (uint32_t i = 0; i < alone->count; i++)
		vec_push(&report->conclusions,
			 xasprintf("%s: accuses %" PRIu64 " address%s that no other host accuses; the fault is at this "
				   "host or its link",
				   kept_answer_text(alone, i, "host"), kept_answer_number(alone, i, "addresses"),
				   kept_answer_number(alone, i, "addresses") == 1 ? "" : "es"));
	conclude_lossy(report, accused);
}

int fleet_report_make(struct fleet_link *link, const struct fleet_span *span, struct fleet_report **ret_report,
		      struct why *why)
{
	_cleanup_(fleet_report_freep) struct fleet_report *report = xzalloc(sizeof(*report));
	struct kept_answer tables = {};
	int r;

	report->span = *span;
	report->server = xasprintf("%s/%s", link->url.base, link->url.database);
	r = kept_answer_tables(link, &tables, why);
	if (r == 0)
		r = ask_all(link, report, &tables, why);
	if (r == 0)
		r = count_hosts(link, report, &tables, why);
	kept_answer_done(&tables);
	if (r < 0)
		return r;
	conclude(report);
	*ret_report = take_ptr(report);
	return 0;
}

void fleet_report_free(struct fleet_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		kept_answer_done(&report->answers[i]);
	vec_each(&report->conclusions, text)
		free(*text);
	vec_done(&report->conclusions);
	free(report->server);
	free(report);
}

/* --- showing --- */

static void print_line(struct out *out, const char *text)
{
	text_add_terminal(&out->pending, text, strlen(text));
	out_end_line(out);
}

static void print_head(const struct fleet_report *report, struct out *out)
{
	struct buf *text = &out->pending;
	struct tm local;
	char until[32];

	buf_add_text(text, out_style_on(out, OUT_BOLD));
	text_add_terminal(text, report->server, strlen(report->server));
	buf_add_format(text, "%s, ", out_style_off(out, OUT_BOLD));
	format_add_duration(text, (int64_t)(report->span.to_ns - report->span.from_ns));
	if (localtime_r(&(time_t){(time_t)(report->span.to_ns / NSEC_PER_SEC)}, &local) &&
	    strftime(until, sizeof(until), "%Y-%m-%d %H:%M:%S", &local) > 0)
		buf_add_format(text, " up to %s", until);
	if (report->span.host) {
		buf_add_text(text, ": ");
		text_add_terminal(text, report->span.host, strlen(report->span.host));
	} else {
		buf_add_format(text, ": %" PRIu64 " host%s, %" PRIu64 " with findings", report->hosts,
			       text_plural(report->hosts), report->hosts_with_findings);
	}
	out_end_line(out);
}

void fleet_report_print(const struct fleet_report *report, struct out *out)
{
	bool any = false;

	print_head(report, out);
	if (report->conclusions.count)
		out_end_line(out);
	for (size_t i = 0; i < report->conclusions.count; i++)
		print_line(out, report->conclusions.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		const struct kept_answer *kept = &report->answers[i];
		struct list list = {.items = kept->rows.items, .count = kept->count};

		if (kept->count == 0 || !sections[i].heading)
			continue;
		any = true;
		out_end_line(out);
		buf_add_format(&out->pending, "%s%s%s", out_style_on(out, OUT_BOLD), sections[i].heading,
			       out_style_off(out, OUT_BOLD));
		out_end_line(out);
		list_print(out, &kept->type, &list);
	}
	if (!any)
		print_line(out, "No rows in this time.");
}

/* --- as JSON --- */

/* Columns of a section's rows are those of the database's answer. */
static const struct record_type row_type = {.name = "fleet.row", .help = "row of a section"};

struct report_record {
	const char *schema;
	uint64_t from_ns, to_ns, step_ns, hosts_seen, hosts_with_findings;
	const char *host;
	struct list conclusions;
	struct list causes, timeline, findings, accused, accused_services, lossy, alone, hosts, services, paths;
	struct list retransmits, drops, losses;
};

#define SECTION(member, help) FIELD(struct report_record, member, LIST, help ", null: not asked", .element = &row_type)

static const struct field report_fields[] = {
	FIELD(struct report_record, schema, TEXT, FLEET_REPORT_SCHEMA),
	FIELD(struct report_record, from_ns, TIME, "begin of the time"),
	FIELD(struct report_record, to_ns, TIME, "end of the time"),
	FIELD(struct report_record, step_ns, DURATION, "width of a step of the timeline"),
	FIELD(struct report_record, hosts_seen, COUNT, "hosts with verdicts"),
	FIELD(struct report_record, hosts_with_findings, COUNT, "hosts with findings"),
	FIELD(struct report_record, host, TEXT, "the host that was asked about, null: all"),
	FIELD(struct report_record, conclusions, LIST, "what several hosts agree on", .element = &bare_text_type),
	SECTION(causes, "findings by cause"),
	SECTION(timeline, "hosts and findings per step and cause"),
	SECTION(findings, "findings of one host"),
	SECTION(accused, "addresses accused, and by how many of those that talk to them"),
	SECTION(accused_services, "service ports accused"),
	SECTION(lossy, "addresses to which several hosts retransmit 1 % or more"),
	SECTION(alone, "hosts that alone accuse several addresses"),
	SECTION(hosts, "hosts with findings"),
	SECTION(services, "connections, retransmissions and RTT by service port"),
	SECTION(paths, "peers by retransmissions"),
	SECTION(retransmits, "retransmissions by kind"),
	SECTION(drops, "dropped packets by reason"),
	SECTION(losses, "rows and events that were lost"),
};
RECORD_TYPE(fleet_report_type, "fleet.report", struct report_record, report_fields, "report of the fleet");

static struct list *section_list(struct report_record *record, const struct field *field)
{
	return (struct list *)((char *)record + field->offset);
}

/* Rows of a section are records of the type that its answer came with. */
static void add_sections(const struct fleet_report *report, struct report_record *record, struct field *fields)
{
	for (size_t i = 0; i < ARRAY_SIZE(report_fields); i++) {
		const struct kept_answer *kept = answer_of(report, fields[i].name);

		if (fields[i].element != &row_type || !kept->asked)
			continue;
		*section_list(record, &fields[i]) = (struct list){kept->rows.items ?: "", kept->count};
		fields[i].element = &kept->type;
	}
}

void fleet_report_print_json(const struct fleet_report *report, struct out *out)
{
	struct report_record record = {.schema = FLEET_REPORT_SCHEMA,
				       .from_ns = report->span.from_ns,
				       .to_ns = report->span.to_ns,
				       .step_ns = fleet_span_step(&report->span),
				       .hosts_seen = report->hosts,
				       .hosts_with_findings = report->hosts_with_findings,
				       .host = report->span.host,
				       .conclusions = BARE_LIST(&report->conclusions)};
	struct field fields[ARRAY_SIZE(report_fields)];
	struct record_type type = fleet_report_type;

	memcpy(fields, report_fields, sizeof(fields));
	type.fields = fields;
	add_sections(report, &record, fields);
	json_add_object(&out->pending, &type, &record);
	out_end_line(out);
}
