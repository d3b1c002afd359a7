/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording of events alone, made by hand: what a report adds up, and what other programs get of it. */
#include <fcntl.h>
#include <jansson.h>

#include "event/core/event.h"
#include "event/skb/skb_drop.h"
#include "event/sock/sock.h"
#include "event/tcp/tcp.h"
#include "oops/oops.h"
#include "report/capture.h"
#include "report/export.h"
#include "report/report.h"
#include "store_room.h"

#define BEGIN UINT64_C(1794708000000000000)
#define MS    UINT64_C(1000000)

static struct store *store;

/* The head of an event at that millisecond. */
static void begin_event(struct event_head *head, uint64_t at_ms, const char *comm, const char *raddr, uint16_t lport,
			uint16_t rport)
{
	head->time_ns = BEGIN + at_ms * MS;
	head->pid = head->tid = 71;
	head->proto = 6;
	snprintf(head->comm, sizeof(head->comm), "%s", comm);
	REQUIRE(addr_parse(strchr(raddr, ':') ? "fd00::1" : "10.0.0.1", &head->laddr) == 0);
	REQUIRE(addr_parse(raddr, &head->raddr) == 0);
	head->lport = lport;
	head->rport = rport;
}

static void add_event(const char *name, const void *head, const void *data, const struct stack *kstack)
{
	struct event_extra extra = {.kstack = kstack ? *kstack : (struct stack){}};
	struct shape shape = event_shape(event_find(name));
	struct store_table *table;
	struct record record = {};

	record.parts[EVENT_PART_HEAD] = head;
	record.parts[EVENT_PART_EXTRA] = &extra;
	record.parts[EVENT_PART_DATA] = data;
	REQUIRE(store_table_open(store, name, &shape, &table) == 0);
	CHECK_OK(store_add(table, &record));
}

static void add_close(uint64_t at_ms, uint64_t cookie, enum tcp_role role, uint64_t bytes, uint64_t srtt_ns)
{
	struct tcp_close_event event;

	event_clear(event_find("tcp.close"), &event);
	begin_event(&event.head, at_ms, role == TCP_ROLE_SERVER ? "nginx" : "curl", "10.0.0.2",
		    role == TCP_ROLE_SERVER ? 443 : 40000, role == TCP_ROLE_SERVER ? 50000 : 80);
	event.head.cookie = cookie;
	event.data.role = (uint8_t)role;
	event.data.tx_bytes = bytes;
	event.data.rx_bytes = 2 * bytes;
	event.data.retransmits = 1;
	event.data.srtt_ns = srtt_ns;
	add_event("tcp.close", &event.head, &event.data, NULL);
}

static const char *const functions[] = {"tcp_retransmit_skb", "tcp_rto; timer"};
static const struct stack stack = {functions, 2};

static void add_retransmit(uint64_t at_ms, const char *raddr, uint32_t seq, const struct stack *kstack)
{
	struct tcp_retransmit_event event;

	event_clear(event_find("tcp.retransmit"), &event);
	begin_event(&event.head, at_ms, "curl", raddr, 40000, 80);
	event.data.seq = seq;
	event.data.bytes = 1448;
	event.data.kind = TCP_RETRANSMIT_TIMEOUT;
	event.data.state = 1;
	add_event("tcp.retransmit", &event.head, &event.data, kstack);
}

static void add_oops(uint64_t at_ms, const char *signature, const char *function)
{
	struct shape shape = SHAPE_OF(&oops_type);
	struct oops_report report;
	struct store_table *table;

	for (uint32_t i = 0; i < oops_type.field_count; i++)
		value_set_unknown(&oops_type.fields[i], &report);
	report.time_ns = BEGIN + at_ms * MS;
	report.signature = signature;
	report.function = function;
	report.what = "refcount_t: underflow";
	report.layer = "tcp";
	REQUIRE(store_table_open(store, oops_type.name, &shape, &table) == 0);
	CHECK_OK(store_add(table, &RECORD_OF(&report)));
}

static struct recording *make_recording(struct room *room)
{
	struct recording *recording = NULL;
	struct skb_drop_event drop;
	struct why why = {};

