/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocation that aborts with a message on failure. Sizes from input are checked against a cap before they get here; a
 * diagnosis tool cannot recover from running out of memory at a sane size.
 */
#pragma once

#include <stdarg.h>

#include "base/macros.h"

void *xmalloc(size_t size);
void *xzalloc(size_t size);
void *xrealloc(void *old, size_t size);
/* n * size bytes; aborts when the product overflows. */
void *xrealloc_array(void *old, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t max);
char *xasprintf(const char *format, ...) _printf_(1, 2);
char *xvasprintf(const char *format, va_list args) _printf_(1, 0);
