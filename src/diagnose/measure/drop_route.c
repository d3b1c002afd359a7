/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/drop_route.h"

#include <errno.h>

#include "snapshot/netlink/route.h"

/* A missing route and one of type unreachable give ENETUNREACH and EHOSTUNREACH. */
static bool is_refused(uint16_t error)
{
	return error == EINVAL || error == EACCES;
}

void drop_routes_sample(struct drop_routes *routes, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, destination_type, struct destination_record, destination) {
		unsigned *age =
			is_refused(destination->error) ? map_put(&routes->refusing, &destination->raddr, NULL) : NULL;

		if (age)
			*age = 0;
	}
}

void drop_routes_age(struct drop_routes *routes, unsigned keep)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&routes->refusing, &at, &key, &value)) {
		unsigned *age = value;

		if (++*age >= keep)
			(void)map_remove(&routes->refusing, key);
	}
}

void drop_routes_done(struct drop_routes *routes)
{
	map_done(&routes->refusing);
}

bool drop_routes_refuse(const struct drop_routes *routes, const struct addr *target)
{
	return map_get(&routes->refusing, target) != NULL;
}
