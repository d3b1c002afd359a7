/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms over time: the axis grows and has no gaps, each count is in its column, shades follow magnitude. */
#include <errno.h>
#include <sys/mman.h>

#include "top/screen/heat_command.h"
#include "unit.h"
#include "view/hist.h"
#include "view/output.h"

struct sample {
	char comm[16];
	uint64_t count;
	uint64_t max;
	struct list hist;
	uint64_t time_ns;
};

#define S struct sample
static const struct field sample_fields[] = {
	FIELD(S, comm, TEXT, "a"),
	FIELD(S, count, COUNT, "a"),
	FIELD(S, max, DURATION, "a"),
	FIELD(S, hist, LIST, "a", .element = &hist_slot_type, .hidden = true),
	FIELD(S, time_ns, TIME, "a", .hidden = true),
};
static const struct field flat_fields[] = {FIELD(S, count, COUNT, "a")};
#undef S
static RECORD_TYPE(heat_type, "heat", struct sample, sample_fields, "a");
static RECORD_TYPE(flat_type, "flat", struct sample, flat_fields, "a");

static char *draw(const struct sample *samples, size_t count)
{
	struct shape shape = SHAPE_OF(&heat_type);
	_cleanup_close_ int fd = memfd_create("heat", 0);
	struct output_options options = {.format = "heat"};
	struct output *output;
	struct buf content = BUF_INIT(0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	for (size_t i = 0; i < count; i++) {
		struct record record = RECORD_OF(&samples[i]);

		(void)output_record(output, &record);
	}
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data ? content.data : xstrdup("");
}

/* Log2 slots with these indices and counts. */
static struct sample sample_of(struct hist_slot *slots, unsigned first, const uint64_t *counts, unsigned count)
{
	struct sample sample = {.comm = "curl", .hist = {slots, count}, .time_ns = UINT64_C(1794733728000000000)};

	for (unsigned i = 0; i < count; i++) {
		slots[i] = hist_log2_slot(first + i);
		slots[i].count = counts[i];
		sample.count += counts[i];
		sample.max = slots[i].hi;
	}
	return sample;
}

TEST(each_count_is_in_its_column)
{
	struct hist_slot slots[2][3];
	struct sample samples[] = {sample_of(slots[0], 12, (const uint64_t[]){1, 100, 0}, 3),
				   sample_of(slots[1], 13, (const uint64_t[]){1}, 1)};
	_cleanup_free_ char *text = draw(samples, 2);

	CHECK_HAS_TEXT(text, "TIME      2.05 us    COUNT");
	CHECK_HAS_TEXT(text, " |..##    |    101");
	CHECK_HAS_TEXT(text, " |  ..    |      1");
	CHECK_HAS_TEXT(text, "8.19 us  comm curl\n");
	/* One axis for both. */
	CHECK_EQ_UINT(unit_occurrences(text, "TIME"), 1);
}

TEST(the_axis_grows_without_gaps)
{
	struct hist_slot slots[3][1];
	struct sample samples[] = {sample_of(slots[0], 10, (const uint64_t[]){1}, 1),
				   sample_of(slots[1], 14, (const uint64_t[]){1}, 1),
				   sample_of(slots[2], 0, (const uint64_t[]){1}, 1)};
	_cleanup_free_ char *text = draw(samples, 3);

	CHECK_EQ_UINT(unit_occurrences(text, "TIME"), 3);
	CHECK_HAS_TEXT(text, " |##      |");
	CHECK_HAS_TEXT(text, " |        ##|");
	CHECK_HAS_TEXT(text, " |##                            |");
}

/* Linear slots of 10. */
TEST(linear_slots_keep_their_width)
{
	struct hist_slot low[] = {{20, 29, 4}}, high[] = {{70, 79, 4}};
	struct sample samples[] = {{.comm = "a", .count = 4, .max = 29, .hist = {low, 1}},
				   {.comm = "b", .count = 4, .max = 79, .hist = {high, 1}}};
	_cleanup_free_ char *text = draw(samples, 2);

	CHECK_HAS_TEXT(text, " |          ##|");
	CHECK_HAS_TEXT(text, "comm b\n");
}

TEST(records_without_a_histogram_are_refused)
{
	struct shape shape = SHAPE_OF(&flat_type);
	struct output_options options = {.format = "heat"};
	struct output *output = NULL;
	struct why why = {};

	CHECK_EQ_INT(output_open(&options, &shape, &output, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "--format heat needs a histogram: --hist, --lhist, or a tool that prints one");
}

TEST(commands_are_switched_to_a_heat_map_and_back)
{
	static const struct {
		const char *command, *heat;
	} cases[] = {
		{"tcprtt 1", "tcprtt 1 --format heat"},
		{"tcpsynbl", "tcpsynbl --format heat 1"},
		{"tcprtt -P 80", "tcprtt -P 80 --format heat 1"},
		{"trace sock.connect", "trace sock.connect --hist lat_ns --format heat 1"},
		{"trace sock.send --hist bytes --by comm", "trace sock.send --hist bytes --by comm --format heat 1"},
		{"tcpconnlat", "trace sock.connect --hist lat_ns --where 'proto == tcp' --format heat 1"},
		{"tcprtt 1 --format heat", "tcprtt 1"},
		{"diagnose", NULL},
		{"tcptop 1", NULL},
		{"tcplife -x", NULL},
		{"", NULL},
		{"'", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf command = BUF_INIT(4096);
		struct why why = {};
		int r = heat_command_switch(cases[i].command, &command, &why);

		CHECK_EQ_INT(r < 0, cases[i].heat == NULL);
		CHECK_EQ_TEXT(buf_text(&command), cases[i].heat ?: "");
		CHECK_EQ_INT(why.text[0] != '\0', cases[i].heat == NULL);
	}
}
