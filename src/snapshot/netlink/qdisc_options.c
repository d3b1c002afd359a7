/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits and rates from the options of each qdisc kind; of other kinds they stay unknown. */
#include <linux/pkt_sched.h>
#include <string.h>

#include "snapshot/netlink/qdisc.h"

/* Nanoseconds per psched tick. */
#define PSCHED_TICK_NS 64

/* The kernel reports a bucket size as the time to fill it. */
static uint64_t bucket_bytes(uint32_t ticks, uint32_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * PSCHED_TICK_NS * rate / 1000000000);
}

static void parse_fifo(struct qdisc_record *qdisc, const struct nlattr *options)
{
	struct tc_fifo_qopt opt;

	if (nl_get_bytes(options, &opt, sizeof(opt)) != sizeof(opt))
		return;
	if (qdisc->kind[0] == 'b')
		qdisc->limit_bytes = opt.limit;
	else
		qdisc->limit_packets = opt.limit;
}

static void parse_tbf(struct qdisc_record *qdisc, const struct nlattr *options)
{
	const struct nlattr *attrs[TCA_TBF_MAX + 1];
	struct tc_tbf_qopt opt;
	uint32_t burst = 0;

	nl_attrs_nested(options, attrs, TCA_TBF_MAX);
	if (nl_get_bytes(attrs[TCA_TBF_PARMS], &opt, sizeof(opt)) == sizeof(opt)) {
		qdisc->rate = opt.rate.rate;
		qdisc->limit_bytes = opt.limit;
		qdisc->burst_bytes = bucket_bytes(opt.buffer, opt.rate.rate);
	}
	nl_get_u64(attrs[TCA_TBF_RATE64], &qdisc->rate);
	nl_get_u32(attrs[TCA_TBF_BURST], &burst);
	if (burst)
		qdisc->burst_bytes = burst;
}

static void parse_htb_class(struct qdisc_record *qdisc, const struct nlattr *options)
{
	const struct nlattr *attrs[TCA_HTB_MAX + 1];
	struct tc_htb_opt opt;

	nl_attrs_nested(options, attrs, TCA_HTB_MAX);
	if (nl_get_bytes(attrs[TCA_HTB_PARMS], &opt, sizeof(opt)) == sizeof(opt)) {
		qdisc->rate = opt.rate.rate;
		qdisc->ceil = opt.ceil.rate;
		qdisc->burst_bytes = bucket_bytes(opt.buffer, opt.rate.rate);
	}
	nl_get_u64(attrs[TCA_HTB_RATE64], &qdisc->rate);
	nl_get_u64(attrs[TCA_HTB_CEIL64], &qdisc->ceil);
}

static void parse_netem(struct qdisc_record *qdisc, const struct nlattr *options)
{
	struct tc_netem_qopt opt;
	const struct nlattr *attr;
	const uint8_t *rest;

	if (nl_get_bytes(options, &opt, sizeof(opt)) != sizeof(opt))
		return;
	qdisc->limit_packets = opt.limit;
	qdisc->delay_ns = (uint64_t)opt.latency * PSCHED_TICK_NS;
	qdisc->loss = (double)opt.loss / (double)UINT32_MAX;
	/* Attributes follow the fixed part. */
	rest = (const uint8_t *)mnl_attr_get_payload(options) + MNL_ALIGN(sizeof(opt));
	mnl_attr_for_each_payload((const void *)rest, mnl_attr_get_payload_len(options) - MNL_ALIGN(sizeof(opt))) {
		struct tc_netem_rate rate;

		if (mnl_attr_get_type(attr) == TCA_NETEM_LATENCY64)
			nl_get_u64(attr, &qdisc->delay_ns);
		if (mnl_attr_get_type(attr) == TCA_NETEM_RATE &&
		    nl_get_bytes(attr, &rate, sizeof(rate)) == sizeof(rate) && rate.rate)
			qdisc->rate = rate.rate;
		if (mnl_attr_get_type(attr) == TCA_NETEM_RATE64)
			nl_get_u64(attr, &qdisc->rate);
	}
}

/* Kinds with one attribute for the limit in packets. */
static const struct {
	const char *kind;
	uint16_t attr;
} packet_limits[] = {
	{"fq_codel", TCA_FQ_CODEL_LIMIT}, {"codel", TCA_CODEL_LIMIT},   {"fq", TCA_FQ_PLIMIT},
	{"pie", TCA_PIE_LIMIT},           {"fq_pie", TCA_FQ_PIE_LIMIT}, {"hhf", TCA_HHF_BACKLOG_LIMIT},
};

static void parse_packet_limit(struct qdisc_record *qdisc, const struct nlattr *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(packet_limits); i++) {
		const struct nlattr *attr;
		uint32_t limit;

		if (strcmp(packet_limits[i].kind, qdisc->kind) != 0)
			continue;
		mnl_attr_for_each_nested(attr, options) {
			if (mnl_attr_get_type(attr) != packet_limits[i].attr)
				continue;
			limit = UINT32_MAX;
			nl_get_u32(attr, &limit);
			if (limit != UINT32_MAX)
				qdisc->limit_packets = limit;
		}
		return;
	}
}

static void parse_red(struct qdisc_record *qdisc, const struct nlattr *options)
{
	const struct nlattr *attrs[TCA_RED_MAX + 1];
	struct tc_red_qopt opt;

	nl_attrs_nested(options, attrs, TCA_RED_MAX);
	if (nl_get_bytes(attrs[TCA_RED_PARMS], &opt, sizeof(opt)) == sizeof(opt))
		qdisc->limit_bytes = opt.limit;
}

void qdisc_parse_options(struct qdisc_record *qdisc, const struct nlattr *options, bool is_class)
{
	if (!options)
		return;
	if (is_class) {
		if (strcmp(qdisc->kind, "htb") == 0)
			parse_htb_class(qdisc, options);
		return;
	}
	if (strcmp(qdisc->kind, "pfifo") == 0 || strcmp(qdisc->kind, "bfifo") == 0 ||
	    strcmp(qdisc->kind, "pfifo_head_drop") == 0)
		parse_fifo(qdisc, options);
	else if (strcmp(qdisc->kind, "tbf") == 0)
		parse_tbf(qdisc, options);
	else if (strcmp(qdisc->kind, "netem") == 0)
		parse_netem(qdisc, options);
	else if (strcmp(qdisc->kind, "red") == 0)
		parse_red(qdisc, options);
	else
		parse_packet_limit(qdisc, options);
}
