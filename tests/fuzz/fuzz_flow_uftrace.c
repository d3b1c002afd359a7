/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a directory of uftrace record: its files stand one after the other with a byte of all ones between
 * them, the records last. Refused with a sentence, or read into a trace that is well-formed.
 */
#include <fcntl.h>

#include "base/alloc.h"
#include "base/new_file.h"
#include "flow/import/import.h"
#include "flow/trace/trace_check.h"
#include "fuzz.h"

static const char *const names[] = {"task.txt", "sid-1.map", "demo.sym", "7.dat"};

static void write_files(int dir, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_close_ int fd = openat(dir, names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		const uint8_t *end = i + 1 < ARRAY_SIZE(names) && size ? memchr(data, 0xff, size) : NULL;
		size_t n = end ? (size_t)(end - data) : size;

		fuzz_require(fd >= 0 && write(fd, data, n) == (ssize_t)n);
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
}

static void import(const char *path, const char *output)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct import_result result = {};
	struct flow_check check;
	struct why why = {};

	new_file_forget_inputs();
	if (flow_import(path, "uftrace", output, &result, &why) < 0) {
		fuzz_require(why.text[0]);
		return;
	}
	fuzz_require(flow_trace_open(output, &trace, &why) == 0);
	flow_trace_check(trace, &check);
	fuzz_require(!check.faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/nest-fuzz-uftrace-XXXXXX";
	_cleanup_free_ char *output = NULL;
	int dir;

	fuzz_require(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_require(dir >= 0);
	output = xasprintf("%s/trace", path);
	write_files(dir, data, size);
	import(path, output);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlinkat(dir, names[i], 0);
	(void)unlinkat(dir, "trace", 0);
	close(dir);
	fuzz_require(rmdir(path) == 0);
	return 0;
}
