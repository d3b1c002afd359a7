/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"

#define Q struct qdisc_record
static const struct field qdisc_fields[] = {
	FIELD(Q, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(Q, ifindex, ID, "number of the interface", .zero_is_unknown = true, .hidden = true),
	FIELD(Q, dev, TEXT, "interface"),
	FIELD(Q, kind, TEXT, "what kind of queue it is"),
	FIELD(Q, handle, TEXT, "its number, of a class with the class behind the colon"),
	FIELD(Q, parent, TEXT, "what it hangs below; root: the interface itself"),
	FIELD(Q, bytes, BYTES, "passed on"),
	FIELD(Q, packets, COUNT, "packets passed on"),
	FIELD(Q, qlen, COUNT, "packets that wait"),
	FIELD(Q, backlog_bytes, BYTES, "their size"),
	FIELD(Q, drops, COUNT, "packets dropped"),
	FIELD(Q, overlimits, COUNT, "times that a packet had to wait for its rate"),
	FIELD(Q, requeues, COUNT, "packets that the interface gave back", .hidden = true),
	FIELD(Q, limit_packets, COUNT, "how many packets may wait", .hidden = true),
	FIELD(Q, limit_bytes, BYTES, "how much may wait", .hidden = true),
	FIELD(Q, rate, BYTES, "rate that it is held to", .unit = "B/s", .as_bits = true, .hidden = true),
	FIELD(Q, ceil, BYTES, "rate up to which a class may borrow", .unit = "B/s", .as_bits = true, .hidden = true),
	FIELD(Q, burst_bytes, BYTES, "what may pass at once", .hidden = true),
	FIELD(Q, delay_ns, DURATION, "netem: added delay", .hidden = true),
	FIELD(Q, loss, RATIO, "netem: share of packets dropped on purpose", .unit = "%", .hidden = true),
};
#undef Q
RECORD_TYPE(qdisc_type, "qdisc", struct qdisc_record, qdisc_fields, "a queue between the protocols and an interface");
RECORD_TYPE(class_type, "class", struct qdisc_record, qdisc_fields, "a class of a queue that has several");

static void parse_stats(struct qdisc_record *qdisc, const struct nlattr *attr)
{
	const struct nlattr *attrs[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;

	nl_attrs_nested(attr, attrs, TCA_STATS_MAX);
	if (nl_get_bytes(attrs[TCA_STATS_BASIC], &basic, sizeof(basic)) >=
	    offsetof(struct gnet_stats_basic, packets) + 4) {
		qdisc->bytes = basic.bytes;
		qdisc->packets = basic.packets;
	}
	nl_get_u64(attrs[TCA_STATS_PKT64], &qdisc->packets);
	if (nl_get_bytes(attrs[TCA_STATS_QUEUE], &queue, sizeof(queue)) == sizeof(queue)) {
		qdisc->qlen = queue.qlen;
		qdisc->backlog_bytes = queue.backlog;
		qdisc->drops = queue.drops;
		qdisc->overlimits = queue.overlimits;
		qdisc->requeues = queue.requeues;
	}
}

/* As tc writes it. */
static void put_handle(char *text, size_t size, uint32_t handle)
{
	if (handle == TC_H_ROOT)
		snprintf(text, size, "root");
	else if (handle == TC_H_INGRESS)
		snprintf(text, size, "ingress");
	else if (TC_H_MIN(handle) == 0)
		snprintf(text, size, "%x:", handle >> 16);
	else
		snprintf(text, size, "%x:%x", handle >> 16, TC_H_MIN(handle));
}

void qdisc_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct tcmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[TCA_MAX + 1];
	bool is_class = message->nlmsg_type == RTM_NEWTCLASS;
	struct qdisc_record *qdisc;

	(void)context;
	if ((!is_class && message->nlmsg_type != RTM_NEWQDISC) || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	qdisc = snapshot_table_add(snapshot_table(snapshot, is_class ? &class_type : &qdisc_type));
	if (!qdisc)
		return;
	nl_attrs(message, sizeof(*info), attrs, TCA_MAX);
	qdisc->netns = snapshot->netns;
	qdisc->ifindex = (uint32_t)info->tcm_ifindex;
	put_handle(qdisc->handle, sizeof(qdisc->handle), info->tcm_handle);
	put_handle(qdisc->parent, sizeof(qdisc->parent), info->tcm_parent);
	nl_get_chars(attrs[TCA_KIND], qdisc->kind, sizeof(qdisc->kind));
	parse_stats(qdisc, attrs[TCA_STATS2]);
	qdisc_parse_options(qdisc, attrs[TCA_OPTIONS], is_class);
}

static int ask(struct snapshot *snapshot, uint16_t type, uint32_t ifindex, struct why *why)
{
	struct nl_request room;
	struct tcmsg *info;
	struct nlmsghdr *message = nl_request_begin(&room, type, NLM_F_DUMP, sizeof(*info), (void **)&info);
	struct nl_question question = {.protocol = NETLINK_ROUTE, .request = message, .parse = qdisc_parse_message};

	info->tcm_ifindex = (int)ifindex;
	return nl_ask(snapshot, &question, why);
}

/* Only these have classes, and asking each of a thousand interfaces for none takes its time. */
static bool has_classes(const char *kind)
{
	static const char *const kinds[] = {"htb",  "hfsc", "cbq",    "drr",    "qfq",   "ets",
					    "prio", "mq",   "mqprio", "multiq", "taprio"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_dev_names_ struct dev_names names = {};
	struct snapshot_table *qdiscs = snapshot_table(snapshot, &qdisc_type),
			      *classes = snapshot_table(snapshot, &class_type);
	size_t from = qdiscs->count, classes_from = classes->count, end;
	uint32_t last = 0;
	int r = ask(snapshot, RTM_GETQDISC, 0, why);

	(void)request;
	end = qdiscs->count;
	for (size_t i = from; r == 0 && i < end; i++) {
		struct qdisc_record *qdisc = (struct qdisc_record *)qdiscs->items + i;

		dev_name_get(&names, qdisc->ifindex, qdisc->dev);
		if (!snapshot_wants(snapshot, &class_type) || !has_classes(qdisc->kind) || qdisc->ifindex == last)
			continue;
		last = qdisc->ifindex;
		r = ask(snapshot, RTM_GETTCLASS, qdisc->ifindex, why);
		/* The interface may have gone in between. */
		r = r == -ENODEV ? 0 : r;
	}
	for (size_t i = classes_from; i < classes->count; i++) {
		struct qdisc_record *class = (struct qdisc_record *)classes->items + i;

		dev_name_get(&names, class->ifindex, class->dev);
	}
	return r;
}

static const struct record_type *const types[] = {&qdisc_type, &class_type, NULL};

static const struct snapshot_source qdisc_source = {
	.name = "qdisc",
	.lost = "queues of interfaces: what waits in them and what they dropped",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(qdisc_source);
