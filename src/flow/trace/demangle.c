/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace may come from anywhere, and a short symbol can stand for a name of any length: each part may repeat all parts
 * before it. So the name is taken piece by piece, and when it gets too long the demangler is left for good; it keeps
 * nothing but its stack. How deep it goes on that stack it limits by itself.
 */
#include "flow/trace/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* Theirs; ours is as good. */
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
