/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of nest agent: options in a file, metrics and their text, a recording that goes on. */
#include "store_room.h"

#include "agent/metric.h"
#include "base/option_file.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/memory.h"
#include "snapshot/socket/socket.h"
#include "store/recording.h"

/* --- options in a file --- */

struct config {
	const char *store, *config;
	uint64_t age_ns;
	bool passive;
	struct text_list on_finding;
};

static const struct option_spec options[] = {
	OPTION(struct config, config, TEXT, "config", 0, "FILE", "file"),
	OPTION(struct config, store, TEXT, "store", 'o', "FILE", "file"),
	OPTION(struct config, age_ns, SECONDS, "age", 0, "TIME", "time"),
	OPTION(struct config, passive, FLAG, "passive", 0, NULL, "flag"),
	OPTION(struct config, on_finding, TEXTS, "on-finding", 0, "TARGET", "list"),
	OPTION_END,
};

static int parse_file(const char *text, struct config *config, struct why *why)
{
	struct option_words file = {};
	int r = option_file_parse(text, "agent.conf", options, &file, why);

	*config = (struct config){};
	if (r == 0)
		r = option_parse(options, (int)file.words.count, file.words.items, config, why);
	/* The texts point into the words. */
	config->store = config->store ? "given" : NULL;
	option_file_done(&file);
	return r;
}

TEST(a_file_holds_the_options_of_the_command_line)
{
	struct config config;
	struct why why = {};

	CHECK_OK(
		parse_file("# comment\n\n  store = /var/lib/x y.nest \nage=90s\r\npassive = yes\non-finding = journal\n"
			   "on-finding = unix:/run/s",
			   &config, &why));
	CHECK_EQ_TEXT(config.store, "given");
	CHECK_EQ_UINT(config.age_ns, UINT64_C(90000000000));
	CHECK(config.passive);
	CHECK_EQ_UINT(config.on_finding.count, 2);
	CHECK_EQ_TEXT(config.on_finding.items[1], "unix:/run/s");
	option_done(options, &config);
	CHECK_OK(parse_file("passive = no\n", &config, &why));
	CHECK(!config.passive);
	CHECK_OK(parse_file("", &config, &why));
}

TEST(a_mistake_in_a_file_has_its_line)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"age = 1s\nstor = x\n", "agent.conf:2: unknown option 'stor'; did you mean store"},
		{"age\n", "agent.conf:1: expected 'name = value'"},
		{"passive = perhaps\n", "agent.conf:1: passive is a flag"},
		{"# age\n\nage = soon\n", "agent.conf:3: --age: 'soon' is not a time"},
		{"on-finding = journal\nage = 0\n", "agent.conf:2: --age: '0' is not"},
		{"config = other.conf\n", "agent.conf:1: config is an option of the command line only"},
		{"sto\x1b[31m = x\n", "\\x1b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config config;
		struct why why = {};

		CHECK_ERR(parse_file(cases[i].text, &config, &why), -EINVAL);
		CHECK_HAS_TEXT(why.text, cases[i].said);
		option_done(options, &config);
	}
}

TEST(the_command_line_wins)
{
	_cleanup_room_ struct room room;
	char config_word[] = "--config", store_word[] = "--store", mine[] = "mine",
	     missing[] = "/nonexistent/agent.conf";
	char *words[] = {config_word, room.path, store_word, mine, NULL};
	struct option_words file;
	struct config config = {};
	struct why why = {};
	FILE *out;

	room_make(&room);
	out = fopen(room.path, "w");
	REQUIRE(out);
	fputs("store = theirs\nage = 5s\n", out);
	fclose(out);
	REQUIRE(option_file_read(options, 4, words, &file, &why) == 0);
	CHECK_OK(option_parse(options, (int)file.words.count, file.words.items, &config, &why));
	CHECK_EQ_TEXT(config.store, "mine");
	CHECK_EQ_UINT(config.age_ns, UINT64_C(5000000000));
	CHECK(file.words.items[file.words.count] == NULL);
	option_file_done(&file);
	words[1] = missing;
	CHECK_ERR(option_file_read(options, 4, words, &file, &why), -EIO);
	CHECK_HAS_TEXT(why.text, "cannot read /nonexistent/agent.conf");
}

/* --- metrics --- */

static const struct openmetrics_family requests = {"x_requests", OPENMETRICS_COUNTER, NULL, "requests\nall"},
				       times = {"x_time_seconds", OPENMETRICS_HISTOGRAM, "seconds", "times"};

static void write_example(struct buf *text, bool old_format, uint64_t series_max)
{
	struct openmetrics out = {.out = text, .old_format = old_format, .series_max = series_max};
	struct openmetrics_label label = {"path", "a\"b\\c\nd\xff"};

	openmetrics_begin(&out, &requests);
	openmetrics_add(&out, &label, 1, 3);
	openmetrics_begin(&out, &times);
	openmetrics_add_histogram(&out, NULL, 0, (double[]){0.5, 1}, 2, (uint64_t[]){2, 0, 1}, 7.25);
	openmetrics_end(&out);
	CHECK_EQ_UINT(out.series + out.dropped, 6);
	CHECK(!series_max || out.series <= series_max);
}

