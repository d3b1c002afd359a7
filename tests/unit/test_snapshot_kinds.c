/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of netlink attributes by kind: options of qdiscs, verdicts of firewall rules and chains. */
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "nl_bytes.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/qdisc.h"
#include "unit.h"

/* --- qdiscs --- */

/* What the kernel says of one of this kind, with these options. */
static struct qdisc_record qdisc_of(const char *kind, const void *options, size_t size)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct qdisc_record *qdisc;
	struct message m;

	unit_note("%s", kind);
	message_begin(&m, RTM_NEWQDISC, sizeof(struct tcmsg));
	mnl_attr_put_strz(m.header, TCA_KIND, kind);
	if (options)
		mnl_attr_put(m.header, TCA_OPTIONS, size, options);
	REQUIRE(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, qdisc_parse_message, NULL) == 1);
	qdisc = snapshot_first(snapshot, &qdisc_type);
	REQUIRE(qdisc);
	return *qdisc;
}

/* Options of one attribute. */
struct one_option {
	struct nlattr head;
	uint8_t value[32];
};

static struct qdisc_record qdisc_with(const char *kind, uint16_t type, const void *value, uint16_t size)
{
	struct one_option option = {.head = {(uint16_t)(sizeof(struct nlattr) + size), type}};

	REQUIRE(size <= sizeof(option.value));
	memcpy(option.value, value, size);
	return qdisc_of(kind, &option, sizeof(struct nlattr) + MNL_ALIGN(size));
}

TEST(a_fifo_counts_packets_or_bytes)
{
	struct tc_fifo_qopt opt = {.limit = 1000};
	struct qdisc_record qdisc = qdisc_of("pfifo", &opt, sizeof(opt));

	CHECK_EQ_UINT(qdisc.limit_packets, 1000);
	CHECK_EQ_UINT(qdisc.limit_bytes, UINT64_MAX);
	qdisc = qdisc_of("pfifo_head_drop", &opt, sizeof(opt));
	CHECK_EQ_UINT(qdisc.limit_packets, 1000);
	qdisc = qdisc_of("bfifo", &opt, sizeof(opt));
	CHECK_EQ_UINT(qdisc.limit_bytes, 1000);
	CHECK_EQ_UINT(qdisc.limit_packets, UINT64_MAX);
	/* Cut, and none. */
	CHECK_EQ_UINT(qdisc_of("pfifo", &opt, sizeof(opt) - 1).limit_packets, UINT64_MAX);
	CHECK_EQ_UINT(qdisc_of("pfifo", NULL, 0).limit_packets, UINT64_MAX);
}

TEST(queues_that_manage_themselves_have_a_limit_in_packets)
{
	static const struct {
		const char *kind;
		uint16_t attr;
	} kinds[] = {
		{"fq_codel", TCA_FQ_CODEL_LIMIT}, {"codel", TCA_CODEL_LIMIT},   {"fq", TCA_FQ_PLIMIT},
		{"pie", TCA_PIE_LIMIT},           {"fq_pie", TCA_FQ_PIE_LIMIT}, {"hhf", TCA_HHF_BACKLOG_LIMIT},
	};
	uint32_t limit = 10240, none = UINT32_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct qdisc_record qdisc = qdisc_with(kinds[i].kind, kinds[i].attr, &limit, sizeof(limit));

		CHECK_EQ_UINT(qdisc.limit_packets, 10240);
		CHECK_EQ_UINT(qdisc.limit_bytes, UINT64_MAX);
		/* Another attribute, no limit, half of one. */
		CHECK_EQ_UINT(
			qdisc_with(kinds[i].kind, (uint16_t)(kinds[i].attr + 1), &limit, sizeof(limit)).limit_packets,
			UINT64_MAX);
		CHECK_EQ_UINT(qdisc_with(kinds[i].kind, kinds[i].attr, &none, sizeof(none)).limit_packets, UINT64_MAX);
		CHECK_EQ_UINT(qdisc_with(kinds[i].kind, kinds[i].attr, &limit, 2).limit_packets, UINT64_MAX);
	}
	CHECK_EQ_UINT(qdisc_with("noqueue", TCA_FQ_CODEL_LIMIT, &limit, sizeof(limit)).limit_packets, UINT64_MAX);
}

