/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "event/core/missing.h"
#include "kernel/capability.h"
#include "kernel/mounts.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define NEEDED   (CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON))

static int check_privilege(struct why *why)
{
	char names[128], setcap[128];
	uint64_t held, missing;

	if (capability_is_elsewhere())
		return why_set(
			why, -EPERM,
			"kernel events cannot be observed in a user namespace: its capabilities do not count for "
			"the host; run nest outside of the container");
	/* If the capability set is unreadable, the kernel reports the failure later. CAP_SYS_ADMIN implies both. */
	if (capability_get(&held) < 0 || held & CAP_BIT(CAP_SYS_ADMIN))
		return 0;
	missing = NEEDED & ~held;
	if (!missing)
		return 0;
	capability_names(missing, names, sizeof(names));
	capability_setcap(NEEDED, setcap, sizeof(setcap));
	return why_set(why, -EPERM, "kernel events need %s: run as root, or once: setcap %s+ep NEST (see nest doctor)",
		       names, setcap);
}

int event_check_host(struct why *why)
{
	int r = check_privilege(why);

	if (r < 0 || access(BTF_PATH, R_OK) == 0)
		return r;
	if (*mounts_hint(BTF_PATH))
		return why_set(why, -ENOTSUP, "cannot read %s%s", BTF_PATH, mounts_hint(BTF_PATH));
	return why_set(why, -ENOTSUP,
		       "this kernel has no BTF (%s: %s): needs CONFIG_DEBUG_INFO_BTF=y (see nest doctor)", BTF_PATH,
		       strerror(errno));
}
