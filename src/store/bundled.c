/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/alloc.h"
#include "base/embed.h"
#include "store/bundled.h"

const struct bundled bundled_list[] = {
	{"healthy", "A busy web server without a fault: no findings expected."},
	{"slow-reader", "An application on this host reads slower than its peer sends."},
	{"lossy-path", "The path to this host loses packets."},
	{"local-queue", "A shaper (qdisc) of this host is slower than its applications send."},
	{"listener-overflow", "Clients connect faster than an application accepts."},
	{},
};

const struct bundled *bundled_find(const char *name)
{
	for (const struct bundled *bundled = bundled_list; bundled->name; bundled++)
		if (strcmp(bundled->name, name) == 0)
			return bundled;
	return NULL;
}

int bundled_unpack(const struct bundled *bundled, struct buf *ret_bytes)
{
	_cleanup_free_ char *name = xasprintf("%s.nest.gz", bundled->name);

	return embed_unpack(name, ret_bytes);
}
