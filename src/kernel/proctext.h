/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of /proc, /sys and the kernel's configuration, taken apart. Each function works on a text that may be empty,
 * cut off or nonsense, and says -ENODATA or "unknown" then; none reads a file.
 */
#pragma once

#include "base/macros.h"

/* Goes through a text line by line: const char *line; size_t n; while (proctext_line(&text, &line, &n)) ... */
bool proctext_line(const char **text, const char **ret_line, size_t *ret_len);

enum config_state {
	CONFIG_UNKNOWN, /* there is no configuration to look at */
	CONFIG_OFF,
	CONFIG_MODULE,
	CONFIG_ON,
};

/* option with its CONFIG_. In a text that has any option at all, one that is not named is off. */
enum config_state proctext_config(const char *text, const char *option);

/* Where the unified hierarchy is mounted, out of /proc/self/mountinfo. -ENODATA: nowhere; -E2BIG: path longer than
 * size. */
int proctext_cgroup2_mount(const char *mountinfo, char *path, size_t size) _must_check_;
/* The controllers of the old hierarchies ("cpu,memory"), comma-separated; empty when there are none. */
void proctext_cgroup1_controllers(const char *mountinfo, char *controllers, size_t size);
/* The own place in the unified hierarchy, out of /proc/self/cgroup. */
int proctext_cgroup2_own(const char *cgroup, char *path, size_t size) _must_check_;

/* The word in brackets: "none [integrity] confidentiality". */
int proctext_bracketed(const char *text, char *word, size_t size) _must_check_;

/* Whether a line of /proc/kallsyms has an address that is not hidden; -ENODATA when no line is one. */
int proctext_kallsyms_shown(const char *text) _must_check_;
/* The figure of /proc/pressure/X: the share of the last ten seconds that some task waited. */
int proctext_pressure(const char *text, double *ret_avg10) _must_check_;
/* A file with one number in it and nothing else but blanks. */
int proctext_number(const char *text, int64_t *ret_value) _must_check_;
/* Of /proc/TID/schedstat: how long the thread has had a processor, and how often it got one. */
struct proctext_run {
	uint64_t ran_ns;
	uint64_t times;
};
int proctext_schedstat(const char *text, struct proctext_run *ret_run) _must_check_;
/* 6001 for "6.1.0-53-amd64": thousands are the first number, the rest the second; 0 when it is no release. */
unsigned proctext_release(const char *release);
