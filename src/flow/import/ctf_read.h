/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a CTF trace through libbabeltrace2. The library trusts its input, so it runs in a separate process: its output
 * arrives through a pipe as the records below, and its failures (abort, kill, memory exhaustion) are reported to the
 * reader. It is loaded only there.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"

enum ctf_kind {
	CTF_CALL = 1, /* address */
	CTF_RETURN,   /* address; 0: not reported */
	CTF_NAME,     /* thread name: text */
	CTF_PROGRAM,  /* a process reports its memory map from scratch */
	CTF_MODULE,   /* address, bytes, text: path */
	CTF_BUILD_ID, /* address of the module, text: hexadecimal */
	CTF_UNLOAD,   /* address of the module */
	CTF_LOST,     /* bytes: number of events; 0: unknown */
	CTF_UNTIMED,  /* bytes: number of events without time */
	CTF_FAILED,   /* text: why libbabeltrace2 could not read the rest */
	CTF_END,      /* complete */
	CTF_KIND_COUNT,
};

enum ctf_flag {
	CTF_NO_THREAD = 1 << 0, /* the trace does not identify the thread */
	CTF_FIXED = 1 << 1,     /* module at its link address */
};

#define CTF_TEXT_MAX 4096

struct ctf_record {
	uint32_t kind;
	uint32_t flags;
	uint32_t pid;
	uint32_t tid;
	uint64_t ns; /* since 1970, if the trace knows the epoch */
	uint64_t address;
	uint64_t bytes;
	uint32_t text_bytes; /* length of the text that follows */
	uint32_t reserved;
};

struct ctf_directories {
	VEC(char *) items;
	VEC(char *) torn; /* truncated stream files */
};

/* Finds trace directories at or below path: they contain a file "metadata". Bounded. */
void ctf_directories_find(const char *path, struct ctf_directories *ret_directories);
void ctf_directories_done(struct ctf_directories *directories);
#define _cleanup_ctf_directories_ _cleanup_(ctf_directories_done)

/* Rejects a truncated "metadata" file, on which the library would fail. */
int ctf_check_metadata(const char *directory, struct why *why) _must_check_;

/* Reads them all in order of time and writes the records to fd. Call it in a process that exits afterwards. */
void ctf_read(const struct ctf_directories *directories, int fd);
