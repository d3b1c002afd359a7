/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nest agent reads besides the kernel: sketches of what is usual, from its recording, and targets of reports, from
 * options. The first byte chooses.
 */
#include "agent/notify.h"
#include "diagnose/graph/usual.h"
#include "fuzz.h"

/* What was kept, to be kept again. */
struct kept {
	struct usual *again;
	uint64_t count;
};

static int keep(void *context, const struct usual_record *record, int64_t *row _unused_)
{
	struct kept *kept = context;

	fuzz_require(record->hour < USUAL_HOURS && record->sketch && record->p50 <= record->p95);
	fuzz_require(memchr(record->name, '\0', sizeof(record->name)));
	kept->count += record->count;
	if (kept->again)
		usual_load(kept->again, record);
	return 0;
}

/* Sketches are kept as they are loaded, or not at all. */
static void read_sketch(const uint8_t *data, size_t size)
{
	struct usual_record record = {.netns = 1, .count = 1, .begin_ns = 1, .end_ns = 2};
	_cleanup_free_ char *sketch = NULL;
	struct usual first, second;
	struct kept kept = {.again = &second}, kept_again = {};
	struct usual_answer answer;
	struct usual_key key;

	if (size < 3)
		return;
	record.of = data[0];
	record.figure = data[1];
	record.hour = data[2];
	snprintf(record.name, sizeof(record.name), "10.0.0.%u", data[0]);
	record.sketch = sketch = fuzz_text(data + 3, size - 3);
	usual_init(&first);
	usual_init(&second);
	usual_load(&first, &record);
	fuzz_require(usual_each_changed(&first, keep, &kept) == 0);
	fuzz_require(usual_each_changed(&second, keep, &kept_again) == 0);
	fuzz_require(kept.count == kept_again.count);
	key = usual_key(1, record.of & 3, record.figure, record.name);
	if (usual_get(&first, &key, record.hour % USUAL_HOURS, &answer))
		fuzz_require(answer.count > 0 && answer.p50 <= answer.p95);
	usual_done(&first);
	usual_done(&second);
}

static void read_target(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct notify_options options = {.targets = {.count = 1, .items = &text}};
	struct why why = {};

	fuzz_require(notify_check(&options, &why) == 0 || why.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] & 1)
		read_sketch(data + 1, size - 1);
	else
		read_target(data + 1, size - 1);
	return 0;
}
