/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of other tracers. Each format is one file that declares an importer and registers it; which one fits a file is
 * found out by asking each.
 */
#pragma once

#include "base/macros.h"
#include "flow/trace/trace_writer.h"

struct import_result {
	const char *program; /* set before: what was traced, for those formats that have no names; may be NULL */
	const char *scratch; /* a name beside which something may be put for a while; NULL: nowhere */
	const char *format;
	uint64_t events;
	uint64_t lost;
	char note[256]; /* what a user should know about it; "" when nothing */
};

struct importer {
	const char *name;
	const char *summary;
	/* How sure it is from the name and the first bytes that this is its format: 0 no ... 100 certain. */
	int (*recognise)(const char *path, const char *head, size_t n);
	/* The writer is open; nothing was written to it. */
	int (*read)(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why);
	/* Ticks of the writer; 0: nanoseconds. May be NULL. */
	uint64_t (*ticks_per_second)(const char *path);
};

REGISTRY(importer, struct importer);

#define IMPORTER(object) REGISTER(importer, struct importer, object)

/* format may be NULL: found out. -EINVAL when there is no such format or none fits. */
int flow_import(const char *path, const char *format, const char *output, struct import_result *ret_result,
		struct why *why) _must_check_;
