/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of features_look share; each part adds the checks of one group. */
#pragma once

#include "base/buf.h"
#include "kernel/feature/feature_check.h"
#include "kernel/feature/probe_run.h"
#include "kernel/proctext.h"

struct first_process;

struct feature_context {
	struct check_list *list;
	char release[72];  /* of uname */
	struct buf config; /* the kernel's configuration, empty when it cannot be read */
	char config_path[128];
	struct buf mounts; /* /proc/self/mountinfo */
	int mounts_error;
	uint64_t caps; /* effective capabilities */
	int caps_error;
	struct probe_report probes;
	struct first_process *first; /* looks at it while the rest is tried; NULL: first_why says why not */
	struct why first_why;
};

void feature_kernel_look(struct feature_context *context);
void feature_program_look(struct feature_context *context);
void feature_tracepoint_look(struct feature_context *context);
void feature_privilege_look(struct feature_context *context);
void feature_host_look(struct feature_context *context);
void feature_socket_look(struct feature_context *context);

enum config_state feature_config(const struct feature_context *context, const char *option);
/* "; the kernel is built without CONFIG_X", or nothing where that is not known. */
const char *feature_config_words(const struct feature_context *context, const char *option, char *text, size_t size);
/* How to come by capabilities that are wanted and not held. */
void feature_caps_advice(const struct feature_context *context, uint64_t wanted, char *text, size_t size);

/* The whole of a small file, at most 64 KiB, without the line end at its end. */
int feature_read(const char *path, struct buf *text) _must_check_;
int feature_read_number(const char *path, int64_t *ret_value) _must_check_;
