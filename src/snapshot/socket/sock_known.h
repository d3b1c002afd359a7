/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cheap repeated sampling of few connections. A dump walks the hash table of all namespaces, 1 ms however few
 * connections there are. As long as the namespace has opened none since the last dump, those of the dump are all: they
 * are read one by one. Half-open connections of listeners are not counted as opened: they wait for the next dump.
 */
#pragma once

#include "snapshot/core/netns_state.h"
#include "snapshot/socket/sock_ask.h"

struct sock_known {
	struct netns_state of;
	uint64_t dumped_ns; /* CLOCK_BOOTTIME; 0: never */
	uint64_t opens;     /* connections opened before the dump */
	bool complete;
	struct sock_questions questions;
};

/* Connections that the namespace has opened and accepted so far; UINT64_MAX: not known. */
uint64_t sock_known_opens(struct snapshot *snapshot);
/* The same, of the text of /proc/net/snmp. */
uint64_t sock_known_parse_opens(const char *text);
/* As many as are worth to be read one by one, at 5 us each. */
#define SOCK_KNOWN_MAX 100

/* Whether the known connections are still all of them, but for half-open ones of the time since the last dump. */
bool sock_known_suffices(const struct sock_known *known, uint64_t opens, uint64_t now_ns, uint64_t longest_ns);
/* After a dump that added the sockets from index `from`. ext: extensions to request. */
void sock_known_remember(struct sock_known *known, const struct snapshot *snapshot, size_t from, uint8_t ext,
			 uint64_t opens, uint64_t now_ns);
