/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <sys/mman.h>

#include "run/output_exit.h"
#include "sample.h"
#include "view/format.h"
#include "view/json.h"
#include "view/output.h"
#include "view/tree.h"

#define CHECK_FORMAT(call, want)                                                                                       \
	do {                                                                                                           \
		_cleanup_buf_ struct buf b_ = BUF_INIT(0);                                                             \
		struct buf *out = &b_;                                                                                 \
		call;                                                                                                  \
		CHECK_EQ_TEXT(buf_text(&b_), want);                                                                    \
	} while (0)

TEST(durations_have_three_digits_and_one_unit)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{12345, "12.3 us"},
		{999499, "999 us"},
		{999500, "1.00 ms"},
		{1234567, "1.23 ms"},
		{999950000, "1.00 s"},
		{59000000000, "59.0 s"},
		{599000000000, "599 s"},
		{900000000000, "15.0 min"},
		{INT64_C(40000000000000), "11.1 h"},
		{-1500000, "-1.50 ms"},
		{INT64_MAX, "106752 d"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_FORMAT(format_add_duration(out, cases[i].ns), cases[i].text);
}

/* A field of each dimension, a value, and what people read. */
TEST(amounts_as_people_read_them)
{
	static const struct field count = {.kind = KIND_COUNT}, bytes = {.kind = KIND_BYTES},
				  real = {.kind = KIND_RATIO}, share = {.kind = KIND_RATIO, .unit = "%"},
				  percent = {.kind = KIND_COUNT, .unit = "%"},
				  rate = {.kind = KIND_RATIO, .unit = "B/s"}, per = {.kind = KIND_RATIO, .unit = "/s"},
				  byte_rate = {.kind = KIND_BYTES, .unit = "/s"},
				  bits = {.kind = KIND_COUNT, .unit = "bit/s"};
	static const struct {
		const struct field *field;
		double number;
		const char *text;
	} cases[] = {
		{&count, 0, "0"},
		{&count, 999, "999"},
		{&count, 9999, "9999"},
		{&count, 10000, "10.0k"},
		{&count, 12345, "12.3k"},
		{&count, 99949, "99.9k"},
		{&count, 999499, "999k"},
		{&count, 999500, "1.00M"},
		{&count, 1e15, "1.00P"},
		{&count, 1.8e19, "18.0E"},
		{&count, 5e21, "5000E"},
		{&count, -9999, "-9999"},
		{&count, -123456, "-123k"},
		{&bytes, 0, "0 B"},
		{&bytes, 1500, "1500 B"},
		{&bytes, 17376, "17.4 kB"},
		{&bytes, 10000000, "10.0 MB"},
		{&bytes, 999999, "1.00 MB"},
		{&real, 0.53, "0.53"},
		{&real, 999.5, "1000"},
		{&real, 999.4, "999"},
		{&real, 9999.6, "10.0k"},
		{&real, 1.25, "1.25"},
		{&real, 3.54e-05, "0.000035"},
		{&real, -0.012, "-0.012"},
		{&real, 1e-30, "0.000000000"},
		{&share, 0, "0 %"},
		{&share, 0.53, "53 %"},
		{&share, 0.005, "0.5 %"},
		{&share, 0.0996, "10 %"},
		{&share, 0.0003, "0.03 %"},
		{&share, 0.00001, "<0.01 %"},
		{&share, 1, "100 %"},
		{&share, -0.004, "-0.4 %"},
		{&percent, 53, "53 %"},
		{&rate, 6.3e6, "6.30 MB/s"},
		{&rate, 0.25, "0.25 B/s"},
		{&byte_rate, 7.59e9, "7.59 GB/s"},
		{&per, 5, "5/s"},
		{&per, 12345, "12.3k/s"},
		{&bits, 95200000, "95.2 Mbit/s"},
		{&bits, 1e9, "1.00 Gbit/s"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct field *field = cases[i].field;
		struct value value = {.class = VALUE_REAL, .real = cases[i].number};

		if (field->kind != KIND_RATIO && cases[i].number >= 0 && cases[i].number < 1.8e19)
			value = (struct value){.class = VALUE_UINT, .uint = (uint64_t)cases[i].number};
		else if (field->kind != KIND_RATIO && cases[i].number < 0)
			value = (struct value){.class = VALUE_INT, .sint = (int64_t)cases[i].number};
		CHECK_FORMAT(format_add_value(out, field, &value), cases[i].text);
	}
	CHECK_FORMAT(format_add_plural(out, 1, "event"), "1 event");
	CHECK_FORMAT(format_add_plural(out, 2, "event"), "2 events");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, " packets were dropped"), " dropped"), " packet was");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, " keep-alive probes."), "."), " keep-alive probe");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, " queries to it"), " to it"), " query");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, " other processes have"), ""), " other process has");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, " of 3 resets"), " of 3 resets"), "");
	CHECK_FORMAT(CHECK_EQ_TEXT(format_add_singular(out, ")"), ")"), "");
}

