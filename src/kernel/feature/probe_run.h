/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries every kind of BPF program: loads it, attaches it where it can do no harm, makes something happen that should
 * run it, and looks whether it ran.
 *
 * All of that happens in a child process with a network namespace of its own where that is permitted, so a kernel that
 * hangs or a crash costs a time limit and an answer, and programs that judge packets never meet a packet of the host.
 */
#pragma once

#include "kernel/feature/probe.h"

#include "base/why.h"

enum probe_stage {
	PROBE_NOT_RUN,  /* the child did not get that far */
	PROBE_REFUSED,  /* not loaded */
	PROBE_LOADED,   /* loaded, not attached */
	PROBE_ATTACHED, /* attached, did not run */
	PROBE_RAN,
};

struct probe_result {
	enum probe_stage stage;
	int error;      /* negative errno of what stopped it, or 0; -ECANCELED: this program did not want to go on */
	struct why why; /* more words about it; may be empty */
};

struct probe_report {
	struct probe_result results[PROBE_SLOTS];
	int unshare_error; /* of making a network namespace; 0 = it worked */
	int setns_error;   /* of entering a network namespace */
	int stats_error;   /* of switching on the kernel's BPF accounting */
	int child_error;   /* 0, or why the child did not finish: -ETIMEDOUT, -EINTR (ended by a signal), -EAGAIN (no
			      fork) */
	int child_signal;
	bool finished;
};

/* The name that people know a probe by ("tp_btf"). */
const char *probe_name(enum probe_slot slot);
/* Always fills the whole report. */
void probe_run_all(struct probe_report *ret_report);
