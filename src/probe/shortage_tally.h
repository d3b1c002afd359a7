/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "shortage": socket() calls that failed with EMFILE, by process, since a process near its limit of descriptors
 * was first seen. A program at its limit may need no more; one that fails to make a socket does.
 */
#pragma once

#include "record/field.h"

struct shortage_record {
	uint32_t netns;
	uint32_t pid;
	uint64_t failures;
};

extern const struct record_type shortage_type;
