/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVM XRay logs: basic mode (fixed records of 32 bytes) and flight data recorder mode (buffers per thread with records
 * of 8 and 16 bytes). The log has only function numbers: the program provides the names; without it they become
 * "xray#N".
 */
#include <errno.h>

#include "flow/import/import_map.h"
#include "flow/import/xray_names.h"

#define HEADER_BYTES 32

enum { KIND_ENTER = 0, KIND_EXIT = 1, KIND_TAIL_EXIT = 2, KIND_ENTER_ARG = 3 };
enum {
	META_NEW_BUFFER = 0,
	META_END_OF_BUFFER = 1,
	META_NEW_CPU = 2,
	META_TSC_WRAP = 3,
	META_CUSTOM_EVENT = 5,
	META_ARGUMENT = 6,
	META_EXTENTS = 7,
	META_TYPED_EVENT = 8,
	META_PID = 9,
};

struct xray {
	struct import_maps maps;
	struct import_result *result;
	struct xray_names names;
	uint64_t unmatched;
	uint64_t torn; /* bytes of incomplete records or missing buffer contents at the end */
};

static uint64_t load(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

static uint32_t function_of(struct xray *x, uint32_t id)
{
	const char *known = xray_name(&x->names, id);
	char name[24];

	snprintf(name, sizeof(name), "xray#%u", id);
	return import_function(&x->maps, known ? known : name);
}

static void take(struct xray *x, struct import_thread *thread, unsigned kind, uint32_t id, uint64_t ticks)
{
	if (!thread)
		return;
	if (kind == KIND_ENTER || kind == KIND_ENTER_ARG)
		import_call(&x->maps, thread, ticks, function_of(x, id));
	else if (!import_return(&x->maps, thread, ticks))
		x->unmatched++;
}

/* The log is truncated: marks the loss where calls remain open. */
static void take_torn(struct xray *x, const struct import_thread *thread, uint64_t bytes)
{
	x->torn += bytes;
	if (bytes && thread)
		trace_writer_lost(x->maps.writer, thread->thread, thread->last, 0);
}

static void read_basic(struct xray *x, const uint8_t *at, const uint8_t *end)
{
	for (; end - at >= 32; at += 32)
		/* Kind 1 is an argument of the preceding call. */
		if (load(at, 2) == 0)
			take(x, import_thread(&x->maps, (uint32_t)load(at + 20, 4), (uint32_t)load(at + 16, 4), NULL),
			     at[3], (uint32_t)load(at + 4, 4), load(at + 8, 8));
	take_torn(x, NULL, (uint64_t)(end - at));
}

/* Buffers follow each other; those of a thread in order of time. */
static void read_fdr(struct xray *x, const uint8_t *at, const uint8_t *end)
{
	struct import_thread *thread = NULL;
	const uint8_t *promise = at; /* where the log stated a buffer's length, */
	uint64_t promised = 0;       /* and that length in bytes from there */
	uint64_t tsc = 0;
	uint32_t pid = 0, tid = 0;

	while (end - at >= 8) {
		uint32_t word = (uint32_t)load(at, 4);
		unsigned kind;
		int64_t skip = 16;

		if (!(word & 1)) {
			tsc += load(at + 4, 4);
			if (!thread && tid)
				thread = import_thread(&x->maps, pid, tid, NULL);
			take(x, thread, word >> 1 & 7, word >> 4, tsc);
			at += 8;
			continue;
		}
		if (end - at < 16)
			break;
		kind = at[0] >> 1;
		if (kind == META_NEW_BUFFER) {
			tid = (uint32_t)load(at + 1, 4);
			thread = NULL;
		} else if (kind == META_PID) {
			pid = (uint32_t)load(at + 1, 4);
		} else if (kind == META_NEW_CPU) {
			tsc = load(at + 3, 8);
		} else if (kind == META_TSC_WRAP) {
			tsc = load(at + 1, 8);
		} else if (kind == META_EXTENTS) {
			promise = at + 16;
			promised = load(at + 1, 8);
		} else if (kind == META_CUSTOM_EVENT || kind == META_TYPED_EVENT) {
			skip += (int32_t)load(at + 1, 4);
		}
		if (skip < 16 || skip > end - at)
			break;
		at += skip;
	}
	if (promised > (uint64_t)(end - promise))
		take_torn(x, thread, promised - (uint64_t)(end - promise));
	else
		take_torn(x, thread, (uint64_t)(end - at));
}

static uint64_t frequency(const uint8_t *data, size_t size)
{
	uint64_t hz = size >= HEADER_BYTES ? load(data + 8, 8) : 0;

	return hz >= 1000 && hz <= UINT64_C(1000000000000) ? hz : 0;
}

static void add_notes(const struct xray *x)
{
	if (x->torn)
		import_note(x->result, "truncated log, bytes missing or incomplete at its end: %llu",
			    (unsigned long long)x->torn);
	if (x->unmatched)
		import_note(x->result, "returns of calls before the log omitted: %llu",
			    (unsigned long long)x->unmatched);
}

int import_xray(const uint8_t *data, size_t size, struct trace_writer *writer, struct import_result *result,
		struct why *why)
{
	struct xray x = {.result = result};
	unsigned version, type;
	int r = 0;

	if (size < HEADER_BYTES)
		return why_set(why, -EBADMSG, "too short for an XRay log");
	version = (unsigned)load(data, 2);
	type = (unsigned)load(data + 2, 2);
	if (version < 1 || version > 5 || type > 1 || (type == 1 && version < 3))
		return why_set(why, -EBADMSG, "not a supported XRay log (version %u, type %u)", version, type);
	if (result->program)
		r = xray_names_read(result->program, &x.names, why);
	if (r < 0) {
		xray_names_done(&x.names);
		return r;
	}
	import_maps_init(&x.maps, writer);
	if (type == 0)
		read_basic(&x, data + HEADER_BYTES, data + size);
	else
		read_fdr(&x, data + HEADER_BYTES, data + size);
	add_notes(&x);
	import_maps_done(&x.maps);
	xray_names_done(&x.names);
	return 0;
}

/* Only two bits of the word at 4 and nothing behind the frequency is set by every version of the runtime. */
static int recognise(const char *path, const char *head, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)head, *first = bytes + HEADER_BYTES;
	bool is_basic;

	(void)path;
	if (n < HEADER_BYTES || load(bytes, 2) < 1 || load(bytes, 2) > 5 || load(bytes + 2, 2) > 1 ||
	    !frequency(bytes, n))
		return 0;
	is_basic = load(bytes + 2, 2) == 0;
	/* The first record: an entry, or of the flight data recorder the begin of a buffer. */
	if (n >= HEADER_BYTES + 8 && (is_basic ? load(first, 2) > 1 || first[3] > KIND_ENTER_ARG : !(first[0] & 1)))
		return 0;
	return 80;
}

static int read_file(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	_cleanup_import_file_ struct import_file file = {};
	int r = import_file_open(path, &file, why);

	return r < 0 ? r : import_xray(file.data, file.size, writer, result, why);
}

static uint64_t ticks_of_file(const char *path)
{
	_cleanup_import_file_ struct import_file file = {};
	struct why why;

	return import_file_open(path, &file, &why) < 0 ? 0 : frequency(file.data, file.size);
}

static const struct importer xray_importer = {
	.name = "xray",
	.summary = "LLVM XRay, basic and flight data recorder mode",
	.recognise = recognise,
	.read = read_file,
	.ticks_per_second = ticks_of_file,
};
IMPORTER(xray_importer);
