/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms, log2 or linear: a list of slots, each with its bounds. */
#pragma once

#include "base/out.h"
#include "record/field.h"

struct hist_slot {
	uint64_t lo; /* first value of the slot */
	uint64_t hi; /* last value of the slot */
	uint64_t count;
};

/* For a list field called hist. */
extern const struct record_type hist_slot_type;

/* The slot of a value in a log2 histogram: 0, 1, 2-3, 4-7, ... */
unsigned hist_log2_index(uint64_t value);
struct hist_slot hist_log2_slot(unsigned index);

/* The percentile, interpolated linearly inside a slot. */
uint64_t hist_percentile(const struct hist_slot *slots, size_t count, unsigned percent, uint64_t max);
/*
 * Draws it, with percentiles and maximum below; the field's kind selects the format of values. Empty slots at both ends
 * are omitted.
 */
void hist_print(struct out *out, const struct field *field, const struct hist_slot *slots, size_t count, uint64_t max);
