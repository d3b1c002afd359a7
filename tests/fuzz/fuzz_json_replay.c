/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nest wrote as JSON and reads again (nest doctor -f, nest hardware with a tree from elsewhere): lines of any
 * content are refused with a sentence, or become records that are written as the same text again.
 */
#include "fuzz.h"
#include "kernel/feature/feature_check.h"
#include "record/json_read.h"
#include "snapshot/netlink/ethtool.h"
#include "view/json.h"

static void replay(const struct record_type *type, const char *text, size_t size)
{
	_cleanup_buf_ struct buf first = BUF_INIT(0), second = BUF_INIT(0);
	_cleanup_free_ void *record = xzalloc(type->size), *again = xzalloc(type->size);
	struct why why = {};
	int r = record_read_json_line(type, text, size, record, &why);

	fuzz_require((r == 0) == (why.text[0] == '\0'));
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	if (r < 0)
		return;
	json_add_object(&first, type, record);
	fuzz_require(!fuzz_has_control(buf_text(&first), first.len));
	fuzz_require(record_read_json_line(type, buf_text(&first), first.len, again, &why) == 0);
	json_add_object(&second, type, again);
	fuzz_require(strcmp(buf_text(&first), buf_text(&second)) == 0);
	record_free_strings(type, record);
	record_free_strings(type, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);

	replay(&check_type, text, strlen(text));
	replay(&link_detail_type, text, strlen(text));
	return 0;
}
