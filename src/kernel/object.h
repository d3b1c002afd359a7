/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF object that the build put inside the program, from opening to closing. Nothing is loaded that was not chosen,
 *so a program that this kernel refuses costs only itself:
 *
 *	kernel_object_open("probe.bpf.o", &object, &why);
 *	kernel_object_choose(object, "on_retransmit", &why);
 *	kernel_object_load(object, &why);
 *	kernel_object_attach(object, "on_retransmit", &why);
 *	...
 *	kernel_object_close(object);
 *
 * Nothing is ever pinned: programs, maps and links live as long as this process, however it ends.
 */
#pragma once

#include "base/why.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;
struct kernel_object;

/* name as in base/embed.h. -ENOENT when nothing of that name was built in. */
int kernel_object_open(const char *name, struct kernel_object **ret_object, struct why *why) _must_check_;
/*
 * The same in two steps, for objects with many programs: between them, kernel_object_section and kernel_object_choose
 * work, and what is opened is the chosen programs and those of their sections. Names that are chosen must live until
 * then.
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
/* Keeps a map from being created, where the chosen programs do not use it and the kernel may not have its kind. */
int kernel_object_omit_map(struct kernel_object *object, const char *map) _must_check_;
/* The same for every map of which the question is answered with yes. */
void kernel_object_omit_maps(struct kernel_object *object, bool (*omit)(const char *map, void *context), void *context);
/* Before loading: how many entries a map has, or which map the maps inside a map are like. */
int kernel_object_size_map(struct kernel_object *object, const char *map, uint32_t entries) _must_check_;
int kernel_object_inner_map(struct kernel_object *object, const char *map, int inner_fd) _must_check_;
/* Loads the chosen programs and every map that was not omitted. */
int kernel_object_load(struct kernel_object *object, struct why *why) _must_check_;
/* Attaches a loaded program to what its section names. */
int kernel_object_attach(struct kernel_object *object, const char *program, struct why *why) _must_check_;
/* Detaches everything; programs and maps stay, to be read. */
void kernel_object_detach(struct kernel_object *object);
/* Takes over a link that was made by other means (a libbpf call's result, NULL with errno set included). */
int kernel_object_keep_link(struct kernel_object *object, const char *program, struct bpf_link *link,
			    struct why *why) _must_check_;

/* How long a program has run so far, while the kernel counts that (bpf_enable_stats); 0: unknown. */
uint64_t kernel_object_run_ns(const struct kernel_object *object, const char *program);
/* What a program attaches to, as its source says ("tp_btf/sched_switch"); NULL when there is no such program. */
const char *kernel_object_section(const struct kernel_object *object, const char *program);
/* A variable or function of the kernel that the program needs and the kernel lacks; NULL: it has all of them. */
const char *kernel_object_missing_extern(const struct kernel_object *object, const char *program,
					 bool (*has)(const char *name, const void *context), const void *context);
/* How often a loaded program was not run because it was running already; 0 where the kernel does not count that. */
uint64_t kernel_object_misses(const struct kernel_object *object, const char *program);
/* Whether libbpf loads the first of two programs before the second. */
bool kernel_object_comes_before(const struct kernel_object *object, const char *program, const char *other);

/* For what this header does not offer; NULL when there is no program of that name. */
struct bpf_program *kernel_object_program(const struct kernel_object *object, const char *program);
/* -ENOENT, or -EBADF before loading. */
int kernel_object_map_fd(const struct kernel_object *object, const char *map) _must_check_;
/*
 * A global variable of the BPF source. What is written before loading is its first value; asked for again after loading
 * it is the memory that the programs work on, read-only for constants (const volatile). -EINVAL when the size is not
 * this one.
 */
int kernel_object_variable(const struct kernel_object *object, const char *variable, size_t size,
			   void **ret_address) _must_check_;

#define _cleanup_object_ _cleanup_(kernel_object_closep)
