/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces are untrusted, and a short symbol can expand to an unlimited name, since each part may repeat all earlier
 * parts. So the name arrives in pieces, and when it gets too long, longjmp leaves the demangler, which keeps no state
 * but its stack and limits its own recursion.
 */
#include "flow/trace/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* libiberty defines the same macro. */
#undef ARRAY_SIZE
#include "base/alloc.h"

#define SYMBOL_MAX 4096
#define TEXT_MAX   1024

struct demangled {
	jmp_buf too_long;
	size_t length;
	char text[TEXT_MAX];
};

static void take(const char *piece, size_t n, void *data)
{
	struct demangled *d = data;

	if (n >= sizeof(d->text) - d->length)
		longjmp(d->too_long, 1);
	memcpy(d->text + d->length, piece, n);
	d->length += n;
}

char *flow_demangle(const char *name)
{
	struct demangled d;

	if (strncmp(name, "_Z", 2) != 0 || strnlen(name, SYMBOL_MAX) == SYMBOL_MAX)
		return NULL;
	d.length = 0;
	if (setjmp(d.too_long) || !cplus_demangle_v3_callback(name, DMGL_NO_OPTS, take, &d) || !d.length)
		return NULL;
	d.text[d.length] = '\0';
	return xstrdup(d.text);
}
