/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name servers that programs of a namespace are told to ask (resolv.conf): type "resolver". */
#pragma once

#include "snapshot/core/snapshot.h"

/* The C library asks no more than three. */
#define RESOLVERS_MAX 3

struct resolver_record {
	uint32_t netns;
	struct addr raddr;
	uint32_t place;      /* from 1: later ones are asked when earlier ones do not answer */
	uint64_t timeout_ns; /* how long one is waited for */
	uint32_t attempts;   /* how often all are asked */
	const char *path;    /* of the file */
};
extern const struct record_type resolver_type;

struct resolver_config {
	struct addr servers[RESOLVERS_MAX];
	unsigned count;
	uint64_t timeout_ns;
	uint32_t attempts;
};

/* What the text of a resolv.conf says, with the C library's defaults for the rest. */
void resolver_parse(const char *text, struct resolver_config *ret_config);
