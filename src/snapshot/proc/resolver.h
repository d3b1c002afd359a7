/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Name servers configured in a namespace (resolv.conf): type "resolver". */
#pragma once

#include "snapshot/core/snapshot.h"

/* MAXNS of glibc. */
#define RESOLVERS_MAX 3

struct resolver_record {
	uint32_t netns;
	struct addr raddr;
	uint32_t place;      /* from 1; a later one is queried when earlier ones do not reply */
	uint64_t timeout_ns; /* per query */
	uint32_t attempts;   /* rounds through all of them */
	const char *path;    /* of resolv.conf */
};
extern const struct record_type resolver_type;

struct resolver_config {
	struct addr servers[RESOLVERS_MAX];
	unsigned count;
	uint64_t timeout_ns;
	uint32_t attempts;
};

/* Parses the text of resolv.conf; absent options get glibc's defaults. */
void resolver_parse(const char *text, struct resolver_config *ret_config);