/* What an administrator types is shown as it is typed. */
TEST(exact_values_and_names)
{
	static const struct enum_name items[] = {{254, "main", NULL}};
	static struct enum_names names = {items, ARRAY_SIZE(items), NULL};
	static const struct field mtu = {.kind = KIND_BYTES, .exact = true}, handle = {.kind = KIND_HEX, .exact = true},
				  table = {.kind = KIND_ID, .names = &names},
				  moment = {.kind = KIND_DURATION, .exact = true},
				  network = {.kind = KIND_ADDR, .unknown = "default"}, pid = {.kind = KIND_ID};
	static const struct {
		const struct field *field;
		uint64_t number;
		const char *text;
	} cases[] = {
		{&mtu, 65536, "65536"},     {&handle, 0x80010000, "8001:"}, {&handle, 0x80010010, "8001:10"},
		{&table, 254, "main"},      {&table, 100, "100"},           {&moment, 12345678901, "12.345679 s"},
		{&pid, 4194304, "4194304"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_FORMAT(format_add_value(out, cases[i].field,
					      &(struct value){.class = VALUE_UINT, .uint = cases[i].number}),
			     cases[i].text);
	CHECK_FORMAT(format_add_value(out, &network, &(struct value){.class = VALUE_UNKNOWN}), "default");
	CHECK_FORMAT(format_add_value(out, &pid, &(struct value){.class = VALUE_UNKNOWN}), "-");
}

TEST(numbers_for_programs_are_exact)
{
	static const uint64_t values[] = {0, 9, 10, 99, 100, 101, 999, 1000, 65535, 1000000007, UINT64_MAX};
	static const double reals[] = {0.0, -0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.125, -2.5};
	char text[40], want[40];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		*format_put_uint(text, values[i]) = '\0';
		snprintf(want, sizeof(want), "%" PRIu64, values[i]);
		CHECK_EQ_TEXT(text, want);
	}
	*format_put_int(text, INT64_MIN) = '\0';
	CHECK_EQ_TEXT(text, "-9223372036854775808");
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		*format_put_real(text, reals[i]) = '\0';
		CHECK(strtod(text, NULL) == reals[i]);
	}
	*format_put_real(text, 0.1) = '\0';
	CHECK_EQ_TEXT(text, "0.1");
}

