/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "unanswered": requests that ended without an answer, by service, since the first sample. Connections that end
 * between two samples are in no snapshot of sockets; this counts them, at no cost per segment (tcp.exchange).
 */
#pragma once

#include "record/field.h"

struct unanswered_record {
	uint32_t netns;
	bool serves; /* this host is the server */
	uint8_t outcome;
	struct addr service;
	uint16_t service_port;
	uint64_t requests;
	uint64_t min_ns, mean_ns, max_ns;
};

extern const struct record_type unanswered_type;
