/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/proc/other_netns.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define O struct other_netns_record
static const struct field other_netns_fields[] = {
	/* Not called netns: the record is part of the sampled one. */
	FIELD_AS(O, netns, "other", ID, "network namespace"),
	FIELD(O, pid, ID, "a process inside"),
	FIELD(O, comm, TEXT, "its name"),
};
#undef O
RECORD_TYPE(other_netns_type, "other_netns", struct other_netns_record, other_netns_fields,
	    "another network namespace with programs");

#define OTHERS_MAX 64

/* Of repeated samples, the first one looks: it takes as long as the host has processes. */
struct state {
	bool known;
	unsigned count;
	struct other_netns_record others[OTHERS_MAX];
};

static bool is_of_host(const struct snapshot_request *request)
{
	const struct netns_list *list = request->namespaces;
	/* Its containers do not make it another choice. */
	bool one = list && (list->items.count == 1 || (list->items.count > 1 && list->items.items[1].container_of));
	const struct netns *chosen = one ? list->items.items : NULL;
	struct stat own, host;

	/* The second one is of the kernel, where the first one may not be looked at. */
	if (stat("/proc/1/ns/net", &host) < 0 && stat("/proc/2/ns/net", &host) < 0)
		return false;
	if ((list && !chosen) || (chosen && (chosen->pid || chosen->name[0])))
		return false;
	return stat("/proc/thread-self/ns/net", &own) == 0 && own.st_ino == host.st_ino &&
	       (!chosen || chosen->inum == (uint32_t)own.st_ino);
}

/* A service that is cut off from the network has nothing but loopback there. */
static bool has_interfaces(const struct netns *netns)
{
	struct if_nameindex *all = NULL;
	struct netns_guard guard;
	struct why ignored;
	unsigned count = 0;

	if (netns_enter(netns, &guard, &ignored) < 0)
		return true; /* perhaps */
	all = if_nameindex();
	netns_leave(&guard);
	while (all && all[count].if_index)
		count++;
	if_freenameindex(all);
	return count > 1;
}

static bool is_sampled(const struct netns_list *list, uint32_t inum)
{
	for (size_t i = 0; list && i < list->items.count; i++)
		if (list->items.items[i].inum == inum)
			return true;
	return false;
}

static void find(struct snapshot *snapshot, const struct netns_list *sampled, struct state *state)
{
	_cleanup_netns_ struct netns_list list = {};
	struct why ignored;
	struct stat own;

	if (netns_find("all", &list, &ignored) < 0 || stat("/proc/thread-self/ns/net", &own) < 0)
		return;
	vec_each(&list.items, netns) {
		struct other_netns_record *other = &state->others[state->count];
		char path[40];

		if (!netns->pid || netns->inum == (uint32_t)own.st_ino || is_sampled(sampled, netns->inum) ||
		    state->count == OTHERS_MAX || !has_interfaces(netns))
			continue;
		*other = (struct other_netns_record){.netns = netns->inum, .pid = netns->pid};
		snprintf(path, sizeof(path), "/proc/%u/comm", netns->pid);
		if (snapshot_read(snapshot, path) == 0) {
			const char *text = buf_text(&snapshot->text);

			memcpy(other->comm, text, strnlen(text, sizeof(other->comm) - 1));
			other->comm[strcspn(other->comm, "\n")] = '\0';
		}
		state->count++;
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why _unused_)
{
	struct state *state = snapshot_state(snapshot);

	if (!state->known && is_of_host(request))
		find(snapshot, request->namespaces, state);
	state->known = true;
	for (unsigned i = 0; i < state->count; i++) {
		struct other_netns_record *record = snapshot_table_add(snapshot_table(snapshot, &other_netns_type));

		if (record)
			*record = state->others[i];
	}
	return 0;
}

static const struct record_type *const types[] = {&other_netns_type, NULL};

static const struct snapshot_source other_netns_source = {
	.name = "other-netns",
	.lost = "network namespaces of containers",
	.types = types,
	.stage = STAGE_REST,
	.state_size = sizeof(struct state),
	.collect = collect,
};
SNAPSHOT_SOURCE(other_netns_source);