/* Passes records through an output and returns its text. */
static char *render(struct output_options options, const struct sample *samples, size_t count, unsigned width)
{
	struct shape shape = SHAPE_OF(&sample_type);
	_cleanup_close_ int fd = memfd_create("output", 0);
	struct output *output;
	struct buf content = BUF_INIT(0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	output_out(output)->width = width;
	output_out(output)->utf8 = false;
	for (size_t i = 0; i < count; i++) {
		struct record record = RECORD_OF(&samples[i]);

		(void)output_record(output, &record);
	}
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data ? content.data : xstrdup("");
}

/* The list is only read. */
#define NAMES(...)                                                                                                     \
	((struct text_list){                                                                                           \
		.items = (char **)(const char *[]){__VA_ARGS__},                                                       \
		.count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                                       \
	})

TEST(json_line_of_every_kind)
{
	struct sample s = sample_make();
	_cleanup_free_ char *text = render((struct output_options){.json = true}, &s, 1, 0);

	CHECK_EQ_TEXT(
		text,
		"{\"time_ns\":1763172787123456789,\"pid\":4711,\"comm\":\"nginx\",\"laddr\":\"10.77.1.2\",\"lport\":"
		"443,"
		"\"raddr\":\"fd77::1\",\"rport\":51234,\"bytes\":3145728,\"lat_ns\":1234567,\"state\":\"ESTABLISHED\","
		"\"flags\":\"SYN|ACK\",\"share\":0.125,\"delta\":-5,\"handle\":\"0xbeef\",\"is_new\":true,"
		"\"error\":\"ECONNREFUSED\",\"peer\":\"[fd77::1]:51234\",\"host\":\"example\","
		"\"kstack\":[\"tcp_sendmsg+0x12\",\"sock_write_iter\"],"
		"\"hist\":[{\"lo\":1,\"hi\":1,\"count\":3},{\"lo\":2,\"hi\":3,\"count\":7}],\"rcvbuf\":4000000}\n");
}

TEST(json_of_unknown_is_null)
{
	struct sample s = {};
	struct field_ref at = {};
	struct shape shape = SHAPE_OF(&sample_type);
	_cleanup_free_ char *text = NULL;
	json_t *json;

	while (shape_next(&shape, &at))
		value_set_unknown(at.field, &s);
	text = render((struct output_options){.json = true}, &s, 1, 0);
	json = json_loads(text, 0, NULL);
	REQUIRE(json != NULL);
	at = (struct field_ref){};
	while (shape_next(&shape, &at)) {
		unit_note("%s", at.field->name);
		CHECK(json_is_null(json_object_get(json, at.field->name)) || at.field->kind == KIND_BOOL);
	}
	json_decref(json);
}

TEST(json_is_valid_for_every_byte)
{
	unsigned valid = 0;

	for (int first = 1; first < 256; first++)
		for (int second = 0; second < 256; second += 5) {
			struct sample s = sample_make();
			_cleanup_buf_ struct buf text = BUF_INIT(0);
			json_t *json;

			s.comm[0] = (char)first;
			s.comm[1] = (char)second;
			json_add_object(&text, &sample_type, &s);
			json = json_loads(buf_text(&text), 0, NULL);
			if (!json)
				CHECK_EQ_TEXT(buf_text(&text), "valid JSON");
			valid += json != NULL;
			json_decref(json);
		}
	CHECK_EQ_UINT(valid, 255 * 52);
}

TEST(infinities_are_null_in_json)
{
	struct sample s = sample_make();
	_cleanup_free_ char *text = NULL;

	s.share = INFINITY;
	text = render((struct output_options){.json = true, .show = NAMES("share")}, &s, 1, 0);
	CHECK_EQ_TEXT(text, "{\"share\":null}\n");
}

TEST(csv_quotes_what_needs_it)
{
	struct sample s[3] = {sample_make(), sample_make(), {}};
	_cleanup_free_ char *text = NULL;

	memcpy(s[0].comm, "a,\"b\"\r\n", 8);
	memcpy(s[1].comm, "=1+2", 5);
	text = render((struct output_options){.csv = true, .show = NAMES("comm", "laddr", "lat_ns", "delta")}, s, 3, 0);
	CHECK_EQ_TEXT(
		text,
		"comm,laddr,lat_ns,delta\r\n\"a,\"\"b\"\"\r\n\",10.77.1.2,1234567,-5\r\n'=1+2,10.77.1.2,1234567,-5\r\n"
		",,0,0\r\n");
}

/* The first function is the innermost, and a flame graph begins with the outermost. */
TEST(stacks_are_folded_with_their_count)
{
	struct sample s[2] = {sample_make(), sample_make()};
	_cleanup_free_ char *text = NULL, *bare = NULL, *none = NULL;

	memcpy(s[1].comm, "a;b \n", 6);
	s[1].kstack = (struct stack){};
	text = render((struct output_options){.format = "folded", .show = NAMES("comm", "kstack")}, s, 2, 0);
	CHECK_EQ_TEXT(text, "nginx;sock_write_iter_[k];tcp_sendmsg+0x12_[k] 1\na_b _ 1\n");
	bare = render((struct output_options){.format = "folded", .show = NAMES("kstack")}, s, 2, 0);
	CHECK_EQ_TEXT(bare, "sock_write_iter_[k];tcp_sendmsg+0x12_[k] 1\n");
	/* Nothing to fold is no line. */
	none = render((struct output_options){.format = "folded", .show = NAMES("pid")}, s + 1, 1, 0);
	CHECK_EQ_TEXT(none, "");
}

TEST(table_aligns_and_scales)
{
	struct sample s[2] = {sample_make(), {.comm = "x"}};
	_cleanup_free_ char *text = NULL;

	text = render((struct output_options){.show = NAMES("pid", "comm", "laddr", "bytes", "lat", "share", "error")},
		      s, 2, 0);
	CHECK_EQ_TEXT(text, " PID COMM  LADDR       BYTES     LAT SHARE ERROR\n"
			    "4711 nginx 10.77.1.2 3.15 MB 1.23 ms  12 % ECONNREFUSED\n"
			    "   - x     -             0 B    0 ns   0 % -\n");
}

TEST(table_escapes_control_characters)
{
	struct sample s = sample_make();
	_cleanup_free_ char *text = NULL;

	memcpy(s.comm, "a\033[2Jb\n", 8);
	text = render((struct output_options){.show = NAMES("comm", "pid")}, &s, 1, 0);
	CHECK_EQ_TEXT(text, "COMM           PID\na\\x1b[2Jb\\x0a 4711\n");
}

TEST(table_fits_the_terminal)
{
	struct sample s = sample_make();
	_cleanup_free_ char *narrow = NULL, *tiny = NULL, *wide = NULL;
	struct output_options options = {.show = NAMES("host", "pid", "laddr", "raddr", "lat")};

	s.host = "a-rather-long-name-of-a-host.example";
	narrow = render(options, &s, 1, 41);
	CHECK_EQ_TEXT(narrow, "HOST        PID LADDR     RADDR       LAT\na-rather-> 4711 10.77.1.2 fd77::1 1.23 ms\n");
	tiny = render(options, &s, 1, 25);
	CHECK_EQ_TEXT(tiny,
		      "HOST        PID LADDR\na-rather-> 4711 10.77.1.2\n(2 more columns: a wider terminal, or -w)\n");
	options.wide = true;
	wide = render(options, &s, 1, 40);
	CHECK_HAS_TEXT(wide, "a-rather-long-name-of-a-host.example");
}

/* A table that is fed as things happen, each row flushed before the next is known. */
static char *render_stream(const struct sample *samples, size_t count, unsigned width, bool stream)
{
	struct shape shape = SHAPE_OF(&sample_type);
	_cleanup_close_ int fd = memfd_create("output", 0);
	struct output_options options = {.show = NAMES("pid", "comm", "host", "lat")};
	struct output *output;
	struct buf content = BUF_INIT(0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	if (stream)
		output_stream(output);
	output_out(output)->width = width;
	output_out(output)->utf8 = false;
	for (size_t i = 0; i < count; i++) {
		if (!stream)
			output_interval(output,
					&(struct output_moment){.time_ns = UINT64_C(1000000000) * (i + 1),
								.elapsed_ns = UINT64_MAX},
					true);
		(void)output_record(output, &RECORD_OF(&samples[i]));
		CHECK_OK(output_flush(output));
	}
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data;
}

TEST(streams_cut_nothing_that_fits_the_line)
{
	struct sample s[4] = {sample_make(), sample_make(), sample_make(), sample_make()};
	_cleanup_free_ char *wide = NULL, *narrow = NULL;

	s[0].host = "a.example";
	s[1].host = "a-rather-long-name-of-a-host.example";
	memcpy(s[2].comm, "systemd-resolve", 16);
	s[3].pid = 12;
	wide = render_stream(s, 4, 80, true);
	CHECK_EQ_TEXT(wide, "    PID COMM       HOST                     LAT\n"
			    "   4711 nginx      a.example            1.23 ms\n"
			    "   4711 nginx      a-rather-long-name-of-a-host.example 1.23 ms\n"
			    "   4711 systemd-resolve example                              1.23 ms\n"
			    "     12 nginx           example                              1.23 ms\n");
	narrow = render_stream(s, 4, 48, true);
	CHECK_EQ_TEXT(narrow, "    PID COMM       HOST                     LAT\n"
			      "   4711 nginx      a.example            1.23 ms\n"
			      "   4711 nginx      a-rather-long-name-o> 1.23 ms\n"
			      "   4711 systemd-resolve example          1.23 ms\n"
			      "     12 nginx      example               1.23 ms\n");
}

TEST(samples_are_tables_with_a_time_above)
{
	struct sample s[2] = {sample_make(), sample_make()};
	_cleanup_free_ char *text = NULL;

	s[1].host = "b.example";
	setenv("TZ", "UTC", 1);
	text = render_stream(s, 2, 0, false);
	CHECK_EQ_TEXT(text, "00:00:01\n"
			    " PID COMM  HOST        LAT\n"
			    "4711 nginx example 1.23 ms\n"
			    "\n"
			    "00:00:02\n"
			    " PID COMM  HOST          LAT\n"
			    "4711 nginx b.example 1.23 ms\n");
}

TEST(headings_of_a_command_are_names)
{
	static const struct output_column columns[] = {{"pid", "WHO"}, {"lat_ns", .instead = "pid"}, {}};
	struct shape shape = SHAPE_OF(&sample_type);
	_cleanup_close_ int fd = memfd_create("output", 0);
	_cleanup_buf_ struct buf content = BUF_INIT(0);
	struct output_options options = {.where = "WHO == 4711"};
	struct sample s = sample_make();
	struct output *output;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	s.lat_ns = UINT64_MAX;
	REQUIRE(output_open_columns(&options, &shape, columns, &output, NULL) == 0);
	CHECK(output_record(output, &RECORD_OF(&s)));
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	CHECK_EQ_TEXT(buf_text(&content), " WHO  LAT\n4711 4711\n");
	options.show = NAMES("who", "LAT");
	REQUIRE(output_open_columns(&options, &shape, columns, &output, NULL) == 0);
	CHECK_OK(output_close(output));
}

/* What can be typed names one thing. */
TEST(no_two_fields_of_a_type_have_the_same_heading)
{
	registry_each(record_type, type)
		for (uint32_t a = 0; a < (*type)->field_count; a++)
			for (uint32_t b = 0; b < a; b++) {
				_cleanup_buf_ struct buf first = BUF_INIT(0), second = BUF_INIT(0);

				unit_note("%s: %s", (*type)->name, (*type)->fields[a].name);
				format_add_heading(&first, &(*type)->fields[a]);
				format_add_heading(&second, &(*type)->fields[b]);
				CHECK(strcmp(buf_text(&first), buf_text(&second)) != 0);
			}
}

TEST(table_without_rows_has_its_heading)
{
	_cleanup_free_ char *text = render((struct output_options){.show = NAMES("pid", "lat")}, NULL, 0, 0);

	CHECK_EQ_TEXT(text, "PID LAT\n");
}

TEST(where_filters_and_hidden_columns_show_when_wide)
{
	struct sample s[2] = {sample_make(), sample_make()};
	_cleanup_free_ char *text = NULL, *normal = NULL, *wide = NULL;

	s[1].pid = 1;
	text = render((struct output_options){.json = true, .where = "pid == 1", .show = NAMES("pid")}, s, 2, 0);
	CHECK_EQ_TEXT(text, "{\"pid\":1}\n");
	normal = render((struct output_options){}, s, 1, 0);
	wide = render((struct output_options){.wide = true}, s, 1, 0);
	CHECK(strstr(normal, "HANDLE") == NULL);
	CHECK_HAS_TEXT(wide, "HANDLE");
}

TEST(output_refuses_wrong_options)
{
	static const struct {
		struct output_options options;
		const char *message;
	} cases[] = {
		{{.json = true, .csv = true}, "exclude each other"},
		{{.format = "jsn"}, "did you mean json?"},
		{{.where = "pd == 1"}, "did you mean pid?"},
		{{.file = "/nonexistent/x"}, "cannot write /nonexistent/x: No such file"},
	};
	struct shape shape = SHAPE_OF(&sample_type);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct output *output;
		struct why why = {};

		CHECK(output_open(&cases[i].options, &shape, &output, &why) < 0);
		CHECK_HAS_TEXT(why.text, cases[i].message);
	}
}

TEST(a_full_disk_is_reported)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct output_options options = {.json = true, .file = "/dev/full"};
	struct sample s = sample_make();
	struct record record = RECORD_OF(&s);
	struct output *output;

	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	CHECK(output_record(output, &record));
	CHECK_ERR(output_close(output), -ENOSPC);
	CHECK_EQ_INT(output_exit_code("test", -ENOSPC), 5);
	CHECK_EQ_INT(output_exit_code("test", -EPIPE), 141);
}