TEST(metrics_as_text)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);

	write_example(&text, false, 0);
	CHECK_EQ_TEXT(buf_text(&text), "# HELP x_requests requests\\nall\n"
				       "# TYPE x_requests counter\n"
				       "x_requests_total{path=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 3\n"
				       "# HELP x_time_seconds times\n"
				       "# TYPE x_time_seconds histogram\n"
				       "# UNIT x_time_seconds seconds\n"
				       "x_time_seconds_bucket{le=\"0.5\"} 2\n"
				       "x_time_seconds_bucket{le=\"1.0\"} 2\n"
				       "x_time_seconds_bucket{le=\"+Inf\"} 3\n"
				       "x_time_seconds_count 3\n"
				       "x_time_seconds_sum 7.25\n"
				       "# EOF\n");
	buf_clear(&text);
	write_example(&text, true, 0);
	CHECK_HAS_TEXT(buf_text(&text), "# TYPE x_requests_total counter\n");
	CHECK(!strstr(buf_text(&text), "# UNIT"));
	/* A histogram is written as a whole or not at all. */
	buf_clear(&text);
	write_example(&text, false, 3);
	CHECK(!strstr(buf_text(&text), "_bucket"));
}

TEST(declared_metrics_hold)
{
	struct why why = {};

	if (!CHECK_OK(metric_check_all(&why)))
		unit_note("%s", why.text);
}

static void add_listener(struct snapshot *snapshot, uint16_t port, uint32_t backlog)
{
	struct socket_record *s = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	s->proto = 6;
	s->state = SOCKET_LISTEN;
	s->lport = port;
	s->backlog = backlog;
	s->backlog_max = 128;
}

static void add_counter(struct snapshot *snapshot, const char *name, uint64_t value)
{
	struct counter_record *counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));

	counter->counter = name;
	counter->value = value;
}

TEST(metrics_are_made_of_rows)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	struct openmetrics out = {.out = &text};

	add_listener(snapshot, 80, 3);
	add_listener(snapshot, 80, 7);
	add_listener(snapshot, 40001, 1);
	add_listener(snapshot, 40002, 2);
	/* Two namespaces. */
	add_counter(snapshot, "TcpRetransSegs", 5);
	add_counter(snapshot, "TcpRetransSegs", 6);
	add_counter(snapshot, "TcpOutSegs", 100);
	add_counter(snapshot, "TcpCurrEstab", 3);
	add_counter(snapshot, "TcpCurrEstab", 4);
	for (uint32_t i = 0; i < 2; i++) {
		struct memory_record *memory = snapshot_table_add(snapshot_table(snapshot, &memory_type));

		memory->tcp_inuse = 10 + i;
		memory->tcp_time_wait = i;
		memory->tcp_orphan = 5; /* of the host, in each of them */
	}
	metric_write_all(&out, snapshot);
	CHECK_HAS_TEXT(buf_text(&text),
		       "\nnest_listener_queue{port=\"80\"} 7\nnest_listener_queue{port=\"other\"} 2\n");
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_tcp_segments_retransmitted_total 11\n");
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_tcp_sockets 21\n");
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_tcp_established 7\n");
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_tcp_time_wait 1\n");
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_tcp_orphans 5\n");
	CHECK(!strstr(buf_text(&text), "40001"));
	/* No row, no series, but for those that say so. */
	CHECK(!strstr(buf_text(&text), "nest_conntrack_entries"));
	CHECK_HAS_TEXT(buf_text(&text), "\nnest_qdisc_backlog_bytes 0\n");
}

/* --- a recording that goes on --- */

static void add_sample(struct store *store, uint64_t boot_ns)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	snapshot->begin_boot_ns = snapshot->end_boot_ns = snapshot->sockets_boot_ns = boot_ns;
	snapshot->begin_time_ns = snapshot->end_time_ns = UINT64_C(1763172787000000000) + boot_ns;
	add_listener(snapshot, 80, 0);
	CHECK_OK(store_add_snapshot(store, snapshot));
}

static void count_mark(void *context, uint64_t time_ns)
{
	CHECK_EQ_UINT(time_ns, 77);
	++*(unsigned *)context;
}

TEST(a_recording_goes_on)
{
	_cleanup_room_ struct room room;
	struct store *store;
	struct why why = {};
	unsigned marks = 0;
	bool resumed;

	room_make(&room);
	REQUIRE(store_resume(room.path, "agent", &store, &resumed, &why) == 0);
	CHECK(!resumed);
	add_sample(store, UINT64_C(1000000000));
	add_sample(store, UINT64_C(1200000000));
	CHECK_OK(store_add_mark(store, 77, "incident: x"));
	CHECK_OK(store_close(store, &why));
	if (!CHECK_OK(store_resume(room.path, "agent", &store, &resumed, &why)))
		unit_note("%s", why.text);
	CHECK(resumed);
	CHECK_OK(store_each_mark(store, "incident: ", count_mark, &marks));
	CHECK_EQ_UINT(marks, 1);
	add_sample(store, UINT64_C(9000000000));
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM sample"), 3);
	/* The row of before ended with the last sample of before. */
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM socket"), 2);
	CHECK_EQ_INT(
		room_number(&room, "SELECT (SELECT min(last) FROM socket) = (SELECT id FROM sample LIMIT 1 OFFSET 1)"),
		1);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM recording"), 1);
	CHECK_EQ_INT(room_number(&room,
				 "SELECT count(*) FROM \"column\" WHERE \"table\" = 'socket' AND \"column\" = 'lport'"),
		     1);
}

TEST(another_boot_begins_again)
{
	_cleanup_room_ struct room room;
	_cleanup_free_ char *before = NULL;
	struct store *store;
	struct why why = {};
	sqlite3 *db;
	bool resumed;

	room_make(&room);
	before = xasprintf("%s.before", room.path);
	REQUIRE(store_resume(room.path, "agent", &store, &resumed, &why) == 0);
	CHECK_OK(store_close(store, &why));
	REQUIRE(sqlite3_open(room.path, &db) == SQLITE_OK);
	CHECK_EQ_INT(sqlite3_exec(db, "UPDATE host SET boot_id = 'another'", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	REQUIRE(store_resume(room.path, "agent", &store, &resumed, &why) == 0);
	CHECK(!resumed);
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(access(before, F_OK), 0);
	(void)unlink(before);
}
