/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would have to be otherwise for another verdict: computed from the rules and the evidence of a finding. */
#pragma once

#include "diagnose/infer/infer.h"

#define WHATIF_MAX 6

/*
 * Sentences, most telling first, to be freed; returns how many: what carries the finding alone, which evidence against
 * it was looked for and not found (or could not be looked for), and what the runner-up lacks.
 */
size_t whatif_sentences(const struct knowledge *knowledge, const struct verdict *verdict, const struct hypothesis *h,
			char *ret_sentences[WHATIF_MAX]);
