/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "snapshot/core/nl.h"

/* Messages that lie one after the other. Returns how many were whole. */
static inline size_t nl_parse_bytes(struct snapshot *snapshot, const void *bytes, size_t len, nl_parse_fn *parse,
				    void *context)
{
	const struct nlmsghdr *message = bytes;
	int left = len > INT32_MAX ? INT32_MAX : (int)len;
	size_t count = 0;

	while (nl_message_ok(message, left)) {
		if (message->nlmsg_type >= NLMSG_MIN_TYPE) {
			parse(snapshot, message, context);
			count++;
		}
		message = mnl_nlmsg_next(message, &left);
	}
	return count;
}
