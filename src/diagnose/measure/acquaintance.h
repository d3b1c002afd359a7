/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a remote host that refuses connections, or leaves them without an answer. */
#pragma once

#include "record/field.h"

struct acquaintance_measures {
	uint8_t host_known; /* known_hosts.h */
	uint64_t host_tries;
	uint64_t conns_moving;
};

extern const struct record_type acquaintance_measures_type;
