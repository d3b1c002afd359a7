/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "reset": resets received on connections, by service and by what they followed, since the first of them was
 * counted (TcpEstabResets). A reset after the whole answer ends a connection as well as a FIN does; others break it.
 */
#pragma once

#include "base/addr.h"
#include "record/field.h"

/* What a reset followed: as enum tcp_reset_after, which has the words. */
enum reset_after {
	RESET_AFTER_SYN = 1,
	RESET_AFTER_NOTHING,
	RESET_AFTER_SENDING,
	RESET_AFTER_RECEIVING,
	RESET_AFTER_ANSWER,
};

struct reset_record {
	uint32_t netns;
	struct addr raddr;
	uint16_t rport;
	uint8_t after; /* enum reset_after */
	uint64_t resets;
};

extern const struct record_type reset_type;