	room_make(room);
	store = room_create(room);
	add_close(100, 1, TCP_ROLE_CLIENT, 1000, 10 * MS);
	add_close(200, 2, TCP_ROLE_CLIENT, 500, 30 * MS);
	add_close(300, 3, TCP_ROLE_CLIENT, 500, 20 * MS);
	add_close(400, 4, TCP_ROLE_SERVER, 7000, 1 * MS);
	add_retransmit(1000, "10.0.0.2", 5000, &stack);
	add_retransmit(1200, "10.0.0.2", 5000, &stack);
	add_retransmit(1400, "fd00::2", 9000, NULL);
	event_clear(event_find("skb.drop"), &drop);
	begin_event(&drop.head, 1500, "nginx", "10.0.0.2", 443, 50000);
	drop.data.bytes = 60;
	add_event("skb.drop", &drop.head, &drop.data, NULL);
	add_event("skb.drop", &drop.head, &drop.data, NULL);
	add_oops(2000, "aaaa", "tcp_ack");
	add_oops(3000, "bbbb", "tcp_sendmsg");
	add_oops(4000, "bbbb", "tcp_sendmsg");
	REQUIRE(store_close(store, &why) == 0);
	if (recording_open(room->path, &recording, &why) < 0)
		unit_note("%s", why.text);
	REQUIRE(recording);
	return recording;
}

static const struct time_range all = {.to_ns = UINT64_MAX};

TEST(connections_that_ended_are_talkers)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = make_recording(&room);
	_cleanup_(report_freep) struct report *report = NULL;
	const struct report_talker *talkers;
	const struct report_record *head;
	struct why why = {};

	REQUIRE(report_make(recording, &all, &report, &why) == 0);
	head = report_head(report);
	CHECK_EQ_UINT(head->samples, 0);
	REQUIRE(head->talkers.count == 2);
	talkers = head->talkers.items;
	CHECK_EQ_TEXT(talkers[0].comm, "nginx");
	CHECK_EQ_TEXT(talkers[0].way, "from");
	CHECK_EQ_UINT(talkers[0].port, 443);
	CHECK_EQ_UINT(talkers[0].tx_bytes, 7000);
	CHECK_EQ_UINT(talkers[0].rx_bytes, 14000);
	CHECK_EQ_TEXT(talkers[1].comm, "curl");
	CHECK_EQ_TEXT(talkers[1].way, "to");
	CHECK_EQ_UINT(talkers[1].port, 80);
	CHECK_EQ_UINT(talkers[1].connections, 3);
	CHECK_EQ_UINT(talkers[1].tx_bytes, 2000);
	CHECK_EQ_UINT(talkers[1].retrans, 3);
	/* The middle of 10, 20 and 30 ms. */
	CHECK_EQ_UINT(talkers[1].srtt_ns, 20 * MS);
}

TEST(drops_and_kernel_reports_are_counted)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = make_recording(&room);
	_cleanup_(report_freep) struct report *report = NULL;
	const struct report_record *head;
	const struct report_oops *oopses;
	const struct report_drop *drops;
	struct why why = {};

	REQUIRE(report_make(recording, &all, &report, &why) == 0);
	head = report_head(report);
	REQUIRE(head->drops.count == 1);
	drops = head->drops.items;
	CHECK_EQ_TEXT(drops[0].where, "packet (event)");
	CHECK_EQ_UINT(drops[0].count, 2);
	REQUIRE(head->oopses.count == 2);
	oopses = head->oopses.items;
	CHECK_EQ_TEXT(oopses[0].signature, "bbbb");
	CHECK_EQ_UINT(oopses[0].count, 2);
	CHECK_EQ_UINT(oopses[0].begin_ns, BEGIN + 3000 * MS);
	CHECK_EQ_UINT(oopses[0].end_ns, BEGIN + 4000 * MS);
	CHECK_EQ_TEXT(oopses[0].function, "tcp_sendmsg");
	CHECK_EQ_TEXT(oopses[0].layer, "tcp");
	CHECK(!oopses[0].module);
	CHECK_EQ_TEXT(oopses[1].function, "tcp_ack");
	CHECK_EQ_UINT(oopses[1].count, 1);
}

/* --- for other programs --- */

typedef int export_fn(const struct export_request *request, struct out *out, struct why *why);

