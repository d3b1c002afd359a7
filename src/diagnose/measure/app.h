/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a process, and of what it does with one of its sockets. */
#pragma once

#include "diagnose/graph/module.h"

struct app_measures {
	uint32_t pid;
	char comm[16];
	uint64_t app_threads;
	double app_stopped_share;
	uint64_t app_stopped_recent;
	double app_dead_share;
	double app_runnable_share;
	double app_run_share;
	double app_cpu_wait_share;
	uint64_t app_cpu_delay_ns;
	double app_sleep_share;
	double app_sending_share;
	uint64_t app_fds, app_fd_max;
	double app_fd_share;
	uint64_t app_fd_failures;
	bool app_tunnel;
	uint64_t app_io_wait_count;
	const char *cgroup;
	double cgroup_throttled_share;
	double cgroup_quota;
	uint8_t cgroup_frozen;
};

/* What the threads of the owner do with this socket, as shares of the samples. */
struct use_measures {
	double app_reading_share;
	double app_writing_share;
	double app_polling_share;
	double app_connecting_share;
	double app_accepting_share;
	double app_elsewhere_share;
};

extern const struct record_type app_measures_type, use_measures_type;
