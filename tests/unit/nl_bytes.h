/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <string.h>

#include "snapshot/core/nl.h"

/* One message, as the kernel sends it. */
struct message {
	_Alignas(8) char bytes[4096];
	struct nlmsghdr *header;
	void *body;
};

static inline void message_begin(struct message *m, uint16_t type, size_t body)
{
	memset(m, 0, sizeof(*m));
	m->header = mnl_nlmsg_put_header(m->bytes);
	m->header->nlmsg_type = type;
	m->body = mnl_nlmsg_put_extra_header(m->header, body);
}

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
