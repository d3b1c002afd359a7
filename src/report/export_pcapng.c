/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of events (retransmit, reset, drop) as a capture file: IP and TCP or UDP headers built from the events'
 * fields, no payload, process and reason as a comment. Unknown header fields are zero, and the section's comment
 * says so.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "event/core/event.h"
#include "report/export.h"
#include "report/report.h"

#define BLOCK_SECTION     0x0a0d0d0au
#define BLOCK_INTERFACE   1u
#define BLOCK_PACKET      6u
#define LINK_RAW          101 /* LINKTYPE_RAW: begins with the IP header */
#define OPTION_COMMENT    1
#define OPTION_RESOLUTION 9

struct packets {
	struct out *out;
	const struct report_record *report;
	uint64_t count;
};

/* --- blocks --- */

static void add_u16(struct buf *b, uint16_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void add_u32(struct buf *b, uint32_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void add_padding(struct buf *b)
{
	while (b->len % 4)
		buf_add_char(b, 0);
}

static void add_option(struct buf *b, uint16_t code, const void *data, size_t n)
{
	n = min_of(n, (size_t)UINT16_MAX);
	add_u16(b, code);
	add_u16(b, (uint16_t)n);
	buf_add(b, data, n);
	add_padding(b);
}

/* Both ends of a block hold its length. */
static void write_block(struct out *out, uint32_t type, const struct buf *body)
{
	uint32_t total = (uint32_t)body->len + 12;

	add_u32(&out->pending, type);
	add_u32(&out->pending, total);
	buf_add(&out->pending, body->data, body->len);
	add_u32(&out->pending, total);
	if (out->pending.len > (64 << 10))
		(void)out_flush(out);
}

static void write_head(struct out *out)
{
	static const char comment[] =
		"Written by nest from recorded events: headers only. Fields that events do not have (TCP "
		"acknowledgement number, window, checksum) are zero.";
	_cleanup_buf_ struct buf section = BUF_INIT(4096), interface = BUF_INIT(4096);

	add_u32(&section, 0x1a2b3c4d);
	add_u16(&section, 1);
	add_u16(&section, 0);
	/* Section length: unknown. */
	add_u32(&section, UINT32_MAX);
	add_u32(&section, UINT32_MAX);
	add_option(&section, OPTION_COMMENT, comment, sizeof(comment) - 1);
	add_u32(&section, 0);
	write_block(out, BLOCK_SECTION, &section);
	add_u16(&interface, LINK_RAW);
	add_u16(&interface, 0);
	add_u32(&interface, 0);
	add_option(&interface, OPTION_RESOLUTION, "\x09", 1); /* 10^-9 s */
	add_u32(&interface, 0);
	write_block(out, BLOCK_INTERFACE, &interface);
}

/* --- headers --- */

static uint16_t checksum(const void *data, size_t n)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* A packet, from the event's fields. */
struct packet {
	struct addr from, to;
	uint16_t from_port, to_port;
	uint8_t proto;
	uint8_t flags;
	uint32_t seq;
	uint32_t payload;
};

static void add_transport(struct buf *bytes, const struct packet *packet)
{
	if (packet->proto == IPPROTO_UDP) {
		struct udphdr udp = {.source = htons(packet->from_port),
				     .dest = htons(packet->to_port),
				     .len = htons((uint16_t)min_of(packet->payload + sizeof(udp), (size_t)UINT16_MAX))};

		buf_add(bytes, &udp, sizeof(udp));
	} else {
		struct tcphdr tcp = {.source = htons(packet->from_port),
				     .dest = htons(packet->to_port),
				     .seq = htonl(packet->seq),
				     .doff = sizeof(tcp) / 4};

		((uint8_t *)&tcp)[13] = packet->flags;
		buf_add(bytes, &tcp, sizeof(tcp));
	}
}

static void add_packet(struct buf *bytes, const struct packet *packet)
{
	_cleanup_buf_ struct buf transport = BUF_INIT(256);
	uint32_t total;

	add_transport(&transport, packet);
	total = (uint32_t)transport.len + packet->payload;
	if (packet->from.family == ADDR_V4) {
		struct iphdr ip = {.version = 4,
				   .ihl = 5,
				   .tot_len = htons((uint16_t)min_of(total + sizeof(ip), (size_t)UINT16_MAX)),
				   .ttl = 64,
				   .protocol = packet->proto};

		memcpy(&ip.saddr, packet->from.bytes + 12, 4);
		memcpy(&ip.daddr, packet->to.bytes + 12, 4);
		ip.check = checksum(&ip, sizeof(ip));
		buf_add(bytes, &ip, sizeof(ip));
	} else {
		struct ip6_hdr ip = {};

		ip.ip6_flow = htonl(6u << 28);
		ip.ip6_plen = htons((uint16_t)min_of(total, (uint32_t)UINT16_MAX));
		ip.ip6_nxt = packet->proto;
		ip.ip6_hlim = 64;
		memcpy(&ip.ip6_src, packet->from.bytes, 16);
		memcpy(&ip.ip6_dst, packet->to.bytes, 16);
		buf_add(bytes, &ip, sizeof(ip));
	}
	buf_add(bytes, transport.data, transport.len);
}

/* --- events --- */

static uint64_t number(const struct shape *shape, const struct record *record, const char *name, uint64_t otherwise)
{
	struct field_ref ref;
	struct value value;

	if (shape_find(shape, name, &ref) < 0)
		return otherwise;
	value = record_get(record, ref);
	return value.class == VALUE_UINT ? value.uint : otherwise;
}

static const char *name_of(const struct shape *shape, const struct record *record, const char *name)
{
	struct field_ref ref;
	struct value value;

	if (shape_find(shape, name, &ref) < 0 || ref.field->kind != KIND_ENUM)
		return NULL;
	value = record_get(record, ref);
	return value.class == VALUE_UINT ? enum_name_find(ref.field->names, value.uint) : NULL;
}

static bool is_packet(const char *event)
{
	return strcmp(event, "tcp.retransmit") == 0 || strcmp(event, "tcp.reset") == 0 ||
	       strcmp(event, "skb.drop") == 0;
}

static void fill_packet(struct packet *packet, const char *event, const struct shape *shape,
			const struct record *record)
{
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	const char *dir = name_of(shape, record, "dir");

	*packet = (struct packet){.from = head->laddr,
				  .to = head->raddr,
				  .from_port = head->lport,
				  .to_port = head->rport,
				  .proto = head->proto == IPPROTO_UDP ? IPPROTO_UDP : IPPROTO_TCP,
				  .flags = (uint8_t)number(shape, record, "flags", TH_ACK),
				  .seq = (uint32_t)number(shape, record, "seq", 0),
				  .payload = (uint32_t)min_of(number(shape, record, "bytes", 0), (uint64_t)65000)};
	if (strcmp(event, "tcp.reset") == 0)
		packet->flags = TH_RST | TH_ACK;
	if (strcmp(event, "tcp.retransmit") == 0 && number(shape, record, "state", 0) == 2)
		packet->flags = TH_SYN;
	/* The length of a dropped packet includes its headers. */
	if (strcmp(event, "skb.drop") == 0)
		packet->payload = 0;
	if (dir && (strcmp(dir, "rx") == 0 || strcmp(dir, "in") == 0)) {
		packet->from = head->raddr;
		packet->to = head->laddr;
		packet->from_port = head->rport;
		packet->to_port = head->lport;
	}
}

/* The finding at that time about the remote address, or else any finding at that time. */
static const struct report_stall *verdict_at(const struct report_record *report, const struct event_head *head)
{
	const struct report_stall *stalls = report->stalls.items, *found = NULL;
	char raddr[ADDR_TEXT_MAX] = "";

	addr_format(&head->raddr, raddr);
	for (uint32_t i = 0; i < report->stalls.count; i++) {
		if (head->time_ns + NSEC_PER_SEC < stalls[i].begin_ns || head->time_ns > stalls[i].end_ns)
			continue;
		if (!found || strstr(stalls[i].module, raddr))
			found = &stalls[i];
	}
	return found;
}

static void add_comment(struct buf *comment, const struct packets *packets, const char *event,
			const struct shape *shape, const struct record *record)
{
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	const struct report_stall *stall = verdict_at(packets->report, head);
	const char *why = name_of(shape, record, "reason") ?: name_of(shape, record, "kind");

	buf_add_text(comment, event);
	if (why)
		buf_add_format(comment, " (%s)", why);
	if (head->pid) {
		buf_add_text(comment, ", process ");
		text_add_terminal(comment, head->comm, strnlen(head->comm, sizeof(head->comm)));
		buf_add_format(comment, " (%u)", head->pid);
	}
	if (!stall)
		return;
	buf_add_text(comment, ", verdict: ");
	text_add_terminal(comment, stall->cause, strlen(stall->cause));
	buf_add_char(comment, ' ');
	text_add_terminal(comment, stall->module, strlen(stall->module));
}

static int write_packet(void *context, const char *event, const struct shape *shape, const struct record *record)
{
	struct packets *packets = context;
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	_cleanup_buf_ struct buf body = BUF_INIT(1 << 17), bytes = BUF_INIT(1024), comment = BUF_INIT(4096);
	struct packet packet;

	if (!is_packet(event) || head->laddr.family == ADDR_UNKNOWN || head->laddr.family != head->raddr.family)
		return 0;
	fill_packet(&packet, event, shape, record);
	add_packet(&bytes, &packet);
	add_comment(&comment, packets, event, shape, record);
	add_u32(&body, 0);
	add_u32(&body, (uint32_t)(head->time_ns >> 32));
	add_u32(&body, (uint32_t)head->time_ns);
	add_u32(&body, (uint32_t)bytes.len);
	add_u32(&body, (uint32_t)bytes.len + packet.payload);
	buf_add(&body, bytes.data, bytes.len);
	add_padding(&body);
	add_option(&body, OPTION_COMMENT, comment.data, comment.len);
	add_u32(&body, 0);
	write_block(packets->out, BLOCK_PACKET, &body);
	packets->count++;
	return packets->out->error;
}

int export_pcapng(const struct export_request *request, struct out *out, struct why *why)
{
	_cleanup_(report_freep) struct report *report = NULL;
	struct packets packets = {.out = out};
	int r = report_make(request->recording, &request->range, &report, why);

	if (r < 0)
		return r;
	packets.report = report_head(report);
	write_head(out);
	r = export_each_event(request, write_packet, &packets, why);
	if (r == 0 && packets.count == 0)
		r = why_set(
			why, -ENOENT,
			"no packets in the recording: record tcp.retransmit, tcp.reset or skb.drop (or their tools)");
	return r;
}
