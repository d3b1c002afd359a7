/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macros that every file uses: cleanup, ownership, arrays, attributes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* __u32 and similar names are for BPF code and shared headers only. */
#ifndef NEST_KERNEL_TYPES
#pragma GCC poison u8 u16 u32 u64 s8 s16 s32 s64
#endif

#define ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))

#define _cleanup_(fn)  __attribute__((cleanup(fn)))
#define _must_check_   __attribute__((warn_unused_result))
#define _printf_(f, a) __attribute__((format(printf, f, a)))
#define _noreturn_     __attribute__((noreturn))
#define _unused_       __attribute__((unused))
#define likely(x)      __builtin_expect(!!(x), 1)
#define unlikely(x)    __builtin_expect(!!(x), 0)

/* The smaller and the larger of two, each evaluated once. */
#define min_of(a, b)       PICK_(a, <, b, __COUNTER__)
#define max_of(a, b)       PICK_(a, >, b, __COUNTER__)
#define PICK_(a, op, b, n) PICK_ONCE_(a, op, b, n)
#ifdef __CPPCHECK__ /* cannot parse a statement expression in an initialiser */
#define PICK_ONCE_(a, op, b, n) ((a)op(b) ? (a) : (b))
#else
#define PICK_ONCE_(a, op, b, n)                                                                                        \
	({                                                                                                             \
		const typeof(a) a_##n = (a);                                                                           \
		const typeof(b) b_##n = (b);                                                                           \
		a_##n op b_##n ? a_##n : b_##n;                                                                        \
	})
#endif

/* Moves ownership out of a variable that has a cleanup. */
#define take_ptr(p)                                                                                                    \
	({                                                                                                             \
		typeof(p) taken_ = (p);                                                                                \
		(p) = NULL;                                                                                            \
		taken_;                                                                                                \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

#define _cleanup_free_   _cleanup_(freep)
#define _cleanup_close_  _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)

/*
 * Registration without a central list: a file puts a pointer to its descriptor into a named linker section, and the
 * owner of the kind iterates over the section. The linker defines the order, so owners sort by name.
 */
#define REGISTER(kind, type, object)                                                                                   \
	__attribute__((used, section("nest_" #kind))) static const type *const kind##_entry_##object = &(object)

/* Weak, because a kind without entries has no section. */
#define REGISTRY(kind, type)                                                                                           \
	extern const type *const __start_nest_##kind[] __attribute__((weak));                                          \
	extern const type *const __stop_nest_##kind[] __attribute__((weak))

#define registry_each(kind, entry)                                                                                     \
	for (typeof(&__start_nest_##kind[0]) entry = __start_nest_##kind; entry < __stop_nest_##kind; entry++)
