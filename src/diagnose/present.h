/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis as a person reads it: the answer in one line, then the tree of modules with the culprit marked. */
#pragma once

#include "base/out.h"
#include "diagnose/diagnosis.h"

/* all: healthy modules too. */
void present_diagnosis(const struct diagnosis *diagnosis, const struct diagnosis_record *record, bool all,
		       struct out *out);
