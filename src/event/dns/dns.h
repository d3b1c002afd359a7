/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dns.lookup (resolver calls of the C library), dns.query (queries on the wire). */
#pragma once

#include "event/core/head.h"

#define DNS_HOST_LEN 128

enum dns_function { DNS_GETADDRINFO = 1, DNS_GETHOSTBYNAME, DNS_GETHOSTBYNAME2 };

/* For functions that give no reason. */
#define DNS_LOOKUP_FAILED 1000

struct dns_lookup {
	__u64 lat_ns;
	__u32 error; /* negated EAI_*, or DNS_LOOKUP_FAILED */
	__u8 function;
	__u8 unused[3];
	char host[DNS_HOST_LEN];
};

struct dns_lookup_event {
	struct event_head head;
	struct dns_lookup data;
};

struct dns_query {
	__u64 lat_ns;
	__u32 error; /* errno, if there is no response */
	__u32 retries;
	__u16 type;
	__u16 id;
	__u16 answers;
	__u8 rcode;
	__u8 truncated;
	char host[DNS_HOST_LEN];
};

struct dns_query_event {
	struct event_head head;
	struct dns_query data;
};
