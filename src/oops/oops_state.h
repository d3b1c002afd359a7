/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the CPU in a report: call trace, registers, bytes of code. */
#pragma once

#include "oops/oops_body.h"

/* A line of a trace; false: it is none, and the trace is over. */
bool oops_state_trace(struct oops_body *body, const char *text);
/* "RAX: 0000000000000000 RBX: ..."; false: no registers. */
bool oops_state_registers(struct oops *oops, const char *text);
/* The bytes behind "Code: ". */
void oops_state_code(struct oops *oops, const char *text);
