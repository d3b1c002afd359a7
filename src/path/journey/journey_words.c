/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/journey/journey_words.h"
#include "event/core/packet_names.h"
#include "record/net_names.h"
#include "view/format.h"

const char *const stage_kind_names[] = {"wait", "hardirq", "softirq", "process"};

enum stage_kind stage_kind(const struct journey_stage *stage)
{
	static const uint32_t waits = 1u << PATH_SOFTIRQ | 1u << PATH_BACKLOG | 1u << PATH_FILTER | 1u << PATH_SOCKET |
				      1u << PATH_WAKEUP | 1u << PATH_SCHED | 1u << PATH_SNDBUF | 1u << PATH_TCP |
				      1u << PATH_QDISC | 1u << PATH_COMPLETION | 1u << PATH_ACK;

	if (stage->stage < PATH_STAGES && waits >> stage->stage & 1)
		return STAGE_WAITS;
	return stage->context == PATH_HARDIRQ ? STAGE_HARDIRQ
	       : stage->context == PATH_SOFT  ? STAGE_SOFTIRQ
					      : STAGE_PROCESS;
}

const char *stage_name(const struct journey_stage *stage)
{
	return enum_name_find(&path_stage_names, stage->stage) ?: "unknown";
}

const char *stage_context(const struct journey_stage *stage)
{
	return stage->context == PATH_HARDIRQ ? "hard irq" : enum_name_find(&path_context_names, stage->context) ?: "-";
}

void stage_add_cpu(struct buf *out, const struct journey_stage *stage)
{
	if (stage->cpu == UINT16_MAX)
		buf_add_char(out, '-');
	else
		buf_add_format(out, "%u", stage->cpu);
}

uint64_t stage_offset(const struct journey *journey, const struct journey_stage *stage)
{
	return stage->start_ns > journey->time_ns ? stage->start_ns - journey->time_ns : 0;
}

static void add_end(struct buf *out, const struct addr *addr, uint16_t port)
{
	const struct endpoint end = {.addr = *addr, .port = port};
	char text[ADDR_TEXT_MAX];

	if (addr->family == ADDR_UNKNOWN)
		buf_add_char(out, '-');
	else if (port)
		addr_format_endpoint(&end, out);
	else
		buf_add(out, text, addr_format(addr, text));
}

/* The name may fill its field without a NUL. */
static void add_name(struct buf *out, const char *name, size_t size)
{
	buf_add(out, name, strnlen(name, size));
}

static void add_process(struct buf *out, const struct journey *journey)
{
	if (!journey->comm[0] && !journey->pid)
		return;
	buf_add_text(out, ", ");
	if (journey->comm[0])
		add_name(out, journey->comm, sizeof(journey->comm));
	if (journey->pid)
		buf_add_format(out, "%s(%u)", journey->comm[0] ? " " : "process ", journey->pid);
}

void journey_add_title(struct buf *out, const struct journey *journey)
{
	const char *proto = journey->proto ? enum_name_find(&socket_proto_names, journey->proto) : NULL;
	const char *end = enum_name_find(&path_end_names, journey->end), *reason;
	bool tx = journey->dir == PACKET_TX;

	buf_add_text(out, tx ? "transmit " : "receive ");
	if (proto)
		buf_add_format(out, "%s ", proto);
	add_end(out, &journey->laddr, journey->lport);
	buf_add_text(out, tx ? " to " : " from ");
	add_end(out, &journey->raddr, journey->rport);
	buf_add_text(out, ", ");
	format_add_bytes(out, journey->bytes);
	add_process(out, journey);
	if (journey->dev[0]) {
		buf_add_text(out, ", ");
		add_name(out, journey->dev, sizeof(journey->dev));
	}
	buf_add_format(out, ", %s", end ?: "end unknown");
	reason = journey->reason ? enum_name_find(&drop_reason_names, journey->reason) : NULL;
	if (journey->end == PATH_DROPPED && reason)
		buf_add_format(out, ": %s", reason);
}

void journey_add_widest(struct buf *out, const struct journey *journey)
{
	const struct journey_stage *widest = journey_widest(journey);

	if (widest)
		journey_add_gap(out, journey, widest);
}

void journey_add_hidden(struct buf *out, const struct journey *journey)
{
	const char *before = "not visible: ";
	const uint8_t *order = path_order(journey->dir);

	for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
		if (journey->hidden >> order[i] & 1) {
			buf_add_format(out, "%s%s", before, path_stages[order[i]].name);
			before = ", ";
		}
}
