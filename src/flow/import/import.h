/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Import of other tracers' formats. Each format is one file that declares and registers an importer; each importer
 * rates how well it fits a file.
 */
#pragma once

#include "base/macros.h"
#include "flow/trace/trace_writer.h"

struct import_result {
	const char *program; /* input: the traced program, for formats without names; may be NULL */
	const char *scratch; /* input: prefix for temporary files; NULL: none allowed */
	const char *format;
	uint64_t events;
	uint64_t lost;
	char note[256]; /* hints for the user; "" */
};

struct importer {
	const char *name;
	const char *summary;
	/* Confidence, from the name and first bytes, that this is its format: 0 no ... 100 certain. */
	int (*recognise)(const char *path, const char *head, size_t n);
	/* The writer is open and empty. */
	int (*read)(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why);
	/* Tick rate of the writer; 0: nanoseconds. May be NULL. */
	uint64_t (*ticks_per_second)(const char *path);
};

REGISTRY(importer, struct importer);

#define IMPORTER(object) REGISTER(importer, struct importer, object)

/* format may be NULL: detect it. -EINVAL when the format is unknown or none fits. */
int flow_import(const char *path, const char *format, const char *output, struct import_result *ret_result,
		struct why *why) _must_check_;
