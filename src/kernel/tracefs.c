/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "kernel/tracefs.h"

int tracefs_has(const char *event)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[192];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/events/sched", places[i]);
		if (access(path, X_OK) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/events/%s/id", places[i], event);
		return access(path, F_OK) == 0;
	}
	return -ENOENT;
}
