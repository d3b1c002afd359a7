/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is there or the program ends with a line that says where. Sizes that come from input are checked against
 * a cap before they get here; running out on a sane size is not something a diagnosis tool can mend.
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
