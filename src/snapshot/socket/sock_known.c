/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/sock_known.h"

#include <string.h>

#include "base/clock.h"
#include "snapshot/core/scan.h"

/* Names in the first line, values in the second: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens .. */
uint64_t sock_known_parse_opens(const char *text)
{
	const char *at = strstr(text, "\nTcp: ");
	uint64_t active, passive;

	at = at ? strstr(at + 1, "\nTcp: ") : NULL;
	if (!at)
		return UINT64_MAX;
	at += strlen("\nTcp: ");
	if (!scan_skip(&at, 4) || !scan_u64(&at, &active) || !scan_u64(&at, &passive))
		return UINT64_MAX;
	return active + passive;
}

uint64_t sock_known_opens(struct snapshot *snapshot)
{
	if (snapshot_read(snapshot, "/proc/thread-self/net/snmp") < 0)
		return UINT64_MAX;
	return sock_known_parse_opens(buf_text(&snapshot->text));
}

bool sock_known_suffices(const struct sock_known *known, uint64_t opens, uint64_t now_ns, uint64_t longest_ns)
{
	return known->complete && opens != UINT64_MAX && opens == known->opens &&
	       now_ns - known->dumped_ns < longest_ns;
}

void sock_known_remember(struct sock_known *known, const struct snapshot *snapshot, size_t from, uint8_t ext,
			 uint64_t opens, uint64_t now_ns)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &socket_type);
	const struct socket_record *sockets = (const struct socket_record *)table->items;

	known->dumped_ns = now_ns;
	known->opens = opens;
	known->complete = table->count - from <= SOCK_KNOWN_MAX;
	known->questions.count = 0;
	/* Listeners are dumped together, as those of sock_watch. */
	for (size_t i = from; known->complete && i < table->count; i++)
		if (sockets[i].state != SOCKET_LISTEN)
			vec_push(&known->questions, sock_question(&sockets[i], ext));
}
