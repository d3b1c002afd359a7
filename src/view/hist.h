/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms, log2 or linear: a histogram is a list of slots, and the slots say where they begin and end. */
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

/* The slot of a log2 histogram that a value falls into: 0, 1, 2-3, 4-7, ... */
unsigned hist_log2_index(uint64_t value);
struct hist_slot hist_log2_slot(unsigned index);

/* Below which so many in a hundred values are, as if the values of a slot were spread evenly over it. */
uint64_t hist_percentile(const struct hist_slot *slots, size_t count, unsigned percent, uint64_t max);
/*
 * Draws it, with percentiles and the largest value below; values are shown as the field's kind says. Empty slots at
 * both ends are left out.
 */
void hist_print(struct out *out, const struct field *field, const struct hist_slot *slots, size_t count, uint64_t max);