TEST(red_has_a_limit_in_bytes)
{
	struct tc_red_qopt opt = {.limit = 400000, .qth_min = 1};
	struct qdisc_record qdisc = qdisc_with("red", TCA_RED_PARMS, &opt, sizeof(opt));

	CHECK_EQ_UINT(qdisc.limit_bytes, 400000);
	CHECK_EQ_UINT(qdisc.limit_packets, UINT64_MAX);
	CHECK_EQ_UINT(qdisc_with("red", TCA_RED_PARMS, &opt, sizeof(opt) - 1).limit_bytes, UINT64_MAX);
}

TEST(rates_of_netem_beyond_32_bits)
{
	struct {
		struct tc_netem_qopt opt;
		struct nlattr head;
		struct tc_netem_rate rate;
		struct nlattr head64;
		uint64_t rate64;
	} __attribute__((packed)) netem = {
		.opt = {.latency = 1000000, .limit = 1000},
		.head = {sizeof(struct nlattr) + sizeof(struct tc_netem_rate), TCA_NETEM_RATE},
		.rate = {.rate = 1250000},
		.head64 = {sizeof(struct nlattr) + sizeof(uint64_t), TCA_NETEM_RATE64},
		.rate64 = UINT64_C(12500000000),
	};
	struct qdisc_record qdisc = qdisc_of("netem", &netem, offsetof(typeof(netem), head64));

	CHECK_EQ_UINT(qdisc.rate, 1250000);
	/* 64 ns per tick. */
	CHECK_EQ_UINT(qdisc.delay_ns, 64000000);
	CHECK_EQ_UINT(qdisc_of("netem", &netem, sizeof(netem)).rate, UINT64_C(12500000000));
	netem.rate.rate = 0;
	CHECK_EQ_UINT(qdisc_of("netem", &netem, offsetof(typeof(netem), head64)).rate, UINT64_MAX);
	CHECK_EQ_UINT(qdisc_of("netem", &netem, sizeof(netem.opt) - 1).limit_packets, UINT64_MAX);
}

TEST(a_burst_that_tc_gave_in_bytes)
{
	uint32_t burst = 5000;

	CHECK_EQ_UINT(qdisc_with("tbf", TCA_TBF_BURST, &burst, sizeof(burst)).burst_bytes, 5000);
}

/* --- the firewall --- */

typedef void put_fn(struct nlmsghdr *header, uint32_t code);

/* The verdict of a rule with one expression; unknown: 0. */
static uint8_t verdict_by(const char *name, put_fn *put, uint32_t code)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct nlattr *list, *element, *data;
	struct message m;

	unit_note("%s %d", name, (int)code);
	message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE, sizeof(struct nfgenmsg));
	list = mnl_attr_nest_start(m.header, NFTA_RULE_EXPRESSIONS);
	element = mnl_attr_nest_start(m.header, NFTA_LIST_ELEM);
	mnl_attr_put_strz(m.header, NFTA_EXPR_NAME, name);
	data = mnl_attr_nest_start(m.header, NFTA_EXPR_DATA);
	if (put)
		put(m.header, code);
	mnl_attr_nest_end(m.header, data);
	mnl_attr_nest_end(m.header, element);
	mnl_attr_nest_end(m.header, list);
	REQUIRE(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_rule_parse_message, NULL) == 1);
	return ((const struct firewall_rule_record *)snapshot_first(snapshot, &firewall_rule_type))->verdict;
}

static void put_immediate(struct nlmsghdr *header, uint32_t code)
{
	struct nlattr *value = mnl_attr_nest_start(header, NFTA_IMMEDIATE_DATA);
	struct nlattr *verdict = mnl_attr_nest_start(header, NFTA_DATA_VERDICT);

	mnl_attr_put_u32(header, NFTA_VERDICT_CODE, htobe32(code));
	mnl_attr_nest_end(header, verdict);
	mnl_attr_nest_end(header, value);
}

static const char *const targets[] = {"DROP", "REJECT", "ACCEPT", "NFQUEUE", "LOG"};

