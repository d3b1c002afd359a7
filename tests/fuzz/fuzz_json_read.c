/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records read from JSON lines: refused with a sentence, or written and read again as the same. */
#include "../unit/sample.h"
#include "fuzz.h"
#include "record/json_read.h"
#include "view/json.h"

/* The sample type without what JSON cannot give back. */
static const struct record_type *flat_type(void)
{
	static struct field fields[ARRAY_SIZE(sample_fields)];
	static struct record_type type;

	if (type.field_count)
		return &type;
	type = sample_type;
	type.field_count = 0;
	type.fields = fields;
	for (size_t i = 0; i < ARRAY_SIZE(sample_fields); i++)
		if (sample_fields[i].kind != KIND_STACK && sample_fields[i].kind != KIND_LIST)
			fields[type.field_count++] = sample_fields[i];
	return &type;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct record_type *type = flat_type();
	_cleanup_buf_ struct buf first = BUF_INIT(0), second = BUF_INIT(0);
	struct sample s = {}, again = {};
	struct why why = {};
	int r = record_read_json_line(type, (const char *)data, size, &s, &why);

	fuzz_require(r == 0 || why.text[0]);
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	if (r < 0)
		return 0;
	json_add_object(&first, type, &s);
	fuzz_require(record_read_json_line(type, buf_text(&first), first.len, &again, &why) == 0);
	json_add_object(&second, type, &again);
	fuzz_require(strcmp(buf_text(&first), buf_text(&second)) == 0);
	record_free_strings(type, &s);
	record_free_strings(type, &again);
	return 0;
}
