/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "remembered": whether this host ever had a TCP connection with a remote host, for hosts whose TCP packets this
 * host drops, and for those that refuse its connects or do not answer them. The kernel keeps the metrics of connections
 * that ended well, by remote address, for as long as it has room (tcp_metrics): a past that nobody has to record. A
 * host that it does not remember has never been a peer.
 *
 * No records where the kernel keeps none (tcp_no_metrics_save), and in single samples.
 */
#pragma once

#include "base/addr.h"
#include "snapshot/core/nl.h"

struct remembered_record {
	uint32_t netns;
	struct addr raddr;
	bool remembered;
	uint64_t last_ns; /* moment of the last connection that the kernel learnt from; UINT64_MAX: unknown */
};

extern const struct record_type remembered_type;

/* Of the reply to a request for one address. context: its struct remembered_record. */
nl_parse_fn remembered_parse_message;
