/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of fault a dropped packet points to. Most drops point to none: duplicates, closed ports, multicast. */
#pragma once

#include "base/macros.h"

enum drop_class {
	DROP_NONE,
	DROP_FIREWALL,
	DROP_TC,
	DROP_QDISC,
	DROP_RP_FILTER,
	DROP_NEIGH,
	DROP_ROUTE,
	DROP_UNROUTED,    /* no route, or one that refuses */
	DROP_UNFORWARDED, /* the interface that they came in by does not forward */
	DROP_TOO_BIG,
	DROP_BUFFER, /* of a socket */
	DROP_MEMORY,
	DROP_ACCEPT,
	DROP_DAMAGED,
	DROP_PORT,   /* of a bridge */
	DROP_PURGED, /* with the queue that they were in: of a neighbour without an answer, or of what was closed */
	DROP_CLASSES,
};

/* reason: of the kernel, may be NULL; place: function, where the reason says nothing. */
enum drop_class drop_class_of(const char *reason, const char *place);
