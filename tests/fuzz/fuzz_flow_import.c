/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the input of an importer, which the first byte chooses: refused with a sentence, or read to the end. */
#include "flow/import/import_map.h"
#include "flow/trace/trace_text.h"
#include "fuzz.h"
#include "probe/probe_text.h"

#define CTF_RECORDS 250

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;
	struct import_result result = {};
	struct trace_writer *writer;
	struct why why = {};
	int r;

	if (!size)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	if (trace_writer_open("/dev/null", &(struct trace_writer_options){.chunk_bytes = 4096}, &writer, &why) < 0)
		return 0;
	switch (data[0] == CTF_RECORDS ? CTF_RECORDS : data[0] % 5) {
	case CTF_RECORDS:
		r = import_ctf_records(data + 1, size - 1, writer, &result, &why);
		break;
	case 0:
		r = import_xray((const uint8_t *)text, strlen(text), writer, &result, &why);
		if (r == 0 || size < 2)
			break;
		why.text[0] = '\0';
		r = import_xray(data + 1, size - 1, writer, &result, &why);
		break;
	case 1:
		r = import_trace_event(text, strlen(text), writer, &result, &why);
		break;
	case 2:
		r = import_function_graph(text, strlen(text), writer, &result, &why);
		break;
	case 4: {
		struct probe_line line;

		r = 0;
		if (probe_line_parse(text, &line))
			fuzz_require(line.arg_count <= PROBE_ARGS_MAX && strnlen(line.comm, 17) < 17);
		break;
	}
	default:
		r = trace_text_import(text, strlen(text), writer, &why);
	}
	fuzz_require(r == 0 || why.text[0]);
	fuzz_require(trace_writer_close(writer) == 0);
	return 0;
}
