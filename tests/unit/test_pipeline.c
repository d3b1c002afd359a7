/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of events from its plan to its rows: what the kernel filters and adds up, what is left to do here, and that
 * both give the same figures.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "event/ip/icmp.h"
#include "event/sock/sock.h"
#include "event/tcp/tcp_hold.h"
#include "tool/core/pipeline.h"
#include "unit.h"

struct bench {
	struct trace_plan plan;
	struct trace_options options;
	struct pipeline pipeline;
	char path[64];
	char *keys[4];
	struct buf out;
};

static void bench_done(struct bench *b)
{
	(void)unlink(b->path);
	buf_done(&b->out);
	buf_done(&b->plan.where);
}

#define _cleanup_bench_ _cleanup_(bench_done)

/* JSON lines into a file; by: a key or NULL. */
static void bench_begin(struct bench *b, enum aggregate_kind kind, const char *by)
{
	*b = (struct bench){.plan = {.name = "test", .events = {"sock.send"}, .where = BUF_INIT(4096)},
			    .out = BUF_INIT(1 << 20)};
	snprintf(b->path, sizeof(b->path), "/tmp/nest-pipeline-%d.json", (int)getpid());
	b->options.output = (struct output_options){.json = true, .file = b->path};
	b->keys[0] = (char *)by;
	b->plan.aggregate = (struct aggregate_spec){
		.kind = kind, .value = kind == AGGREGATE_COUNT ? NULL : "bytes", .by = {by ? 1 : 0, b->keys}};
}

static void bench_open(struct bench *b)
{
	struct why why = {};

	if (!CHECK_OK(pipeline_open(&b->pipeline, &b->plan, &b->options, &why)))
		unit_note("%s", why.text);
	REQUIRE(b->pipeline.count > 0);
}

/* What the run printed. */
static const char *bench_close(struct bench *b)
{
	pipeline_show_groups(&b->pipeline, 1);
	CHECK_OK(pipeline_close(&b->pipeline));
	CHECK_OK(buf_read_file(&b->out, b->path));
	return buf_text(&b->out);
}

static void fill_event(struct sock_io_event *event, const char *comm, uint64_t bytes)
{
	event_clear(event_find("sock.send"), event);
	snprintf(event->head.comm, sizeof(event->head.comm), "%s", comm);
	event->data.bytes = bytes;
}

static void send_event(struct bench *b, unsigned request, const char *comm, uint64_t bytes)
{
	struct sock_io_event event;
	struct record record = {};

	fill_event(&event, comm, bytes);
	record.parts[EVENT_PART_HEAD] = &event.head;
	record.parts[EVENT_PART_DATA] = &event.data;
	pipeline_event(&b->pipeline, request, &record);
}

static void send_group(struct bench *b, const char *comm, uint64_t count, int64_t sum)
{
	struct event_group group = {.count = count, .sum = sum};
	struct sock_io_event event;
	struct record record = {};

	fill_event(&event, comm, 0);
	record.parts[EVENT_PART_HEAD] = &event.head;
	record.parts[EVENT_PART_DATA] = &event.data;
	pipeline_group(&b->pipeline, 0, &record, &group);
}

TEST(the_kernel_filters_and_adds_up_what_it_can)
{
	_cleanup_bench_ struct bench b;

	bench_begin(&b, AGGREGATE_SUM, "comm");
	b.options.output.where = "lport == 80";
	bench_open(&b);
	CHECK(b.pipeline.where[0] == NULL);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.mode, EVENT_SUM);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.term_count, 1);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.value_offset, offsetof(struct sock_io_event, data.bytes));
	CHECK(b.pipeline.requests[0].config.key_words > 0);
	CHECK(b.pipeline.requests[0].config.needs & EVENT_NEED_COMM);
	send_group(&b, "nginx", 3, 700);
	send_group(&b, "curl", 2, 900);
	CHECK_EQ_UINT(b.pipeline.seen, 5);
	CHECK_HAS_TEXT(bench_close(&b), "\"comm\":\"nginx\",\"count\":3,\"sum\":700");
	CHECK_HAS_TEXT(buf_text(&b.out), "\"comm\":\"curl\",\"count\":2,\"sum\":900");
}

