/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netlink message and attribute accessors, like libmnl's but inline: a dump of 100,000 sockets has a million
 * attributes, and library calls took a tenth of the time.
 *
 * An absent or short attribute leaves the value unchanged (unknown).
 */
#pragma once

#include <linux/netlink.h>
#include <string.h>

#include "base/macros.h"

/* Whether the remaining bytes hold a complete message. */
static inline bool nl_message_ok(const struct nlmsghdr *message, int left)
{
	return left >= (int)sizeof(*message) && message->nlmsg_len >= sizeof(*message) &&
	       message->nlmsg_len <= (uint32_t)left;
}

static inline const void *nl_payload(const struct nlmsghdr *message)
{
	return (const char *)message + NLMSG_HDRLEN;
}

static inline size_t nl_payload_len(const struct nlmsghdr *message)
{
	return message->nlmsg_len - NLMSG_HDRLEN;
}

static inline bool nl_attr_ok(const struct nlattr *attr, const char *end)
{
	return end - (const char *)attr >= (ptrdiff_t)sizeof(*attr) && attr->nla_len >= sizeof(*attr) &&
	       attr->nla_len <= end - (const char *)attr;
}

/* The end is not rounded up: that would be beyond the received bytes. */
static inline void nl_attrs(const struct nlmsghdr *message, size_t extra_size, const struct nlattr **attrs,
			    unsigned max)
{
	const char *at = (const char *)nl_payload(message) + NLMSG_ALIGN(extra_size),
		   *end = (const char *)message + message->nlmsg_len;

	memset(attrs, 0, (max + 1) * sizeof(*attrs));
	while (nl_attr_ok((const struct nlattr *)at, end)) {
		const struct nlattr *attr = (const struct nlattr *)at;

		if ((attr->nla_type & NLA_TYPE_MASK) <= max)
			attrs[attr->nla_type & NLA_TYPE_MASK] = attr;
		at += NLA_ALIGN(attr->nla_len);
	}
}

static inline const void *nl_attr_payload(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static inline size_t nl_attr_len(const struct nlattr *attr)
{
	return attr->nla_len - (size_t)NLA_HDRLEN;
}

static inline bool nl_attr_copy(const struct nlattr *attr, void *value, size_t size)
{
	if (!attr || nl_attr_len(attr) < size)
		return false;
	memcpy(value, nl_attr_payload(attr), size);
	return true;
}

static inline void nl_get_u8(const struct nlattr *attr, uint8_t *value)
{
	(void)nl_attr_copy(attr, value, sizeof(*value));
}

static inline void nl_get_u16(const struct nlattr *attr, uint16_t *value)
{
	(void)nl_attr_copy(attr, value, sizeof(*value));
}

static inline void nl_get_u32(const struct nlattr *attr, uint32_t *value)
{
	(void)nl_attr_copy(attr, value, sizeof(*value));
}

static inline void nl_get_u64(const struct nlattr *attr, uint64_t *value)
{
	(void)nl_attr_copy(attr, value, sizeof(*value));
}

/* Copies at most size bytes; returns the number copied, 0: absent. */
static inline size_t nl_get_bytes(const struct nlattr *attr, void *bytes, size_t size)
{
	if (!attr)
		return 0;
	/* The common case first: a copy of constant length. */
	if (nl_attr_copy(attr, bytes, size))
		return size;
	memcpy(bytes, nl_attr_payload(attr), nl_attr_len(attr));
	return nl_attr_len(attr);
}

/* Truncates to size; always terminated. */
static inline void nl_get_chars(const struct nlattr *attr, char *text, size_t size)
{
	size_t n;

	if (!attr)
		return;
	n = strnlen(nl_attr_payload(attr), min_of(nl_attr_len(attr), size - 1));
	memset(text, 0, size);
	memcpy(text, nl_attr_payload(attr), n);
}