static char *out_text(struct out *out)
{
	return xstrdup(buf_text(&out->pending));
}

TEST(histogram_shows_every_value_that_occurred)
{
	const struct hist_slot slots[] = {{0, 0, 0}, {1, 1, 1}, {2, 3, 0}, {4, 7, 400}, {8, 15, 0}};
	const struct field field = {.name = "lat_ns", .kind = KIND_DURATION};
	struct out out;
	_cleanup_free_ char *text = NULL;

	out_init(&out, STDOUT_FILENO);
	out.color = false;
	hist_print(&out, &field, slots, ARRAY_SIZE(slots), 6);
	text = out_text(&out);
	buf_clear(&out.pending);
	CHECK_OK(out_done(&out));
	CHECK_EQ_TEXT(text, "         LAT        COUNT  DISTRIBUTION (@ = 10)\n"
			    "        1 ns            1 |@                                       |\n"
			    "2 ns .. 3 ns            0 |                                        |\n"
			    "4 ns .. 7 ns          400 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
			    "count 401, p50 ~ 4 ns, p90 ~ 5 ns, p99 ~ 5 ns, max 6 ns\n");
}

TEST(an_empty_histogram_says_so)
{
	const struct hist_slot slots[] = {{0, 0, 0}, {1, 1, 0}};
	const struct field field = {.name = "lat_ns", .kind = KIND_DURATION};
	_cleanup_free_ char *text = NULL;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	hist_print(&out, &field, slots, ARRAY_SIZE(slots), 0);
	text = out_text(&out);
	buf_clear(&out.pending);
	CHECK_OK(out_done(&out));
	CHECK_EQ_TEXT(text, "No value of LAT was seen.\n");
}

