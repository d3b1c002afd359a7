/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libbpf and the verifier say; libbpf speaks through one callback for the whole process. */
#pragma once

#include "base/macros.h"

/*
 * Silences libbpf (all of it goes to debug logging) and keeps what it says from here on; kernel_object_open does this,
 * other users of libbpf call it themselves.
 */
void libbpf_words_begin(void);
/*
 * The one line worth telling out of what libbpf and the verifier said since, without their prefixes; an empty string
 * when nothing was said. Valid until the next libbpf_words_begin.
 */
const char *libbpf_words_gist(void);
/* The same, over any such text. */
void libbpf_words_gist_of(const char *words, char *gist, size_t size);
/* Which program libbpf named last in what it said, after a load failed; an empty string when none. */
const char *libbpf_words_blamed(void);
