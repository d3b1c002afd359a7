/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace in the common trace format through libbabeltrace2. That library believes what it reads, so it runs in
 * a process of its own: what it says comes through a pipe as the records below, and what it does to itself (it gives
 * up, it is killed, it eats the memory) is one more thing that its reader is told. It is loaded there and nowhere else.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"

enum ctf_kind {
	CTF_CALL = 1, /* address */
	CTF_RETURN,   /* address, 0: it did not say */
	CTF_NAME,     /* of a thread: text */
	CTF_PROGRAM,  /* a process tells anew what is in its memory */
	CTF_MODULE,   /* address, bytes, text: path */
	CTF_BUILD_ID, /* address of the module, text: hexadecimal */
	CTF_UNLOAD,   /* address of the module */
	CTF_LOST,     /* bytes: so many events; 0: not known how many */
	CTF_UNTIMED,  /* bytes: so many events had no time */
	CTF_FAILED,   /* text: what libbabeltrace2 has against the rest of the trace */
	CTF_END,      /* all was read */
	CTF_KIND_COUNT,
};

enum ctf_flag {
	CTF_NO_THREAD = 1 << 0, /* the trace does not say which thread it was */
	CTF_FIXED = 1 << 1,     /* of a module: it lies where its file says */
};

#define CTF_TEXT_MAX 4096

struct ctf_record {
	uint32_t kind;
	uint32_t flags;
	uint32_t pid;
	uint32_t tid;
	uint64_t ns; /* since 1970, where the trace knows that */
	uint64_t address;
	uint64_t bytes;
	uint32_t text_bytes; /* of the text that follows */
	uint32_t reserved;
};

struct ctf_directories {
	VEC(char *) items;
	VEC(char *) torn; /* stream files that end before their time */
};

/* The directories below path (or path itself) that are traces: they hold a file "metadata". Bounded. */
void ctf_directories_find(const char *path, struct ctf_directories *ret_directories);
void ctf_directories_done(struct ctf_directories *directories);
#define _cleanup_ctf_directories_ _cleanup_(ctf_directories_done)

/* What the library would stumble over: a file "metadata" that is torn. */
int ctf_check_metadata(const char *directory, struct why *why) _must_check_;

/* Reads them all in the order of time; fd gets the records. To be called in a process that ends afterwards. */
void ctf_read(const struct ctf_directories *directories, int fd);
