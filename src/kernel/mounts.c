/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "kernel/mounts.h"

const char *mounts_hint(const char *path)
{
	static const struct {
		const char *prefix, *there, *hint;
	} mounts[] = {
		{"/proc/", "/proc/self", " (/proc is not mounted: mount -t proc proc /proc)"},
		{"/sys/", "/sys/kernel", " (/sys is not mounted: mount -t sysfs sysfs /sys)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		if (strncmp(path, mounts[i].prefix, strlen(mounts[i].prefix)) == 0 && access(mounts[i].there, F_OK) < 0)
			return mounts[i].hint;
	return "";
}
