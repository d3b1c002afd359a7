/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for others to read, without what identifies a host and its peers: IP and MAC addresses, and given words such as
 * the host's name. Equal things get equal names (ADDRESS-1, MAC-2), so that the text still makes sense. Addresses of
 * the loopback interface and unspecified ones stay.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct mask_word {
	char *word;
	char *shown;
};

struct mask {
	VEC(struct mask_word) words;
	unsigned addresses, macs;
};

/* Words of less than 3 letters are left alone: they would be found everywhere. */
void mask_add_word(struct mask *mask, const char *word, const char *shown);
void mask_text(struct mask *mask, const char *text, struct buf *out);
void mask_done(struct mask *mask);

#define _cleanup_mask_ _cleanup_(mask_done)
