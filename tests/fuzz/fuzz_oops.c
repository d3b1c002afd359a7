/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel logs as no kernel writes them, up to JSON and text. */
#include "fuzz.h"
#include "kernel/kmsg.h"
#include "oops/oops_disasm.h"
#include "oops/oops_origin.h"
#include "oops/oops_text.h"
#include "view/json.h"

static bool find_parameter(const void *context, unsigned number, struct oops_value *ret_value)
{
	(void)context;
	*ret_value = (struct oops_value){.text = "skb", .type_name = "sk_buff", .type = number};
	return true;
}

static bool find_member(const void *context, uint64_t type, uint64_t offset, struct oops_value *ret_value)
{
	(void)context;
	*ret_value = (struct oops_value){.text = "next", .type_name = "sk_buff", .type = type + offset};
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_oops_ struct oops_list list = {};
	struct why why;

	(void)kmsg_sequence((const char *)data, size);
	oops_read((const char *)data, size, &list);
	fuzz_require(oops_disasm_all(&list, &why) == 0);
	vec_each(&list.items, item) {
		_cleanup_buf_ struct buf shown = BUF_INIT(BUF_CAP_DEFAULT);
		struct out out = {.fd = -1, .kept = true, .pending = BUF_INIT(BUF_CAP_DEFAULT)};

		fuzz_require((*item)->frames.count <= OOPS_FRAMES_MAX && (*item)->code.count <= OOPS_CODE_MAX);
		fuzz_require((*item)->report.what && (*item)->report.signature);
		json_add_object(&shown, &oops_type, &(*item)->report);
		fuzz_require(shown.len > 2 && !fuzz_has_control(shown.data, shown.len));
		oops_text_print(*item, 0, true, &out);
		for (size_t i = 0; i < out.pending.len; i++)
			fuzz_require(out.pending.data[i] == '\n' || !fuzz_has_control(out.pending.data + i, 1));
		oops_origin_find(*item, &(struct oops_types){.parameter = find_parameter, .member = find_member});
		buf_done(&out.pending);
	}
	return 0;
}