/* To a file of the room; its text when asked for. */
static int export_to(const struct room *room, struct recording *recording, export_fn *fn,
		     const struct time_range *range, struct buf *text, struct why *why)
{
	struct export_request request = {.recording = recording, .range = *range};
	_cleanup_free_ char *path = xasprintf("%s/out", room->dir);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), r;
	struct out out;

	REQUIRE(fd >= 0);
	out_init(&out, fd);
	r = fn(&request, &out, why);
	CHECK_OK(out_done(&out));
	if (text)
		CHECK_OK(buf_read_file(text, path));
	return r;
}

static void remove_out(const struct room *room)
{
	_cleanup_free_ char *path = xasprintf("%s/out", room->dir);

	(void)unlink(path);
}

TEST(stacks_are_folded_from_the_outermost_on)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = make_recording(&room);
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);
	struct time_range late = {.from_ns = BEGIN + 1300 * MS, .to_ns = UINT64_MAX};
	struct why why = {};

	CHECK_OK(export_to(&room, recording, export_folded, &all, &text, &why));
	CHECK_EQ_TEXT(buf_text(&text), "tcp.retransmit;curl;tcp_rto_ timer_[k];tcp_retransmit_skb_[k] 2\n");
	CHECK_ERR(export_to(&room, recording, export_folded, &late, NULL, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "record events with --stack");
	remove_out(&room);
}

/* libpcap reads them: three retransmissions, two drops. */
TEST(packets_of_events_are_a_capture)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = make_recording(&room);
	_cleanup_free_ char *path = xasprintf("%s/out", room.dir);
	_cleanup_(report_freep) struct report *report = NULL;
	_cleanup_buf_ struct buf bytes = BUF_INIT(1 << 16);
	const struct report_talker *talkers;
	const struct report_record *head;
	struct why why = {};

	CHECK_OK(export_to(&room, recording, export_pcapng, &all, &bytes, &why));
	CHECK(capture_recognize(path));
	CHECK(memmem(bytes.data, bytes.len, "tcp.retransmit (timeout), process curl (71)", 43));
	if (capture_report(path, &all, &report, &why) < 0)
		SKIP("%s", why.text);
	head = report_head(report);
	CHECK_EQ_UINT(head->samples, 5);
	CHECK_EQ_UINT(head->begin_ns, BEGIN + 1000 * MS);
	CHECK_EQ_UINT(head->end_ns, BEGIN + 1500 * MS);
	REQUIRE(head->talkers.count == 3);
	talkers = head->talkers.items;
	/* The same segment twice is retransmitted once. */
	CHECK_EQ_UINT(talkers[0].port, 80);
	CHECK_EQ_UINT(talkers[0].tx_bytes, 2 * 1448);
	CHECK_EQ_UINT(talkers[0].retrans, 1);
	CHECK_EQ_UINT(talkers[0].raddr.family, ADDR_V4);
	CHECK_EQ_UINT(talkers[1].tx_bytes, 1448);
	CHECK_EQ_UINT(talkers[1].raddr.family, ADDR_V6);
	remove_out(&room);
}

TEST(a_timeline_has_every_event)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = make_recording(&room);
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	unsigned retransmits = 0, closes = 0;
	json_t *trace, *events, *event;
	struct why why = {};
	size_t i;

	CHECK_OK(export_to(&room, recording, export_perfetto, &all, &text, &why));
	trace = json_loads(buf_text(&text), 0, NULL);
	REQUIRE(trace);
	events = json_object_get(trace, "traceEvents");
	json_array_foreach(events, i, event)
	{
		const char *name = json_string_value(json_object_get(event, "name"));
		double ts = json_number_value(json_object_get(event, "ts"));

		if (strcmp(name, "tcp.retransmit") == 0 && retransmits++ == 0) {
			CHECK_NEAR(ts, (double)((BEGIN + 1000 * MS) / 1000), 1);
			CHECK_EQ_INT(json_integer_value(json_object_get(event, "pid")), 71);
			CHECK_EQ_INT(json_integer_value(json_object_get(json_object_get(event, "args"), "seq")), 5000);
		}
		closes += strcmp(name, "tcp.close") == 0;
	}
	CHECK_EQ_UINT(retransmits, 3);
	CHECK_EQ_UINT(closes, 4);
	json_decref(trace);
	remove_out(&room);
}
