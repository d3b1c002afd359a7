/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests every BPF program type: loads it, attaches it where it does no harm, triggers it,
 * and checks that it ran.
 *
 * A child process does this, in its own network namespace where permitted: a kernel that
 * hangs or a crash costs a timeout and a result, and packet filter programs never see a packet of the host.
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
	int error;      /* negative errno of what stopped it, or 0; -ECANCELED: nest stopped it */
	struct why why; /* details; may be empty */
};

struct probe_report {
	struct probe_result results[PROBE_SLOTS];
	int unshare_error; /* of creating a network namespace; 0: success */
	int setns_error;   /* of entering a network namespace */
	int stats_error;   /* of switching on BPF run time accounting */
	int child_error;   /* 0, or why the child did not finish: -ETIMEDOUT, -EINTR (ended by a signal), -EAGAIN (no
			      fork) */
	int child_signal;
	bool finished;
};

/* The probe's name ("tp_btf"). */
const char *probe_name(enum probe_slot slot);
/* Always fills the whole report. */
void probe_run_all(struct probe_report *ret_report);
