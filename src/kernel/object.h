/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An embedded BPF object, from opening to closing. Only chosen programs are loaded, so a program that this kernel
 * refuses affects no other:
 *
 *	kernel_object_open("probe.bpf.o", &object, &why);
 *	kernel_object_choose(object, "on_retransmit", &why);
 *	kernel_object_load(object, &why);
 *	kernel_object_attach(object, "on_retransmit", &why);
 *	...
 *	kernel_object_close(object);
 *
 * Nothing is ever pinned: programs, maps and links end with this process.
 */
#pragma once

#include "base/why.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;
struct kernel_object;

/* name as in base/embed.h. -ENOENT when no such object is embedded. */
int kernel_object_open(const char *name, struct kernel_object **ret_object, struct why *why) _must_check_;
/*
 * The same in two steps, for objects with many programs: between them, kernel_object_section and kernel_object_choose
 * work, and only the chosen programs and those of their sections are opened. Chosen names must stay valid until then.
 */
int kernel_object_find(const char *name, struct kernel_object **ret_object, struct why *why) _must_check_;
int kernel_object_open_chosen(struct kernel_object *object, struct why *why) _must_check_;
/* Detaches, unloads and frees; takes NULL. */
void kernel_object_close(struct kernel_object *object);
static inline void kernel_object_closep(struct kernel_object **object)
{
	kernel_object_close(*object);
}

/* Marks a program for loading; -ENOENT when the object has none of that name. */
int kernel_object_choose(struct kernel_object *object, const char *program, struct why *why) _must_check_;
/* Does not create a map: for maps unused by the chosen programs, whose type the kernel may lack. */
int kernel_object_omit_map(struct kernel_object *object, const char *map) _must_check_;
/* The same for every map for which omit returns true. */
void kernel_object_omit_maps(struct kernel_object *object, bool (*omit)(const char *map, void *context), void *context);
/* Before loading: sets the number of entries of a map, or the inner map of a map of maps. */
int kernel_object_size_map(struct kernel_object *object, const char *map, uint32_t entries) _must_check_;
int kernel_object_inner_map(struct kernel_object *object, const char *map, int inner_fd) _must_check_;
/* Loads the chosen programs and every map that was not omitted. */
int kernel_object_load(struct kernel_object *object, struct why *why) _must_check_;
/* Attaches a loaded program to the target of its section. */
int kernel_object_attach(struct kernel_object *object, const char *program, struct why *why) _must_check_;
/* Detaches everything; programs and maps stay readable. */
void kernel_object_detach(struct kernel_object *object);
/* Takes ownership of a link (a libbpf call's result, including NULL with errno set). */
int kernel_object_keep_link(struct kernel_object *object, const char *program, struct bpf_link *link,
			    struct why *why) _must_check_;

/* Run time of a program so far, while the kernel counts it (bpf_enable_stats); 0: unknown. */
uint64_t kernel_object_run_ns(const struct kernel_object *object, const char *program);
/* The section of a program ("tp_btf/sched_switch"); NULL when there is no such program. */
const char *kernel_object_section(const struct kernel_object *object, const char *program);
/* All sections of programs. */
void kernel_object_each_section(const struct kernel_object *object, void (*fn)(const char *section, void *context),
				void *context);
/* A variable or function that the program needs and the kernel lacks; NULL: none. */
const char *kernel_object_missing_extern(const struct kernel_object *object, const char *program,
					 bool (*has)(const char *name, bool is_weak));
/* Recursion misses of a loaded program; 0 where the kernel does not count them. */
uint64_t kernel_object_misses(const struct kernel_object *object, const char *program);
/* Whether libbpf loads the first of two programs before the second. */
bool kernel_object_comes_before(const struct kernel_object *object, const char *program, const char *other);

/* For functions missing in this header; NULL when there is no program of that name. */
struct bpf_program *kernel_object_program(const struct kernel_object *object, const char *program);
/* -ENOENT, or -EBADF before loading. */
int kernel_object_map_fd(const struct kernel_object *object, const char *map) _must_check_;
/*
 * A global variable of the BPF source. Before loading, writes set its initial value; after loading, a new call returns
 * the memory shared with the programs, read-only for constants (const volatile). -EINVAL when the size differs.
 */
int kernel_object_variable(const struct kernel_object *object, const char *variable, size_t size,
			   void **ret_address) _must_check_;

#define _cleanup_object_ _cleanup_(kernel_object_closep)