/* A filter that the kernel cannot decide: adding up there would add up what does not match. */
TEST(beside_a_filter_that_it_cannot_decide_the_kernel_adds_nothing_up)
{
	_cleanup_bench_ struct bench b;

	bench_begin(&b, AGGREGATE_SUM, "comm");
	b.options.output.where = "comm ~ \"*gin*\"";
	bench_open(&b);
	CHECK(b.pipeline.where[0] != NULL);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.mode, EVENT_STREAM);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.key_words, 0);
	send_event(&b, 0, "nginx", 300);
	send_event(&b, 0, "curl", 50);
	send_event(&b, 0, "nginx", 400);
	CHECK_EQ_UINT(b.pipeline.seen, 2);
	CHECK_HAS_TEXT(bench_close(&b), "\"comm\":\"nginx\",\"count\":2,\"sum\":700");
	CHECK(!strstr(buf_text(&b.out), "curl"));
}

/* One of two conditions can be decided there: both are looked at. */
TEST(the_rest_of_a_filter_is_evaluated_here)
{
	_cleanup_bench_ struct bench b;

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.options.output.where = "bytes >= 100 and comm ~ \"*gin*\"";
	bench_open(&b);
	CHECK(b.pipeline.where[0] != NULL);
	send_event(&b, 0, "nginx", 99);
	send_event(&b, 0, "nginx", 100);
	send_event(&b, 0, "curl", 100);
	CHECK_EQ_UINT(b.pipeline.seen, 1);
	CHECK_EQ_UINT(unit_occurrences(bench_close(&b), "\"comm\":\"nginx\""), 1);
}

TEST(what_is_saved_or_recorded_is_streamed_whole)
{
	for (unsigned i = 0; i < 3; i++) {
		_cleanup_bench_ struct bench b;
		const struct event_config *config = &b.pipeline.requests[0].config;

		bench_begin(&b, AGGREGATE_COUNT, "comm");
		b.options.save = i == 0 ? "x.nest" : NULL;
		b.options.input.file = i == 1 ? "x.nest" : NULL;
		b.options.output.where = "lport == 80";
		bench_open(&b);
		unit_note("case %u", i);
		CHECK_EQ_UINT(config->mode, i == 2 ? EVENT_COUNT : EVENT_STREAM);
		/* A recording has no kernel that filters. */
		CHECK_EQ_INT(b.pipeline.where[0] != NULL, i == 1);
		CHECK_EQ_INT((config->needs & EVENT_NEED_UID) != 0, i == 0);
		CHECK_EQ_INT((config->needs & EVENT_NEED_KSTACK) != 0, 0);
		(void)bench_close(&b);
	}
}

static bool has_key(const struct event_config *config, size_t offset, size_t size)
{
	uint64_t mask = (size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1) << offset % 8 * 8;

	for (unsigned i = 0; i < config->key_words; i++)
		if (config->key[i].offset == offset / 8 * 8 && (config->key[i].mask & mask) == mask)
			return true;
	return false;
}

