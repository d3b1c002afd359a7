/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace in the common trace format whose stream files are torn: libbabeltrace2 refuses all of it. What is whole is
 * put together once more in a directory of our own, files that are whole as links, torn ones as copies that end with
 * their last whole packet.
 */
#pragma once

#include "flow/import/ctf_read.h"

struct ctf_torn_file {
	char *name;
	uint64_t size;
	uint64_t whole; /* bytes of it that are whole packets */
};

struct ctf_torn {
	VEC(struct ctf_torn_file) files;
	VEC(char *) made; /* what is to be removed, in this order backwards */
};

/* Replaces directories that have torn files by others beside `scratch`, a name of ours. Nothing torn: no files. */
int ctf_torn_mend(const char *scratch, struct ctf_directories *directories, struct ctf_torn *ret_torn,
		  struct why *why) _must_check_;
/* Removes what was made. */
void ctf_torn_done(struct ctf_torn *torn);
#define _cleanup_ctf_torn_ _cleanup_(ctf_torn_done)
