/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exit status, the same for every command and part of the contract with scripts. */
#pragma once

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FINDINGS = 1,       /* findings at or above --fail-on */
	EXIT_USAGE = 2,          /* invalid command line or expression */
	EXIT_CANNOT_OBSERVE = 3, /* missing privilege or kernel feature; stderr says which */
	EXIT_LOSS = 4,           /* more events lost than --max-loss allows */
	EXIT_IO = 5,             /* input or output failed */
	EXIT_SIGNAL = 128,       /* plus the number of an unexpected signal */
};