/* Names are made here; the kernel's number for them is the key. Addresses of a user stack depend on the process. */
TEST(keys_made_here_are_numbers_there)
{
	static const struct {
		const char *key;
		size_t offset, size;
		uint32_t needs;
	} cases[] = {
		{"kstack", offsetof(struct event_head, kstack_id), 4, EVENT_NEED_KSTACK},
		{"ustack", offsetof(struct event_head, ustack_id), 4, EVENT_NEED_USTACK},
		{"cgroup", offsetof(struct event_head, cgroup_id), 8, EVENT_NEED_CGROUP},
		{"container", offsetof(struct event_head, cgroup_id), 8, EVENT_NEED_CGROUP},
		{"pid", offsetof(struct event_head, pid), 4, EVENT_NEED_OWNER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_bench_ struct bench b;
		const struct event_config *config = &b.pipeline.requests[0].config;

		unit_note("%s", cases[i].key);
		bench_begin(&b, AGGREGATE_COUNT, cases[i].key);
		bench_open(&b);
		CHECK_EQ_UINT(config->mode, EVENT_COUNT);
		CHECK(has_key(config, cases[i].offset, cases[i].size));
		CHECK(config->needs & cases[i].needs);
		CHECK_EQ_INT(has_key(config, offsetof(struct event_head, pid), 4),
			     strcmp(cases[i].key, "ustack") == 0 || strcmp(cases[i].key, "pid") == 0);
		CHECK_EQ_INT(b.pipeline.with_extra, strcmp(cases[i].key, "pid") != 0);
		(void)bench_close(&b);
	}
}

/* A time is another one in every event, and elapsed time is no number of the kernel. */
TEST(keys_that_the_kernel_cannot_have)
{
	static const char *const keys[] = {"time_ns", "elapsed_ns"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		_cleanup_bench_ struct bench b;

		bench_begin(&b, AGGREGATE_COUNT, keys[i]);
		bench_open(&b);
		unit_note("%s", keys[i]);
		CHECK_EQ_UINT(b.pipeline.requests[0].config.mode, EVENT_STREAM);
		(void)bench_close(&b);
	}
}

/* Elapsed time is made here: with it among the sums, all of them are. */
TEST(further_sums)
{
	static const struct aggregate_table there = {.adds = {"bytes"}}, here = {.adds = {"elapsed_ns"}};

	for (unsigned i = 0; i < 2; i++) {
		_cleanup_bench_ struct bench b;
		const struct event_config *config = &b.pipeline.requests[0].config;

		bench_begin(&b, AGGREGATE_COUNT, "comm");
		b.plan.aggregate.table = i == 0 ? &there : &here;
		bench_open(&b);
		unit_note("case %u", i);
		CHECK_EQ_UINT(config->mode, i == 0 ? EVENT_COUNT : EVENT_STREAM);
		CHECK_EQ_UINT(config->add_count, i == 0 ? 1 : 0);
		if (i == 0)
			CHECK_EQ_UINT(config->adds[0].offset, offsetof(struct sock_io_event, data.bytes));
		(void)bench_close(&b);
	}
}

TEST(a_linear_histogram_has_its_slots)
{
	_cleanup_bench_ struct bench b;
	const struct event_config *config = &b.pipeline.requests[0].config;

	bench_begin(&b, AGGREGATE_LHIST, NULL);
	b.plan.aggregate.first = 10;
	b.plan.aggregate.last = 50;
	b.plan.aggregate.step = 20;
	bench_open(&b);
	CHECK_EQ_UINT(config->mode, EVENT_LINEAR);
	CHECK_EQ_UINT(config->slot_count, 2);
	CHECK_EQ_INT(config->slot_first, 10);
	CHECK_EQ_INT(config->slot_width, 20);
	CHECK_EQ_UINT(config->value_form, EVENT_U64);
	(void)bench_close(&b);
}

TEST(a_condition_on_sums_filters_rows)
{
	_cleanup_bench_ struct bench b;

	bench_begin(&b, AGGREGATE_SUM, "comm");
	b.options.output.where = "sum > 500";
	bench_open(&b);
	CHECK(b.pipeline.where_rows);
	CHECK(b.pipeline.where[0] == NULL);
	CHECK_EQ_UINT(b.pipeline.requests[0].config.mode, EVENT_SUM);
	send_group(&b, "much", 1, 501);
	send_group(&b, "little", 1, 500);
	CHECK_HAS_TEXT(bench_close(&b), "\"comm\":\"much\"");
	CHECK(!strstr(buf_text(&b.out), "little"));
}

/* Several events in one table: each has the fields of all, unknown where it has none. */
TEST(several_events_share_a_table)
{
	_cleanup_bench_ struct bench b;

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.plan.events[1] = "sock.connect";
	b.options.output.show = (struct text_list){.count = 3, .items = b.keys};
	b.keys[0] = (char *)"event";
	b.keys[1] = (char *)"bytes";
	b.keys[2] = (char *)"comm";
	bench_open(&b);
	CHECK_EQ_UINT(b.pipeline.count, 2);
	CHECK(b.pipeline.with_extra);
	CHECK(b.pipeline.requests[1].config.needs & EVENT_NEED_COMM);
	send_event(&b, 0, "a", 7);
	{
		_cleanup_free_ char *bytes =
			xzalloc(sizeof(struct event_head) + event_find("sock.connect")->type->size);
		struct record record = {};

		/* Every byte is 1: of all that it knows, nothing is called bytes. */
		event_clear(event_find("sock.connect"), bytes);
		memset(bytes + sizeof(struct event_head), 1, event_find("sock.connect")->type->size);
		record.parts[EVENT_PART_HEAD] = bytes;
		record.parts[EVENT_PART_DATA] = bytes + sizeof(struct event_head);
		pipeline_event(&b.pipeline, 1, &record);
	}
	send_event(&b, 0, "b", 8);
	CHECK_EQ_UINT(b.pipeline.seen, 3);
	CHECK_EQ_TEXT(bench_close(&b), "{\"event\":\"sock.send\",\"bytes\":7,\"comm\":\"a\"}\n"
				       "{\"event\":\"sock.connect\",\"bytes\":null,\"comm\":null}\n"
				       "{\"event\":\"sock.send\",\"bytes\":8,\"comm\":\"b\"}\n");
}

static void send_data(struct bench *b, unsigned request, struct event_head *head, const void *data)
{
	struct record record = {};

	record.parts[EVENT_PART_HEAD] = head;
	record.parts[EVENT_PART_DATA] = data;
	pipeline_event(&b->pipeline, request, &record);
}

/* Sequence numbers of ICMP have 16 bits, of TCP 32; reasons of a hold and of a drop have nothing in common. */
TEST(fields_of_a_name_have_the_widest_number)
{
	_cleanup_bench_ struct bench b;
	struct icmp_echo_event echo;
	struct tcp_hold_event hold;

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.plan.events[0] = "icmp.echo";
	b.plan.events[1] = "tcp.hold";
	b.plan.events[2] = "sock.overflow";
	b.options.output.show = (struct text_list){.count = 3, .items = b.keys};
	b.keys[0] = (char *)"event";
	b.keys[1] = (char *)"seq";
	b.keys[2] = (char *)"reason";
	bench_open(&b);
	event_clear(event_find("icmp.echo"), &echo);
	echo.data.seq = 65000;
	send_data(&b, 0, &echo.head, &echo.data);
	event_clear(event_find("tcp.hold"), &hold);
	hold.data.seq = 4000000000;
	hold.data.reason = TCP_HOLD_CORK;
	send_data(&b, 1, &hold.head, &hold.data);
	{
		char bytes[512] = {};

		REQUIRE(event_size(event_find("sock.overflow")) <= sizeof(bytes));
		memset(bytes + sizeof(struct event_head), 1, sizeof(bytes) - sizeof(struct event_head));
		send_data(&b, 2, (struct event_head *)bytes, bytes + sizeof(struct event_head));
	}
	CHECK_EQ_TEXT(bench_close(&b), "{\"event\":\"icmp.echo\",\"seq\":65000,\"reason\":null}\n"
				       "{\"event\":\"tcp.hold\",\"seq\":4000000000,\"reason\":\"cork\"}\n"
				       "{\"event\":\"sock.overflow\",\"seq\":null,\"reason\":null}\n");
}

/* Nothing is shown that was not filled in. */
TEST(what_is_shown_is_asked_for)
{
	static const struct {
		const char *show;
		uint32_t needs;
	} cases[] = {{"uid", EVENT_NEED_UID}, {"laddr", EVENT_NEED_ADDRESSES}, {"netns", EVENT_NEED_NETNS}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_bench_ struct bench b;
		uint32_t needs;

		bench_begin(&b, AGGREGATE_NONE, NULL);
		b.keys[0] = (char *)cases[i].show;
		b.options.output.show = (struct text_list){.count = 1, .items = b.keys};
		b.options.user_stack = i == 0;
		b.options.kernel_stack = i == 1;
		bench_open(&b);
		needs = b.pipeline.requests[0].config.needs;
		unit_note("%s", cases[i].show);
		CHECK(needs & cases[i].needs);
		CHECK_EQ_INT((needs & EVENT_NEED_USTACK) != 0, i == 0);
		CHECK_EQ_INT((needs & EVENT_NEED_KSTACK) != 0, i == 1);
		CHECK_EQ_INT((needs & EVENT_NEED_COOKIE) != 0, 0);
		(void)bench_close(&b);
	}
}

/* The time of an event since the run began; of one without a time, unknown. */
TEST(elapsed_time)
{
	_cleanup_bench_ struct bench b;
	struct sock_io_event event;

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.keys[0] = (char *)"elapsed_ns";
	b.options.output.show = (struct text_list){.count = 1, .items = b.keys};
	bench_open(&b);
	b.pipeline.start_ns = 1000;
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t times[] = {1700, 900, 0};
		struct record record = {};

		fill_event(&event, "x", 1);
		event.head.time_ns = times[i];
		record.parts[EVENT_PART_HEAD] = &event.head;
		record.parts[EVENT_PART_DATA] = &event.data;
		pipeline_event(&b.pipeline, 0, &record);
	}
	CHECK_EQ_TEXT(bench_close(&b), "{\"elapsed_ns\":700}\n{\"elapsed_ns\":0}\n{\"elapsed_ns\":null}\n");
}

