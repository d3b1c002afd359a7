/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis as text: findings, strongest first, then the tree of modules with the culprits marked. */
#pragma once

#include "base/out.h"
#include "diagnose/infer/diagnosis.h"

struct present_options {
	bool all;     /* also healthy modules, and what would change a verdict */
	bool several; /* one of several namespaces: name it */
	bool chosen;  /* restricted to a selection of sockets */
	bool program; /* to one program: begin with where its time goes */
};

void present_diagnosis(const struct diagnosis_record *record, const struct present_options *options, struct out *out);
