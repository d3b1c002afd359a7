/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers for texts of /proc, /sys and the kernel configuration. The text may be empty, truncated or invalid; the
 * result is then -ENODATA or "unknown". None reads a file.
 */
#pragma once

#include "base/macros.h"

/* Iterates over lines: const char *line; size_t n; while (proctext_line(&text, &line, &n)) ... */
bool proctext_line(const char **text, const char **ret_line, size_t *ret_len);

enum config_state {
	CONFIG_UNKNOWN, /* the configuration is not available */
	CONFIG_OFF,
	CONFIG_MODULE,
	CONFIG_ON,
};

/* option with its CONFIG_. In a text with at least one option, a missing option is off. */
enum config_state proctext_config(const char *text, const char *option);

/* Mount point of cgroup2, from /proc/self/mountinfo. -ENODATA: not mounted; -E2BIG: path longer than size. */
int proctext_cgroup2_mount(const char *mountinfo, char *path, size_t size) _must_check_;
/* The controllers of cgroup v1 ("cpu,memory"), comma-separated; empty when there are none. */
void proctext_cgroup1_controllers(const char *mountinfo, char *controllers, size_t size);
/* The cgroup2 path of this process, from /proc/self/cgroup. */
int proctext_cgroup2_own(const char *cgroup, char *path, size_t size) _must_check_;

/* The word in brackets: "none [integrity] confidentiality". */
int proctext_bracketed(const char *text, char *word, size_t size) _must_check_;

/* Whether /proc/kallsyms shows addresses; -ENODATA without a valid line. */
int proctext_kallsyms_shown(const char *text) _must_check_;
/* "some avg10" of /proc/pressure/X, in percent. */
int proctext_pressure(const char *text, double *ret_avg10) _must_check_;
/* A text of one number and blanks. */
int proctext_number(const char *text, int64_t *ret_value) _must_check_;
/* From /proc/TID/schedstat: CPU time of the thread, and number of time slices. */
struct proctext_run {
	uint64_t ran_ns;
	uint64_t times;
};
int proctext_schedstat(const char *text, struct proctext_run *ret_run) _must_check_;
/* Kernel release as 1000 * major + minor: 6001 for "6.1.0-53-amd64"; 0 when invalid. */
unsigned proctext_release(const char *release);