/* Rates are of the time since the rows before, or of a recording's interval. */
TEST(rates_of_an_interval)
{
	static const struct aggregate_table table = {.rates = true};

	for (unsigned i = 0; i < 2; i++) {
		_cleanup_bench_ struct bench b;

		bench_begin(&b, AGGREGATE_SUM, "comm");
		b.plan.aggregate.table = &table;
		b.keys[1] = (char *)"count_rate";
		b.keys[2] = (char *)"sum_rate";
		b.options.output.show = (struct text_list){.count = 2, .items = b.keys + 1};
		bench_open(&b);
		b.pipeline.shown_ns = i == 0 ? 5 * UINT64_C(1000000000) : 0;
		b.pipeline.span_ns = 4 * UINT64_C(1000000000);
		send_group(&b, "nginx", 20, 700);
		pipeline_show_groups(&b.pipeline, 7 * UINT64_C(1000000000));
		unit_note("case %u", i);
		CHECK_EQ_UINT(b.pipeline.shown_ns, i == 0 ? 7 * UINT64_C(1000000000) : 0);
		CHECK_HAS_TEXT(bench_close(&b), i == 0 ? "{\"count_rate\":10,\"sum_rate\":350}\n"
						       : "{\"count_rate\":5,\"sum_rate\":175}\n");
	}
}

