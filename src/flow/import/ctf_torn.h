/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CTF trace with truncated stream files, which libbabeltrace2 rejects altogether. The complete part is assembled in a
 * temporary directory: complete files as links, truncated ones as copies up to their last complete packet.
 */
#pragma once

#include "flow/import/ctf_read.h"

struct ctf_torn_file {
	char *name;
	uint64_t size;
	uint64_t whole; /* bytes in complete packets */
};

struct ctf_torn {
	VEC(struct ctf_torn_file) files;
	VEC(char *) made; /* files to remove, in reverse order */
};

/* Replaces directories with truncated files by copies next to `scratch`. Without truncated files it does nothing. */
int ctf_torn_mend(const char *scratch, struct ctf_directories *directories, struct ctf_torn *ret_torn,
		  struct why *why) _must_check_;
/* Removes the copies. */
void ctf_torn_done(struct ctf_torn *torn);
#define _cleanup_ctf_torn_ _cleanup_(ctf_torn_done)
