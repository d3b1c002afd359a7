/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings of the diagnosis, active ones first, with the way to their evidence. */
#include <string.h>

#include "top/model/top_table.h"

static const struct record_type *const types[] = {NULL};

static const struct top_column columns[] = {
	{"age_ns", "AGE"}, {"phase"}, {"certainty", .ink = INK_WARN}, {"cause", .ink = INK_BAD}, {"because"}, {},
};

static void fill(struct grid *grid, const struct top_moment *moment, void *state _unused_)
{
	struct findings *findings = moment->findings;

	for (unsigned phase = FINDING_ACTIVE; phase <= FINDING_OVER; phase++)
		for (size_t i = findings->entries.count; i-- > 0;) {
			struct finding_entry *entry = findings->entries.items[i];
			struct finding_span *span = &entry->span;
			uint64_t end_ns = span->phase == FINDING_OVER ? span->end_ns : findings->now_ns;

			if (span->phase != phase)
				continue;
			span->age_ns = end_ns > span->begin_ns ? end_ns - span->begin_ns : 0;
			grid_add(grid, &(struct record){.parts = {span, &entry->finding}});
		}
}

/* "10.0.0.1:443" or "[::1]:443": the port behind the last colon, and the address before it. */
static bool split_endpoint(const char *text, size_t len, int *ret_len, const char **ret_address, unsigned *ret_port)
{
	const char *colon = memrchr(text, ':', len);
	struct endpoint endpoint;
	char copy[128];

	if (!colon || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (addr_parse_endpoint(copy, &endpoint) < 0)
		return false;
	*ret_port = endpoint.port;
	*ret_address = *text == '[' ? text + 1 : text;
	*ret_len = (int)(colon - *ret_address) - (*text == '[');
	return true;
}

static void link_connection(struct top_links *links, const char *label, const char *ends)
{
	const char *dash = strchr(ends, '-'), *local, *remote;
	unsigned lport, rport;
	int local_len, remote_len;

	if (dash && split_endpoint(ends, (size_t)(dash - ends), &local_len, &local, &lport) &&
	    split_endpoint(dash + 1, strlen(dash + 1), &remote_len, &remote, &rport))
		top_links_add(links, "connections", label, "lport == %u and raddr == %.*s and rport == %u", lport,
			      remote_len, remote, rport);
}

/* The rows that a module of the diagnosis stands for. */
static void link_module(struct top_links *links, const char *label, const char *module)
{
	const char *colon = strchr(module, ':'), *name = colon ? colon + 1 : "", *address;
	size_t len = colon ? (size_t)(colon - module) : 0;
	unsigned port;
	int address_len;

	if (strncmp(module, "conn:", 5) == 0)
		link_connection(links, label, name);
	else if (strncmp(module, "path:", 5) == 0 || strncmp(module, "route:", 6) == 0)
		top_links_add(links, "connections", label, "raddr == %s", name);
	else if (strncmp(module, "peer:", 5) == 0 && split_endpoint(name, strlen(name), &address_len, &address, &port))
		top_links_add(links, "connections", label, "raddr == %.*s and rport == %u", address_len, address, port);
	else if (strncmp(module, "app:", 4) == 0)
		top_links_add(links, "connections", label, "pid == %s", name);
	else if (strncmp(module, "link:", 5) == 0)
		top_links_add(links, "interfaces", label, "dev == \"%s\"", name);
	else if (strncmp(module, "qdisc:", 6) == 0)
		top_links_add(links, "queues", label, "dev == \"%s\"", name);
	else if (len == 8 && strncmp(module, "listener", len) == 0)
		top_links_add(links, "listeners", label, "state == LISTEN");
}

#define AFFECTED_MAX 8

static void links(const struct record *record, struct top_links *links)
{
	const struct finding_record *finding = record->parts[1];

	link_module(links, "what it blames", finding->module);
	for (uint32_t i = 0; i < finding->affects.count && i < AFFECTED_MAX; i++)
		link_module(links, "affected", text_record_at(&finding->affects, i));
	for (uint32_t i = 0; i < finding->next.count; i++) {
		const char *next = text_record_at(&finding->next, i);

		if (strncmp(next, "nest ", 5) == 0)
			top_links_add(links, NULL, "next", "%s", next + 5);
	}
	top_links_add(links, NULL, "explanation", "explain %s", finding->cause);
	for (uint32_t i = 0; i < finding->for_evidence.count && i < AFFECTED_MAX; i++)
		top_links_add(links, NULL, "rule", "explain %s",
			      ((const struct evidence_record *)finding->for_evidence.items)[i].rule);
}

static const struct top_table findings_table = {
	.name = "findings",
	.key = 'f',
	.help = "findings with certainty and age, active ones first",
	.command = "watch",
	.types = types,
	.shape = {2, {&finding_span_type, &finding_type}},
	.columns = columns,
	.trees = {"cause", "layer", "phase", "netns_name"},
	.id = {"begin_ns", "cause", "module"},
	.plots = {"certainty"},
	.first_part = 1,
	.texts_first = true,
	.fill = fill,
	.links = links,
};
TOP_TABLE(findings_table);
