/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/tables/holding.h"

#include <string.h>

#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

static const struct field holding_fields[] = {
	FIELD(struct holding_record, pid, ID, "process that holds the socket", .zero_is_unknown = true),
	FIELD(struct holding_record, comm, TEXT, "its name"),
	FIELD(struct holding_record, cgroup, TEXT, "path of the process's control group", .hidden = true),
	FIELD(struct holding_record, container, TEXT, "container that the process is in", .hidden = true),
	FIELD(struct holding_record, unit, TEXT, "systemd unit that the process belongs to", .hidden = true),
};
RECORD_TYPE(holding_type, "top_holder", struct holding_record, holding_fields, "the process that holds a socket");

void holding_begin(struct holding *holding, const struct snapshot *snapshot)
{
	*holding = (struct holding){.snapshot = snapshot,
				    .owners = snapshot_first(snapshot, &owner_type),
				    .owner_count = snapshot_table(snapshot, &owner_type)->count};
}

const struct holding_record *holding_find(struct holding *holding, uint32_t owner)
{
	const struct process_record **process;
	struct holding_record *record = &holding->record;
	uint32_t pid;

	if (owner == SOCKET_NONE || owner >= holding->owner_count)
		return NULL;
	pid = holding->owners[owner].pid;
	process = &holding->processes[pid % HOLDING_CACHE];
	if (!*process || (*process)->pid != pid)
		*process = process_find(holding->snapshot, pid);
	*record = (struct holding_record){.pid = pid};
	if (!*process)
		return record;
	memcpy(record->comm, (*process)->comm, sizeof(record->comm));
	record->cgroup = (*process)->cgroup;
	record->container = (*process)->container;
	record->unit = (*process)->unit;
	return record;
}
