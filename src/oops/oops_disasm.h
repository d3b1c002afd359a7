/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a "Code:" line as instructions, by libcapstone. */
#pragma once

#include "base/why.h"
#include "oops/oops.h"

/* Adds the instructions around the fault to every report with code. -ENOENT and why without the library. */
int oops_disasm_all(struct oops_list *list, struct why *why) _must_check_;

/* What an instruction does with registers, as far as it matters for where a value came from. */
struct oops_step {
	uint32_t offset;     /* in the function */
	bool is_call;        /* registers that a call may change are lost */
	bool ends;           /* jump or return: what follows is reached from elsewhere */
	bool copies, loads;  /* to := from, to := memory[from + disp] */
	bool uses;           /* memory[from + disp] */
	char to[8], from[8]; /* as the log names them: RAX, R08, x3 */
	int64_t disp;
	unsigned write_count; /* all registers that change */
	char writes[12][8];
};

#define OOPS_STEPS_MAX 128

/* The steps up to and with the faulting one, oldest first. Returns their number; 0: unknown. */
size_t oops_disasm_steps(const struct oops *oops, struct oops_step steps[OOPS_STEPS_MAX]);