/* Sums: the time of day above them with -t, the time since the start with -T; of a recording since its beginning. */
TEST(moments_of_sums)
{
	static const struct {
		bool time_of_day, time_since, recorded;
		const char *first;
	} cases[] = {
		{true, false, false, "00:00:07\nCOMM  COUNT\n"},
		{false, true, false, "3.00 s\nCOMM  COUNT\n"},
		{true, true, false, "00:00:07 3.00 s\nCOMM  COUNT\n"},
		{false, true, true, "2.00 s\nCOMM  COUNT\n"},
		{false, false, false, "COMM  COUNT\n"},
	};

	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_bench_ struct bench b;

		unit_note("case %zu", i);
		bench_begin(&b, AGGREGATE_COUNT, "comm");
		b.options.output.json = false;
		b.options.time_of_day = cases[i].time_of_day;
		b.options.time_since = cases[i].time_since;
		b.options.input.file = cases[i].recorded ? "a.nest" : NULL;
		bench_open(&b);
		if (!cases[i].recorded)
			b.pipeline.start_ns = 4 * UINT64_C(1000000000);
		b.pipeline.span_ns = 2 * UINT64_C(1000000000);
		if (cases[i].recorded)
			send_event(&b, 0, "nginx", 700);
		else
			send_group(&b, "nginx", 20, 700);
		pipeline_show_groups(&b.pipeline, 7 * UINT64_C(1000000000));
		CHECK_OK(pipeline_close(&b.pipeline));
		CHECK_OK(buf_read_file(&b.out, b.path));
		CHECK(strncmp(buf_text(&b.out), cases[i].first, strlen(cases[i].first)) == 0);
	}
}

