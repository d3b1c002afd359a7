/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netlink requests through libmnl. A pure function parses the replies, message by message: tests and fuzzers use the
 * same parsers as the kernel's replies.
 */
#pragma once

#include <libmnl/libmnl.h>

#include "snapshot/core/nl_attr.h"
#include "snapshot/core/snapshot.h"

/* One complete message. The parser ignores malformed content. */
typedef void nl_parse_fn(struct snapshot *snapshot, const struct nlmsghdr *message, void *context);

struct nl_question {
	int protocol; /* NETLINK_ROUTE and so on */
	struct nlmsghdr *request;
	nl_parse_fn *parse;
	void *context;
	bool once; /* replies cannot be undone: do not retry an interrupted dump, only note it */
};

/*
 * Sends a request on a new socket. An interrupted dump is retried a few times, after its records are removed from the
 * source's tables; the last try is kept and noted as a gap.
 */
int nl_ask(struct snapshot *snapshot, const struct nl_question *question, struct why *why) _must_check_;

/* The same on an open socket, for many small requests. */
struct mnl_socket *nl_open(int protocol, struct why *why);
int nl_ask_on(struct snapshot *snapshot, struct mnl_socket *socket, const struct nl_question *question) _must_check_;
static inline void nl_closep(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

/* Buffer for one request. */
#define NL_REQUEST_MAX 1024
struct nl_request {
	_Alignas(8) char bytes[NL_REQUEST_MAX];
};

/* Header, followed by *ret_extra of extra_size zeroed bytes. */
struct nlmsghdr *nl_request_begin(struct nl_request *request, uint16_t type, uint16_t flags, size_t extra_size,
				  void **ret_extra);

/* rtnetlink dump of a type: a request with a zeroed body. */
int nl_dump(struct snapshot *snapshot, uint16_t type, size_t body_size, nl_parse_fn *parse,
	    struct why *why) _must_check_;
/* Pointers by type, like nl_attrs() (nl_attr.h): the last of a type wins, types above max are ignored. */
void nl_attrs_nested(const struct nlattr *nest, const struct nlattr **attrs, unsigned max);
/* 4 or 16 bytes. */
void nl_get_addr(const struct nlattr *attr, struct addr *addr);
