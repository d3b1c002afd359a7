/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives privilege up, for the rest of the process's life: capabilities (capset), new ones by exec (NoNewPrivs), files
 * (Landlock), system calls (seccomp, an allow-list). What is open stays open.
 *
 *	struct confine confine = {.may = MAY_WRITE};
 *	confine_add_input(&confine, "day.nest");
 *	confine_add_output(&confine, "report.html");
 *	r = confine_apply(&confine, &why);
 *	confine_done(&confine);
 *
 * Threads that exist already are not confined: call it before any is started. Processes started later are.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"

/* What a process may do beside computing and reading the files that it names. */
enum confine_may {
	MAY_NOTHING_ELSE = 0,    /* reads files */
	MAY_USE_MAPS = 1 << 0,   /* read and change BPF maps that are open; load and attach nothing */
	MAY_MAKE_MAPS = 1 << 9,  /* also make maps, and iterators of programs that are loaded */
	MAY_ATTACH = 1 << 12,    /* attach BPF programs that are loaded; with MAY_USE_MAPS */
	MAY_SIGNAL = 1 << 1,     /* send signals to other processes */
	MAY_EXEC = 1 << 2,       /* run programs, confined like itself */
	MAY_SERVE = 1 << 3,      /* accept and make connections; sockets of IP and UNIX */
	MAY_OBSERVE = 1 << 4,    /* netlink and packet sockets, namespaces, BPF, perf events */
	MAY_SCRATCH = 1 << 5,    /* make directories and links beside its output */
	MAY_READ_PROC = 1 << 6,  /* read all of /proc and /sys, not only what belongs to the process itself */
	MAY_INSPECT = 1 << 7,    /* read descriptors and memory maps of other processes: Landlock forbids it, so none */
	MAY_NAME_FILES = 1 << 8, /* read and write files that the user names later: Landlock limits none */
	MAY_ASK = 1 << 10,       /* ask processes that were started before (helper.h), which end with this one */
	MAY_WRITE = 1 << 11,     /* open files for writing, make, rename and remove them */
};

struct confine_rule {
	char *path;
	uint64_t rights; /* of Landlock */
};

struct confine {
	unsigned may;
	uint64_t keep; /* capabilities that stay, by bit (CAP_BIT) */
	VEC(struct confine_rule) rules;
};

/*
 * A file or directory that will be read, a file that will be written or replaced: "-" and NULL name none. One that does
 * not exist yet is no error: opening it later tells the user. A capability without which a file of another user could
 * not be opened stays; Landlock limits it to these files.
 */
void confine_add_input(struct confine *confine, const char *path);
void confine_add_output(struct confine *confine, const char *path);
/* A UNIX socket that will be made and removed. */
void confine_add_socket(struct confine *confine, const char *path);
/* A directory below which files are read; of one that is written, also made and removed. */
void confine_add_tree(struct confine *confine, const char *path, bool written);
void confine_done(struct confine *confine);

/* What could not be applied because the kernel lacks it is no error (confine_support); everything else is. */
int confine_apply(const struct confine *confine, struct why *why) _must_check_;

/* Kernels before 5.19 want CAP_BPF for maps that are open, unless sysctl kernel.unprivileged_bpf_disabled is 0. */
bool confine_maps_need_privilege(void);
/* Version of Landlock in this kernel; 0: none. Whether it filters system calls. */
int confine_landlock_version(void);
bool confine_has_seccomp(void);
/* Capabilities alone, for a process that is about to run a program: a part of confine_apply. */
int confine_drop_capabilities(uint64_t keep, struct why *why) _must_check_;
/* System calls: makes the filter of confine_apply and loads it. */
int confine_filter_calls(unsigned may, struct why *why) _must_check_;
