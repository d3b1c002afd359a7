/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of libbpf and the verifier; libbpf has one callback for the whole process. */
#pragma once

#include "base/macros.h"

/*
 * Redirects libbpf's messages to debug logging and keeps them from here on; kernel_object_open calls it, other users of
 * libbpf must call it themselves.
 */
void libbpf_words_begin(void);
/*
 * The line with the reason from the messages of libbpf and the verifier since, without prefixes; an empty string
 * without messages. Valid until the next libbpf_words_begin.
 */
const char *libbpf_words_gist(void);
/* The same for any such text. */
void libbpf_words_gist_of(const char *words, char *gist, size_t size);
/* The program that libbpf named last after a failed load; an empty string when none. */
const char *libbpf_words_blamed(void);
