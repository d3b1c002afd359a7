/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netlink questions through libmnl. Answers are handed to a pure function, message by message: what comes from the
 * kernel and what comes from a test or a fuzzer takes the same way.
 */
#pragma once

#include <libmnl/libmnl.h>

#include "snapshot/core/nl_attr.h"
#include "snapshot/core/snapshot.h"

/* One message, already checked to be whole. Wrong content is passed over, never trusted. */
typedef void nl_parse_fn(struct snapshot *snapshot, const struct nlmsghdr *message, void *context);

struct nl_question {
	int protocol; /* NETLINK_ROUTE and so on */
	struct nlmsghdr *request;
	nl_parse_fn *parse;
	void *context;
	bool once; /* the answers cannot be taken back: what changed meanwhile is only noted */
};

/*
 * Asks on a socket of its own. A dump that changed while it was read is repeated a few times (what the source's tables
 * gained is taken back before), then kept and noted as a gap.
 */
int nl_ask(struct snapshot *snapshot, const struct nl_question *question, struct why *why) _must_check_;

/* The same on a socket that stays open, for many small questions. */
struct mnl_socket *nl_open(int protocol, struct why *why);
int nl_ask_on(struct snapshot *snapshot, struct mnl_socket *socket, const struct nl_question *question) _must_check_;
static inline void nl_closep(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

/* Room for one request. */
#define NL_REQUEST_MAX 1024
struct nl_request {
	_Alignas(8) char bytes[NL_REQUEST_MAX];
};

/* Header and, behind it, *ret_extra of extra_size zeroed bytes. */
struct nlmsghdr *nl_request_begin(struct nl_request *request, uint16_t type, uint16_t flags, size_t extra_size,
				  void **ret_extra);

/* Asks rtnetlink for all of a kind: a request with a body of zeros. */
int nl_dump(struct snapshot *snapshot, uint16_t type, size_t body_size, nl_parse_fn *parse,
	    struct why *why) _must_check_;
/* Pointers by type, as nl_attrs (nl_attr.h): the last of a type counts, types above max are passed over. */
void nl_attrs_nested(const struct nlattr *nest, const struct nlattr **attrs, unsigned max);
/* 4 or 16 bytes. */
void nl_get_addr(const struct nlattr *attr, struct addr *addr);
