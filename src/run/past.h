/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The past of a live run: the last minutes of a recording of this host, of a recorder that runs or of a file. Its
 * snapshots go through the same windows before the live ones, so that measures have something to compare with.
 */
#pragma once

#include "base/vec.h"
#include "diagnose/graph/usual.h"
#include "store/replay.h"

#define PAST_NS (120 * UINT64_C(1000000000))

struct past {
	VEC(char *) files; /* that may be it, the best first */
	bool named;        /* by the user: one that cannot be used is an error */
	const char *file;  /* of these, the one that is open */
	struct recording *recording;
	struct replay *replay;
};

/*
 * Looks for the recording, which takes privilege, and opens nothing. file: NULL: that of a recorder on this host.
 */
void past_find(struct past *past, const char *file);
/*
 * Returns 1, 0 if there is none or it has no sample of the last minutes, or an error with a reason: of a file that
 * cannot be read or that is of another host or boot.
 */
int past_open(struct past *past, struct why *why) _must_check_;
/* What an agent has learned and keeps in that recording; nothing where it has none. */
int past_load_usual(struct recording *recording, struct usual *usual, struct why *why) _must_check_;
void past_close(struct past *past);
