/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a function of a trace is: its layer of the network stack, or part of how the kernel reports. */
#pragma once

#include "oops/oops.h"

/* As the tools and nest path name layers; NULL: none. module may be NULL. */
const char *oops_layer_of(const char *function, const char *module);
/* Functions that print, trap, wait or allocate for others: whoever called them is meant. */
bool oops_layer_is_machinery(const char *function);
/* Sets layers of all frames and of the report, context and NAPI function. */
void oops_layer_place(struct oops *oops);
