/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chosen functions of a program that runs and was not built for it: uprobes, through a private instance of tracefs. */
#pragma once

#include "base/option.h"

struct probe_options {
	uint32_t pid;
	const char *output;
	const struct text_list *only;    /* patterns of functions; at least one */
	const struct text_list *without; /* and of those to leave out */
	uint64_t args;                   /* so many arguments of each call are recorded, as they are in registers */
	bool no_sockets;
	uint64_t duration_ns; /* 0: until a signal comes or the process ends */
};

/* Returns an exit code; has said what was to be said. */
int flow_probe_record(const struct probe_options *options);