TEST(percentiles_lie_in_their_slot)
{
	const struct hist_slot slots[] = {{1, 1, 50}, {2, 3, 0}, {4, 7, 49}, {8, 15, 1}};

	CHECK_EQ_UINT(hist_percentile(slots, 4, 50, 9), 1);
	CHECK_EQ_UINT(hist_percentile(slots, 4, 99, 9), 7);
	CHECK_EQ_UINT(hist_percentile(slots, 4, 100, 9), 9);
	CHECK_EQ_UINT(hist_percentile(slots, 4, 51, 9), 4);
	CHECK_EQ_UINT(hist_percentile(NULL, 0, 50, 0), 0);
}

TEST(log2_slots_cover_all_values_once)
{
	static const uint64_t values[] = {0, 1, 2, 3, 4, 7, 8, 1023, 1024, UINT64_MAX / 2, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct hist_slot slot = hist_log2_slot(hist_log2_index(values[i]));

		CHECK(values[i] >= slot.lo && values[i] <= slot.hi);
	}
	for (unsigned i = 1; i <= 64; i++)
		CHECK_EQ_UINT(hist_log2_slot(i).lo, hist_log2_slot(i - 1).hi + 1);
}

TEST(tree_draws_branches_and_folds)
{
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	struct tree_node *root, *child;
	_cleanup_free_ char *text = NULL;
	struct out out;

	root = tree_add(tree, NULL, OUT_BOLD, NULL, "host");
	child = tree_add(tree, root, OUT_PLAIN, NULL, "one two three four five six seven eight");
	tree_add(tree, child, OUT_PLAIN, "!", "leaf\t1");
	tree_add(tree, root, OUT_PLAIN, NULL, "last");
	out_init(&out, STDOUT_FILENO);
	out.color = false;
	out.utf8 = false;
	out.width = 28;
	tree_print(tree, &out);
	text = out_text(&out);
	buf_clear(&out.pending);
	CHECK_OK(out_done(&out));
	CHECK_EQ_TEXT(text, "host\n"
			    "|- one two three four five\n"
			    "|  |  six seven eight\n"
			    "|  `- ! leaf\\x091\n"
			    "`- last\n");
}
