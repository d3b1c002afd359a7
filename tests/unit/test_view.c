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

TEST(durations_have_three_digits)
{
	CHECK_FORMAT(format_add_duration(out, 0), "0ns");
	CHECK_FORMAT(format_add_duration(out, 999), "999ns");
	CHECK_FORMAT(format_add_duration(out, 1000), "1.00us");
	CHECK_FORMAT(format_add_duration(out, 12345), "12.3us");
	CHECK_FORMAT(format_add_duration(out, 1234567), "1.23ms");
	CHECK_FORMAT(format_add_duration(out, 999950000), "1.00s");
	CHECK_FORMAT(format_add_duration(out, 59000000000), "59.0s");
	CHECK_FORMAT(format_add_duration(out, 599000000000), "599s");
	CHECK_FORMAT(format_add_duration(out, 900000000000), "15.0m");
	CHECK_FORMAT(format_add_duration(out, -1500000), "-1.50ms");
	CHECK_FORMAT(format_add_duration(out, INT64_MAX), "106752d");
}

TEST(bytes_and_counts)
{
	CHECK_FORMAT(format_add_bytes(out, 999), "999B");
	CHECK_FORMAT(format_add_bytes(out, 1500), "1500B");
	CHECK_FORMAT(format_add_bytes(out, 17376), "17.4kB");
	CHECK_FORMAT(format_add_bytes(out, 3145728), "3.15MB");
	CHECK_FORMAT(format_add_bytes(out, 64000), "64.0kB");
	CHECK_FORMAT(format_add_bytes(out, 999999), "1.00MB");
	CHECK_FORMAT(format_add_count(out, 99999), "99999");
	CHECK_FORMAT(format_add_count(out, 123456), "123k");
	CHECK_FORMAT(format_add_count(out, -123456), "-123k");
	CHECK_FORMAT(format_add_count(out, 1234567), "1.23M");
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
			json_decref(json);
		}
	CHECK(true);
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

TEST(table_aligns_and_scales)
{
	struct sample s[2] = {sample_make(), {.comm = "x"}};
	_cleanup_free_ char *text = NULL;

	text = render((struct output_options){.show = NAMES("pid", "comm", "laddr", "bytes", "lat", "share", "error")},
		      s, 2, 0);
	CHECK_EQ_TEXT(text, " PID COMM  LADDR      BYTES    LAT SHARE ERROR\n"
			    "4711 nginx 10.77.1.2 3.15MB 1.23ms 12.5% ECONNREFUSED\n"
			    "   - x     -             0B    0ns    0% -\n");
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
	narrow = render(options, &s, 1, 40);
	CHECK_EQ_TEXT(narrow, "HOST        PID LADDR     RADDR      LAT\na-rather-> 4711 10.77.1.2 fd77::1 1.23ms\n");
	tiny = render(options, &s, 1, 25);
	CHECK_EQ_TEXT(tiny,
		      "HOST        PID LADDR\na-rather-> 4711 10.77.1.2\n(2 more columns: a wider terminal, or -w)\n");
	options.wide = true;
	wide = render(options, &s, 1, 40);
	CHECK_HAS_TEXT(wide, "a-rather-long-name-of-a-host.example");
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
	CHECK_EQ_INT(output_exit_code(-ENOSPC), 5);
	CHECK_EQ_INT(output_exit_code(-EPIPE), 141);
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
	hist_print(&out, &field, slots, ARRAY_SIZE(slots));
	text = out_text(&out);
	buf_clear(&out.pending);
	CHECK_OK(out_done(&out));
	CHECK_EQ_TEXT(text, "    lat_ns        count  distribution\n"
			    "       1ns            1 |@                                       |\n"
			    "2ns .. 3ns            0 |                                        |\n"
			    "4ns .. 7ns          400 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
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
