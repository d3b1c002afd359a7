/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "event/core/live_private.h"
#include "kernel/object.h"

static int follow(int map, const FTSENT *entry)
{
	uint64_t id = (uint64_t)entry->fts_statp->st_ino;
	uint8_t yes = 1;

	return bpf_map_update_elem(map, &id, &yes, BPF_ANY) < 0 ? -errno : 0;
}

/*
 * The program that follows new cgroups is attached already: a cgroup created meanwhile is found here, or its parent was
 * added before.
 */
int live_cgroup_seed(struct live *live, const char *directory, struct why *why)
{
	_cleanup_free_ char *path = xstrdup(directory);
	int map = kernel_object_map_fd(live->object, "event_cgroups"), r = 0;
	FTS *tree = fts_open((char *[]){path, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;

	if (!tree)
		return why_set(why, -errno, "cannot read %s: %s", directory, strerror(errno));
	while (r == 0 && (entry = fts_read(tree)))
		if (entry->fts_info == FTS_D)
			r = follow(map, entry);
	(void)fts_close(tree);
	return r < 0 ? why_set(why, r, "cannot follow the cgroups of %s: %s", directory, strerror(-r)) : 0;
}
