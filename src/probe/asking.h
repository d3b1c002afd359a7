/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "asking": connections on which data was sent and received in the same tick of the kernel's clock, so that the
 * ages of tcp_info do not tell which was the last: a request that waits for its answer, or an answer. A program that
 * asks again as soon as it is answered is always in this state. Of the last minute; nothing is queued.
 */
#pragma once

#include "record/field.h"

struct asking_record {
	uint32_t netns;
	uint64_t cookie;
	bool sent_last; /* and that has been acknowledged */
};

extern const struct record_type asking_type;