TEST(mistakes_of_a_plan)
{
	_cleanup_bench_ struct bench b;
	struct why why = {};

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.plan.events[0] = "sock.sent";
	CHECK_ERR(pipeline_open(&b.pipeline, &b.plan, &b.options, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "there is no event 'sock.sent'");
	CHECK_HAS_TEXT(why.text, "sock.send");
	CHECK_OK(pipeline_close(&b.pipeline));
	b.plan.events[0] = NULL;
	CHECK_ERR(pipeline_open(&b.pipeline, &b.plan, &b.options, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "no event given");
	CHECK_OK(pipeline_close(&b.pipeline));
	b.plan.events[0] = "sock.send";
	b.options.output.where = "nosuch == 1";
	CHECK(pipeline_open(&b.pipeline, &b.plan, &b.options, &why) < 0);
	CHECK_HAS_TEXT(why.text, "--where: ");
	CHECK_OK(pipeline_close(&b.pipeline));
	b.options.output.where = NULL;
	b.plan.aggregate.kind = AGGREGATE_COUNT;
	b.options.user_stack = true;
	CHECK_ERR(pipeline_open(&b.pipeline, &b.plan, &b.options, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "--ustack does not apply to sums: nest trace sock.send --count --by ustack");
	CHECK_OK(pipeline_close(&b.pipeline));
}

/* An interrupt has no process: a condition on one would silently show nothing. Beside events that have one, it has. */
TEST(fields_that_an_event_lacks)
{
	_cleanup_bench_ struct bench b;
	struct field_ref ref;
	struct why why = {};

	bench_begin(&b, AGGREGATE_NONE, NULL);
	b.plan.events[0] = "irq";
	b.options.output.where = "pid == 1";
	CHECK_ERR(pipeline_open(&b.pipeline, &b.plan, &b.options, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "unknown field 'pid'");
	CHECK_OK(pipeline_close(&b.pipeline));
	b.options.output.where = NULL;
	b.keys[0] = (char *)"comm";
	b.keys[1] = (char *)"name";
	b.options.output.show = (struct text_list){.count = 2, .items = b.keys};
	CHECK(pipeline_open(&b.pipeline, &b.plan, &b.options, &why) < 0);
	CHECK_OK(pipeline_close(&b.pipeline));
	b.plan.events[1] = "sock.send";
	bench_open(&b);
	CHECK(shape_find(&b.pipeline.shapes[0], "ustack", &ref) < 0 && b.pipeline.count == 2);
	send_event(&b, 1, "nginx", 700);
	CHECK_EQ_TEXT(bench_close(&b), "{\"comm\":\"nginx\",\"name\":null}\n");
}
