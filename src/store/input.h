/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selection of a recording and a part of it: -f FILE --from TIME --to TIME. */
#pragma once

#include "base/option.h"
#include "store/recording.h"

struct input_options {
	const char *file;
	const char *other; /* a second -f: the other end of the connections */
	const char *from;
	const char *to;
	const char *from_option; /* that of the command for messages; NULL: --from */
	const char *to_option;
};

/* -f, --from and --to; for OPTION_GROUP. */
extern const struct option_spec input_option_table[];

struct time_range {
	uint64_t from_ns;
	uint64_t to_ns; /* UINT64_MAX: to the end */
};

/*
 * Opens the file of -f and resolves --from and --to in it. -EINVAL: they are no times, or the wrong way round; never
 * for the file.
 */
int input_open(const struct input_options *options, struct recording **ret_recording, struct time_range *ret_range,
	       struct why *why) _must_check_;
/* 02:13, 02:13:30.5, a full date and time, +10s (after the start), -1m (before the end). */
int input_parse_time(struct recording *recording, const char *text, uint64_t *ret_ns, struct why *why) _must_check_;
