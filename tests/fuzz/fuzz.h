/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share: an input as text, and a check that ends the process when it does not hold. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_require(condition)                                                                                        \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                 \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* A copy that ends with a NUL exactly where its memory ends, so that reading on is seen. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	return xstrndup((const char *)data, size);
}

/* Whether a line could harm a terminal or break a report. */
static inline bool fuzz_has_control(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
			return true;
	return false;
}
