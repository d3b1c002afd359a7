/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS events: fields, hooks, and attachment to the C libraries. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/core/library.h"
#include "event/dns/dns.h"
#include "kernel/libbpf_words.h"
#include "kernel/mounts.h"

/* --- dns.lookup --- */

static const struct enum_name function_items[] = {
	{DNS_GETADDRINFO, "getaddrinfo", NULL},
	{DNS_GETHOSTBYNAME, "gethostbyname", NULL},
	{DNS_GETHOSTBYNAME2, "gethostbyname2", NULL},
};
static struct enum_names function_names = {.items = function_items, .count = ARRAY_SIZE(function_items)};

/* glibc and musl use the same numbers. */
static const struct enum_name eai_items[] = {
	{-EAI_NONAME, "EAI_NONAME", "name does not exist"},
	{-EAI_AGAIN, "EAI_AGAIN", "no name server answered in time, try again"},
	{-EAI_FAIL, "EAI_FAIL", "permanent failure of a name server"},
	{5, "EAI_NODATA", "no address for the name"},
	{-EAI_FAMILY, "EAI_FAMILY", NULL},
	{-EAI_SERVICE, "EAI_SERVICE", NULL},
	{-EAI_MEMORY, "EAI_MEMORY", NULL},
	{-EAI_SYSTEM, "EAI_SYSTEM", "system error, see errno"},
	{DNS_LOOKUP_FAILED, "failed", "the function gives no reason"},
};
static struct enum_names eai_names = {.items = eai_items, .count = ARRAY_SIZE(eai_items)};

#define L struct dns_lookup
static const struct field lookup_fields[] = {
	FIELD(L, lat_ns, DURATION, "lookup latency"),
	FIELD(L, host, TEXT, "name, first 127 bytes"),
	FIELD(L, error, ENUM, "error of a failed lookup", .names = &eai_names, .zero_is_unknown = true),
	FIELD(L, function, ENUM, "resolver function", .names = &function_names, .zero_is_unknown = true,
	      .hidden = true),
};
#undef L

#define LOOKUP "dns_lookup_"

struct library_attach {
	struct kernel_object *object;
	const char *program;
	bool is_return; /* of the function that the program's name ends with */
	unsigned count;
	struct why *why;
};

static int attach_library(const char *path, void *context)
{
	struct library_attach *attach = context;

	for (size_t i = 0; i < ARRAY_SIZE(function_items); i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function_items[i].name,
			    .retprobe = attach->is_return);
		struct bpf_link *link;

		if (attach->is_return && strcmp(attach->program + strlen(LOOKUP), function_items[i].name) != 0)
			continue;
		link = bpf_program__attach_uprobe_opts(kernel_object_program(attach->object, attach->program), -1, path,
						       0, &options);
		/* A library may lack one of the functions, or be unmapped by now. */
		if (kernel_object_keep_link(attach->object, attach->program, link, attach->why) == 0)
			attach->count++;
	}
	return 0;
}

/* One is enough. */
static int find_library(const char *path _unused_, void *context _unused_)
{
	return -EEXIST;
}

static int check_libraries(struct why *why)
{
	int r = library_each(library_is_libc, find_library, NULL);

	return r == -EEXIST ? 0
			    : why_set(why, -ENOENT, "no C library in use was found in /proc/PID/maps%s",
				      mounts_hint("/proc/PID/maps"));
}

static int attach_libraries(struct kernel_object *object, const char *program, struct why *why)
{
	struct library_attach attach = {.object = object,
					.program = program,
					.is_return = strcmp(kernel_object_section(object, program), "uretprobe") == 0,
					.why = why};
	int r;

	libbpf_words_begin();
	r = library_each(library_is_libc, attach_library, &attach);
	if (r < 0)
		return why_set(why, r, "cannot read /proc: %s", strerror(-r));
	if (attach.count == 0)
		return why_set(why, -ENOENT, "cannot probe any C library in use%s%s", why->text[0] ? ": " : "",
			       why->text[0] ? why->text : "");
	return 0;
}

static const struct event_role lookup_roles[] = {
	{
		.name = "resolver functions of the C library",
		.hooks = {{.programs = {LOOKUP "enter", LOOKUP "getaddrinfo", LOOKUP "gethostbyname",
					LOOKUP "gethostbyname2"},
			   .attach = attach_libraries,
			   .check = check_libraries}},
	},
};
EVENT_TYPE(dns_lookup, "dns.lookup", struct dns_lookup, lookup_fields, lookup_roles, "name lookup in the C library",
	   .current = true);

/* --- dns.query --- */

static const struct enum_name type_items[] = {
	{1, "A", NULL},   {2, "NS", NULL},      {5, "CNAME", NULL}, {6, "SOA", NULL},    {12, "PTR", NULL},
	{15, "MX", NULL}, {16, "TXT", NULL},    {28, "AAAA", NULL}, {33, "SRV", NULL},   {35, "NAPTR", NULL},
	{43, "DS", NULL}, {48, "DNSKEY", NULL}, {64, "SVCB", NULL}, {65, "HTTPS", NULL}, {255, "ANY", NULL},
};
static struct enum_names type_names = {.items = type_items, .count = ARRAY_SIZE(type_items)};

static const struct enum_name rcode_items[] = {
	{0, "NOERROR", "no error"},
	{1, "FORMERR", "the server cannot parse the query"},
	{2, "SERVFAIL", "the server failed to resolve the name"},
	{3, "NXDOMAIN", "name does not exist"},
	{4, "NOTIMP", "query type not implemented"},
	{5, "REFUSED", "refused by policy of the server"},
};
static struct enum_names rcode_names = {.items = rcode_items, .count = ARRAY_SIZE(rcode_items)};

#define Q struct dns_query
static const struct field query_fields[] = {
	FIELD(Q, lat_ns, DURATION, "query latency: first packet to response, or until the program gave up"),
	FIELD(Q, type, ENUM, "record type", .names = &type_names, .zero_is_unknown = true),
	FIELD(Q, host, TEXT, "name, first 127 bytes"),
	FIELD(Q, rcode, ENUM, "response code", .names = &rcode_names),
	FIELD(Q, retries, COUNT, "retries by the same socket"),
	FIELD(Q, error, ENUM, "error if there is no response; ETIMEDOUT: socket closed without one",
	      .names = &errno_names, .zero_is_unknown = true),
	FIELD(Q, answers, COUNT, "records in the response", .hidden = true),
	FIELD(Q, truncated, BOOL, "truncated response: the program retries over TCP", .hidden = true),
	FIELD(Q, id, HEX, "query ID", .hidden = true),
};
#undef Q

static const struct event_role query_roles[] = {
	{.name = "queries", .hooks = {{.programs = {"dns_query_sent"}}}},
	{.name = "responses", .hooks = {{.programs = {"dns_query_answered"}}}},
	{
		.name = "socket release",
		.without = "unanswered queries are not reported",
		.hooks = {{.programs = {"dns_query_closed"},
			   .attach = event_attach_cgroups,
			   .check = event_check_cgroups}},
	},
	{
		.name = "ICMP errors",
		.without = "an unreachable name server looks like one that does not answer",
		.hooks = {{.programs = {"dns_query_error"}}},
	},
};
EVENT_TYPE(dns_query, "dns.query", struct dns_query, query_fields, query_roles,
	   "DNS query over UDP, with its response or without one");
