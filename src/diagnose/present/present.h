/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis as a person reads it: the answer in one line, then the tree of modules with the culprit marked. */
#pragma once

#include "base/out.h"
#include "diagnose/infer/diagnosis.h"

struct present_options {
	bool all;     /* modules that are at ease, and what would change a verdict */
	bool several; /* this is one of several namespaces: say which */
	bool chosen;  /* only some sockets were asked about */
};

void present_diagnosis(const struct diagnosis_record *record, const struct present_options *options, struct out *out);
