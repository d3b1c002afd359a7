/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/known_hosts.h"

#include "diagnose/measure/conn.h"
#include "probe/remembered.h"
#include "snapshot/socket/socket.h"

/* Windows: programs wait between two attempts. */
#define KEEP 5

void known_hosts_sample(struct known_hosts *known, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, remembered_type, const struct remembered_record, record) {
		struct known_host *host = map_put(&known->hosts, &record->raddr, NULL);

		if (host)
			*host = (struct known_host){.remembered = record->remembered};
	}
}

void known_hosts_age(struct known_hosts *known)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&known->hosts, &at, &key, &value))
		if (++((struct known_host *)value)->age > KEEP)
			(void)map_remove(&known->hosts, key);
}

void known_hosts_done(struct known_hosts *known)
{
	map_done(&known->hosts);
}

static bool is_connected(const struct graph *graph, const struct addr *raddr)
{
	vec_each(&graph->modules, module) {
		const struct conn_measures *conn = (*module)->kind == MODULE_CONN ? (*module)->measures.conn : NULL;

		if (conn && conn->state != SOCKET_SYN_SENT && conn->state != SOCKET_SYN_RECV &&
		    addr_equal(&conn->raddr, raddr))
			return true;
	}
	return false;
}

uint8_t known_hosts_find(const struct known_hosts *known, const struct graph *graph, const struct addr *raddr)
{
	const struct known_host *host = map_get(&known->hosts, raddr);

	if (host && host->remembered)
		return KNOWN;
	/* A host that the kernel was not asked about may be one of very many. */
	return !host ? KNOWN_DONT : is_connected(graph, raddr) ? KNOWN : KNOWN_NOT;
}
