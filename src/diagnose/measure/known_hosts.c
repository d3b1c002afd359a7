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

void known_hosts_judge(struct known_hosts *known, const struct graph *graph)
{
	const void *key;
	void *value;
	size_t at = 0;

	if (known->hosts.count == 0)
		return;
	while (map_next(&known->hosts, &at, &key, &value))
		((struct known_host *)value)->connected = false;
	vec_each(&graph->modules, module) {
		const struct conn_measures *conn = (*module)->kind == MODULE_CONN ? (*module)->measures.conn : NULL;
		struct known_host *host = conn ? map_get(&known->hosts, &conn->raddr) : NULL;

		if (host)
			host->connected |= conn->state != SOCKET_SYN_SENT && conn->state != SOCKET_SYN_RECV;
	}
}

/* A host that the kernel was not asked about may be one of very many. */
uint8_t known_hosts_find(const struct known_hosts *known, const struct addr *raddr)
{
	const struct known_host *host = map_get(&known->hosts, raddr);

	if (!host)
		return KNOWN_DONT;
	return host->remembered || host->connected ? KNOWN : KNOWN_NOT;
}
