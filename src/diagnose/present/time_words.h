/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of programs goes, as text. */
#pragma once

#include "base/out.h"
#include "diagnose/infer/diagnosis.h"

/* One sentence, without the full stop, about the program that waits most; nothing where no time is known. */
void time_words_add(struct buf *text, const struct diagnosis_record *record);
/* A table: the first few programs, and the parts that matter; or all. */
void time_words_print(const struct diagnosis_record *record, bool all, struct out *out);
