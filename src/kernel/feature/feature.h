/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State shared by the parts of features_look; each part adds the checks of one group. */
#pragma once

#include "base/buf.h"
#include "kernel/feature/feature_check.h"
#include "kernel/feature/probe_run.h"
#include "kernel/proctext.h"

struct first_process;

struct feature_context {
	struct check_list *list;
	char release[72];  /* from uname */
	struct buf config; /* kernel configuration, empty when unreadable */
	char config_path[128];
	struct buf mounts; /* /proc/self/mountinfo */
	int mounts_error;
	uint64_t caps; /* effective capabilities */
	int caps_error;
	struct probe_report probes;
	struct first_process *first; /* watched during the other checks; NULL: first_why says why not */
	struct why first_why;
};

void feature_kernel_check(struct feature_context *context);
void feature_program_check(struct feature_context *context);
void feature_tracepoint_check(struct feature_context *context);
void feature_privilege_check(struct feature_context *context);
void feature_host_check(struct feature_context *context);
void feature_socket_check(struct feature_context *context);

enum config_state feature_config(const struct feature_context *context, const char *option);
/* "; this kernel is built without CONFIG_X", or empty when unknown. */
const char *feature_config_words(const struct feature_context *context, const char *option, char *text, size_t size);
/* How to get the wanted capabilities that are not held. */
void feature_caps_advice(const struct feature_context *context, uint64_t wanted, char *text, size_t size);

/* Reads a small file, at most 64 KiB, without its trailing newline. */
int feature_read(const char *path, struct buf *text) _must_check_;
int feature_read_number(const char *path, int64_t *ret_value) _must_check_;
