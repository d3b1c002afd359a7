/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of any content through every output format: JSON is JSON, tables and CSV keep their form. */
#include <jansson.h>
#include <sys/mman.h>

#include "../unit/sample.h"
#include "fuzz.h"
#include "view/output.h"

/* A record whose plain members are the input's bytes; pointers are ours. */
static void fill_sample(struct sample *s, const uint8_t *data, size_t size, char *host)
{
	static const char *const frames[] = {"one", "t\033wo\xff", ""};
	static const struct hist_slot slots[] = {{0, 0, UINT64_MAX}, {1, UINT64_MAX, 0}};
	bool is_new;

	memset(s, 0, sizeof(*s));
	memcpy(s, data, min_of(size, sizeof(*s)));
	is_new = size > offsetof(struct sample, is_new) && (data[offsetof(struct sample, is_new)] & 1);
	memcpy(&s->is_new, &is_new, sizeof(is_new));
	s->laddr.family = s->laddr.family % 3 == 0 ? ADDR_UNKNOWN : s->laddr.family % 3 == 1 ? ADDR_V4 : ADDR_V6;
	s->raddr.family = s->raddr.family % 2 ? ADDR_V4 : ADDR_V6;
	s->peer.addr.family = s->peer.addr.family % 2 ? ADDR_UNKNOWN : ADDR_V6;
	s->host = host;
	s->kstack = (struct stack){frames, (uint32_t)(size % 4)};
	s->hist = (struct list){slots, (uint32_t)(size % 3)};
}

/* What the output writes for two records of that content. */
static void render(const struct output_options *chosen, const struct sample *s, struct buf *ret_text)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct output_options options = *chosen;
	struct shape shape = SHAPE_OF(&sample_type);
	struct record record = RECORD_OF(s);
	struct output *output;
	char path[64];

	fuzz_require(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	fuzz_require(output_open(&options, &shape, &output, NULL) == 0);
	fuzz_require(output_record(output, &record));
	fuzz_require(output_record(output, &record));
	fuzz_require(output_close(output) == 0);
	fuzz_require(buf_read_fd(ret_text, fd) == 0);
}

static void check_json(const struct sample *s)
{
	_cleanup_buf_ struct buf text = BUF_INIT(0);
	char *rest, *line;
	unsigned lines = 0;

	render(&(struct output_options){.json = true}, s, &text);
	for (rest = text.data; rest && *rest; lines++) {
		json_t *object;

		line = strsep(&rest, "\n");
		/* Numbers beyond 2^63 are JSON, but not for this reader. */
		object = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
		fuzz_require(json_is_object(object));
		fuzz_require(json_object_size(object) == sample_type.field_count);
		json_decref(object);
	}
	fuzz_require(lines == 2);
}

/* Cells of each CSV record; a line break may stand inside quotes. */
static void check_csv(const struct sample *s)
{
	_cleanup_buf_ struct buf text = BUF_INIT(0);
	unsigned cells = 1, want = 0, records = 0;
	bool quoted = false;

	render(&(struct output_options){.csv = true}, s, &text);
	for (const char *p = buf_text(&text); *p; p++) {
		if (*p == '"')
			quoted = !quoted;
		if (!quoted && *p == ',')
			cells++;
		if (quoted || *p != '\n')
			continue;
		want = want ? want : cells;
		fuzz_require(cells == want);
		cells = 1;
		records++;
	}
	fuzz_require(!quoted && records == 3);
}

static void check_table(const struct sample *s, bool wide)
{
	_cleanup_buf_ struct buf text = BUF_INIT(0);

	render(&(struct output_options){.wide = wide}, s, &text);
	fuzz_require(text.len > 0 && text.data[text.len - 1] == '\n');
	for (const char *p = text.data; *p; p++)
		fuzz_require(*p == '\n' || !fuzz_has_control(p, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *host = NULL;
	struct sample s;

	host = size > sizeof(s) ? fuzz_text(data + sizeof(s), size - sizeof(s)) : NULL;
	fill_sample(&s, data, size, host);
	check_json(&s);
	check_csv(&s);
	check_table(&s, false);
	check_table(&s, true);
	return 0;
}