static void put_target(struct nlmsghdr *header, uint32_t number)
{
	mnl_attr_put_strz(header, NFTA_TARGET_NAME, targets[number]);
}

TEST(every_verdict_has_its_code)
{
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, NF_DROP), VERDICT_DROP);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, NF_ACCEPT), VERDICT_ACCEPT);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, NF_QUEUE), VERDICT_QUEUE);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, (uint32_t)NFT_JUMP), VERDICT_JUMP);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, (uint32_t)NFT_GOTO), VERDICT_GOTO);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, (uint32_t)NFT_RETURN), VERDICT_RETURN);
	CHECK_EQ_UINT(verdict_by("immediate", put_immediate, (uint32_t)NFT_CONTINUE), 0);
	CHECK_EQ_UINT(verdict_by("immediate", NULL, 0), 0);
	CHECK_EQ_UINT(verdict_by("reject", NULL, 0), VERDICT_REJECT);
	CHECK_EQ_UINT(verdict_by("limit", NULL, 0), 0);
}

TEST(targets_of_iptables_are_verdicts)
{
	static const uint8_t verdicts[] = {VERDICT_DROP, VERDICT_REJECT, VERDICT_ACCEPT, VERDICT_QUEUE, 0};

	for (uint32_t i = 0; i < ARRAY_SIZE(targets); i++)
		CHECK_EQ_UINT(verdict_by("target", put_target, i), verdicts[i]);
}

TEST(a_chain_and_its_policy)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct firewall_chain_record *chain;
	struct nlattr *nest;
	struct message m;

	message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, sizeof(struct nfgenmsg));
	((struct nfgenmsg *)m.body)->nfgen_family = NFPROTO_IPV4;
	mnl_attr_put_strz(m.header, NFTA_CHAIN_TABLE, "filter");
	mnl_attr_put_strz(m.header, NFTA_CHAIN_NAME, "INPUT");
	nest = mnl_attr_nest_start(m.header, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(m.header, NFTA_HOOK_HOOKNUM, htobe32(NF_INET_LOCAL_IN));
	mnl_attr_put_u32(m.header, NFTA_HOOK_PRIORITY, htobe32((uint32_t)-150));
	mnl_attr_nest_end(m.header, nest);
	mnl_attr_put_u32(m.header, NFTA_CHAIN_POLICY, htobe32(NF_DROP));
	nest = mnl_attr_nest_start(m.header, NFTA_CHAIN_COUNTERS);
	mnl_attr_put_u64(m.header, NFTA_COUNTER_PACKETS, htobe64(9));
	mnl_attr_put_u64(m.header, NFTA_COUNTER_BYTES, htobe64(999));
	mnl_attr_nest_end(m.header, nest);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_chain_parse_message, NULL), 1);
	chain = snapshot_first(snapshot, &firewall_chain_type);
	REQUIRE(chain);
	CHECK_EQ_TEXT(chain->nf_table, "filter");
	CHECK_EQ_TEXT(chain->chain, "INPUT");
	CHECK_EQ_UINT(chain->hook, NF_INET_LOCAL_IN);
	CHECK_EQ_INT(chain->priority, -150);
	CHECK_EQ_UINT(chain->policy, VERDICT_DROP);
	CHECK_EQ_UINT(chain->packets, 9);
	CHECK_EQ_UINT(chain->bytes, 999);
	/* A chain of rules that others jump to has neither hook nor policy; a rule is no chain. */
	snapshot_clear(snapshot);
	message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, sizeof(struct nfgenmsg));
	mnl_attr_put_strz(m.header, NFTA_CHAIN_NAME, "more");
	(void)nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_chain_parse_message, NULL);
	chain = snapshot_first(snapshot, &firewall_chain_type);
	REQUIRE(chain);
	CHECK_EQ_UINT(chain->policy, 0);
	CHECK_EQ_UINT(chain->packets, UINT64_MAX);
	CHECK(!chain->nf_table);
	m.header->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE;
	(void)nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_chain_parse_message, NULL);
	CHECK_EQ_UINT(snapshot_table(snapshot, &firewall_chain_type)->count, 1);
}
