/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/netlink/firewall.h"

static const struct enum_name family_items[] = {
	{NFPROTO_INET, "inet", NULL},     {NFPROTO_IPV4, "ip", NULL},       {NFPROTO_ARP, "arp", NULL},
	{NFPROTO_NETDEV, "netdev", NULL}, {NFPROTO_BRIDGE, "bridge", NULL}, {NFPROTO_IPV6, "ip6", NULL},
};
static struct enum_names family_names = {family_items, ARRAY_SIZE(family_items), NULL};

static const struct enum_name verdict_items[] = {
	{VERDICT_DROP, "drop", NULL},   {VERDICT_ACCEPT, "accept", NULL}, {VERDICT_REJECT, "reject", NULL},
	{VERDICT_JUMP, "jump", NULL},   {VERDICT_GOTO, "goto", NULL},     {VERDICT_RETURN, "return", NULL},
	{VERDICT_QUEUE, "queue", NULL},
};
static struct enum_names verdict_names = {verdict_items, ARRAY_SIZE(verdict_items), NULL};

/* Hooks of the IP families; other families reuse the numbers. */
static const struct enum_name hook_items[] = {
	{NF_INET_PRE_ROUTING, "prerouting", NULL},   {NF_INET_LOCAL_IN, "input", NULL},
	{NF_INET_FORWARD, "forward", NULL},          {NF_INET_LOCAL_OUT, "output", NULL},
	{NF_INET_POST_ROUTING, "postrouting", NULL},
};
static struct enum_names hook_names = {hook_items, ARRAY_SIZE(hook_items), NULL};

#define R struct firewall_rule_record
static const struct field rule_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, nf_family, ENUM, "table family", .names = &family_names),
	FIELD(R, nf_table, TEXT, "table"),
	FIELD(R, chain, TEXT, "chain"),
	FIELD(R, handle, ID, "rule handle"),
	FIELD(R, packets, COUNT, "packets matched; unknown: no counter"),
	FIELD(R, bytes, BYTES, "bytes matched; unknown: no counter"),
	FIELD(R, verdict, ENUM, "verdict", .names = &verdict_names, .zero_is_unknown = true),
	FIELD(R, queue, ID, "first NFQUEUE number; unknown: none, or with bypass"),
	FIELD(R, queues, COUNT, "number of NFQUEUE queues", .hidden = true),
	FIELD(R, unheard, BOOL, "no program listens on its NFQUEUE: packets are dropped", .hidden = true),
	FIELD(R, comment, TEXT, "rule comment"),
};
#undef R
RECORD_TYPE(firewall_rule_type, "firewall_rule", struct firewall_rule_record, rule_fields, "an nftables rule");

#define C struct firewall_chain_record
static const struct field chain_fields[] = {
	FIELD(C, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(C, nf_family, ENUM, "table family", .names = &family_names),
	FIELD(C, nf_table, TEXT, "table"),
	FIELD(C, chain, TEXT, "chain"),
	FIELD(C, hook, ENUM, "netfilter hook", .names = &hook_names),
	FIELD(C, priority, ID, "priority at that hook; lower runs first"),
	FIELD(C, policy, ENUM, "policy: verdict on packets that no rule decides", .names = &verdict_names,
	      .zero_is_unknown = true),
	FIELD(C, packets, COUNT, "packets that reached the policy; unknown: no counter"),
	FIELD(C, bytes, BYTES, "bytes that reached the policy; unknown: no counter"),
};
#undef C
RECORD_TYPE(firewall_chain_type, "firewall_chain", struct firewall_chain_record, chain_fields, "an nftables chain");

/* nfnetlink numbers are in network byte order. */
static void get_be64(const struct nlattr *attr, uint64_t *value)
{
	uint64_t raw;

	if (nl_get_bytes(attr, &raw, sizeof(raw)) == sizeof(raw))
		*value = be64toh(raw);
}

static bool get_be32(const struct nlattr *attr, uint32_t *value)
{
	uint32_t raw;

	if (nl_get_bytes(attr, &raw, sizeof(raw)) != sizeof(raw))
		return false;
	*value = be32toh(raw);
	return true;
}

static bool get_be16(const struct nlattr *attr, uint16_t *value)
{
	uint16_t raw;

	if (nl_get_bytes(attr, &raw, sizeof(raw)) != sizeof(raw))
		return false;
	*value = be16toh(raw);
	return true;
}

static const char *get_text(struct snapshot *snapshot, const struct nlattr *attr)
{
	return attr ? snapshot_text(snapshot, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr)) : NULL;
}

static uint8_t verdict_of(uint32_t code)
{
	switch ((int)code) {
	case NF_DROP:
		return VERDICT_DROP;
	case NF_ACCEPT:
		return VERDICT_ACCEPT;
	case NF_QUEUE:
		return VERDICT_QUEUE;
	case NFT_JUMP:
		return VERDICT_JUMP;
	case NFT_GOTO:
		return VERDICT_GOTO;
	case NFT_RETURN:
		return VERDICT_RETURN;
	default:
		return 0;
	}
}

static void parse_immediate(struct firewall_rule_record *rule, const struct nlattr *data)
{
	const struct nlattr *attrs[NFTA_IMMEDIATE_MAX + 1], *value[NFTA_DATA_MAX + 1], *verdict[NFTA_VERDICT_MAX + 1];
	uint32_t code;

	nl_attrs_nested(data, attrs, NFTA_IMMEDIATE_MAX);
	nl_attrs_nested(attrs[NFTA_IMMEDIATE_DATA], value, NFTA_DATA_MAX);
	nl_attrs_nested(value[NFTA_DATA_VERDICT], verdict, NFTA_VERDICT_MAX);
	if (get_be32(verdict[NFTA_VERDICT_CODE], &code))
		rule->verdict = verdict_of(code);
}

static void set_queue(struct firewall_rule_record *rule, uint16_t queue, uint16_t queues, bool bypass)
{
	if (bypass)
		return;
	rule->queue = queue;
	rule->queues = max_of(queues, (uint16_t)1);
}

static void parse_queue(struct firewall_rule_record *rule, const struct nlattr *data)
{
	const struct nlattr *attrs[NFTA_QUEUE_MAX + 1];
	uint16_t queue, queues = 1, flags = 0;

	rule->verdict = VERDICT_QUEUE;
	nl_attrs_nested(data, attrs, NFTA_QUEUE_MAX);
	(void)get_be16(attrs[NFTA_QUEUE_TOTAL], &queues);
	(void)get_be16(attrs[NFTA_QUEUE_FLAGS], &flags);
	if (get_be16(attrs[NFTA_QUEUE_NUM], &queue))
		set_queue(rule, queue, queues, flags & NFT_QUEUE_FLAG_BYPASS);
}

/* Later revisions only append members. */
static void parse_nfqueue(struct firewall_rule_record *rule, const struct nlattr *info)
{
	struct xt_NFQ_info_v3 queue = {.queues_total = 1};

	rule->verdict = VERDICT_QUEUE;
	if (nl_get_bytes(info, &queue, sizeof(queue)) >= sizeof(queue.queuenum))
		set_queue(rule, queue.queuenum, queue.queues_total, queue.flags & NFQ_FLAG_BYPASS);
}

/* Rules by iptables-nft carry the xtables target name. */
static void parse_target(struct firewall_rule_record *rule, const struct nlattr *data)
{
	const struct nlattr *attrs[NFTA_TARGET_MAX + 1];
	char name[32] = "";

	nl_attrs_nested(data, attrs, NFTA_TARGET_MAX);
	nl_get_chars(attrs[NFTA_TARGET_NAME], name, sizeof(name));
	if (strcmp(name, "DROP") == 0)
		rule->verdict = VERDICT_DROP;
	else if (strcmp(name, "REJECT") == 0)
		rule->verdict = VERDICT_REJECT;
	else if (strcmp(name, "ACCEPT") == 0)
		rule->verdict = VERDICT_ACCEPT;
	else if (strcmp(name, "NFQUEUE") == 0)
		parse_nfqueue(rule, attrs[NFTA_TARGET_INFO]);
}

static void parse_expression(struct firewall_rule_record *rule, const struct nlattr *expression)
{
	const struct nlattr *attrs[NFTA_EXPR_MAX + 1], *counter[NFTA_COUNTER_MAX + 1];
	char name[32] = "";

	nl_attrs_nested(expression, attrs, NFTA_EXPR_MAX);
	nl_get_chars(attrs[NFTA_EXPR_NAME], name, sizeof(name));
	if (strcmp(name, "counter") == 0) {
		nl_attrs_nested(attrs[NFTA_EXPR_DATA], counter, NFTA_COUNTER_MAX);
		get_be64(counter[NFTA_COUNTER_PACKETS], &rule->packets);
		get_be64(counter[NFTA_COUNTER_BYTES], &rule->bytes);
	} else if (strcmp(name, "immediate") == 0) {
		parse_immediate(rule, attrs[NFTA_EXPR_DATA]);
	} else if (strcmp(name, "reject") == 0) {
		rule->verdict = VERDICT_REJECT;
	} else if (strcmp(name, "queue") == 0) {
		parse_queue(rule, attrs[NFTA_EXPR_DATA]);
	} else if (strcmp(name, "target") == 0) {
		parse_target(rule, attrs[NFTA_EXPR_DATA]);
	}
}

/* User data of a rule: type, length, value; type 0 is the comment. */
static const char *parse_comment(struct snapshot *snapshot, const struct nlattr *attr)
{
	const uint8_t *bytes = attr ? mnl_attr_get_payload(attr) : NULL;
	size_t left = attr ? mnl_attr_get_payload_len(attr) : 0;

	while (left >= 2) {
		size_t len = bytes[1];

		if (len > left - 2)
			break;
		if (bytes[0] == 0)
			return snapshot_text(snapshot, (const char *)bytes + 2, len);
		bytes += 2 + len;
		left -= 2 + len;
	}
	return NULL;
}

static bool is_message(const struct nlmsghdr *message, uint16_t type)
{
	return message->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | type) &&
	       mnl_nlmsg_get_payload_len(message) >= sizeof(struct nfgenmsg);
}

void firewall_rule_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct nfgenmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[NFTA_RULE_MAX + 1], *expression;
	struct firewall_rule_record *rule;

	(void)context;
	if (!is_message(message, NFT_MSG_NEWRULE))
		return;
	rule = snapshot_table_add(snapshot_table(snapshot, &firewall_rule_type));
	if (!rule)
		return;
	nl_attrs(message, sizeof(*info), attrs, NFTA_RULE_MAX);
	rule->netns = snapshot->netns;
	rule->nf_family = info->nfgen_family;
	rule->nf_table = get_text(snapshot, attrs[NFTA_RULE_TABLE]);
	rule->chain = get_text(snapshot, attrs[NFTA_RULE_CHAIN]);
	get_be64(attrs[NFTA_RULE_HANDLE], &rule->handle);
	rule->comment = parse_comment(snapshot, attrs[NFTA_RULE_USERDATA]);
	if (attrs[NFTA_RULE_EXPRESSIONS])
		mnl_attr_for_each_nested(expression, attrs[NFTA_RULE_EXPRESSIONS])
			parse_expression(rule, expression);
}

void firewall_chain_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct nfgenmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[NFTA_CHAIN_MAX + 1], *hook[NFTA_HOOK_MAX + 1], *counter[NFTA_COUNTER_MAX + 1];
	struct firewall_chain_record *chain;
	uint32_t number;

	(void)context;
	if (!is_message(message, NFT_MSG_NEWCHAIN))
		return;
	chain = snapshot_table_add(snapshot_table(snapshot, &firewall_chain_type));
	if (!chain)
		return;
	nl_attrs(message, sizeof(*info), attrs, NFTA_CHAIN_MAX);
	chain->netns = snapshot->netns;
	chain->nf_family = info->nfgen_family;
	chain->nf_table = get_text(snapshot, attrs[NFTA_CHAIN_TABLE]);
	chain->chain = get_text(snapshot, attrs[NFTA_CHAIN_NAME]);
	nl_attrs_nested(attrs[NFTA_CHAIN_HOOK], hook, NFTA_HOOK_MAX);
	if (get_be32(hook[NFTA_HOOK_HOOKNUM], &number))
		chain->hook = (uint8_t)number;
	if (get_be32(hook[NFTA_HOOK_PRIORITY], &number))
		chain->priority = (int32_t)number;
	if (get_be32(attrs[NFTA_CHAIN_POLICY], &number))
		chain->policy = verdict_of(number);
	nl_attrs_nested(attrs[NFTA_CHAIN_COUNTERS], counter, NFTA_COUNTER_MAX);
	get_be64(counter[NFTA_COUNTER_PACKETS], &chain->packets);
	get_be64(counter[NFTA_COUNTER_BYTES], &chain->bytes);
}

static int dump(struct snapshot *snapshot, uint16_t type, nl_parse_fn *parse, struct why *why)
{
	struct nl_request room;
	struct nfgenmsg *info;
	struct nlmsghdr *message = nl_request_begin(&room, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), NLM_F_DUMP,
						    sizeof(*info), (void **)&info);
	struct nl_question question = {.protocol = NETLINK_NETFILTER, .request = message, .parse = parse};

	info->version = NFNETLINK_V0;
	return nl_ask(snapshot, &question, why);
}

bool firewall_is_heard(const char *text, uint32_t queue, uint32_t queues)
{
	do {
		const char *line = text;
		uint64_t number;

		if (scan_u64(&line, &number) && number >= queue && number - queue < queues)
			return true;
	} while (scan_next_line(&text));
	return false;
}

/* Packets sent to an NFQUEUE without a listener are dropped. */
static void mark_unheard(struct snapshot *snapshot)
{
	bool is_read = false;

	snapshot_each(snapshot, firewall_rule_type, struct firewall_rule_record, rule) {
		if (rule->netns != snapshot->netns || rule->queue == UINT32_MAX)
			continue;
		if (!is_read) {
			int r = snapshot_read(snapshot, "/proc/thread-self/net/netfilter/nfnetlink_queue");

			/* No file: no queue has a listener. */
			if (r == -ENOENT)
				buf_clear(&snapshot->text);
			else if (r < 0)
				return;
			is_read = true;
		}
		rule->unheard = !firewall_is_heard(buf_text(&snapshot->text), rule->queue, rule->queues);
	}
}

/* iptables-legacy tables are readable through their binary interface only. */
static void note_legacy(struct snapshot *snapshot)
{
	static const char *const lists[] = {"/proc/thread-self/net/ip_tables_names",
					    "/proc/thread-self/net/ip6_tables_names"};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (snapshot_read_setting(snapshot, lists[i]) == 0 && snapshot->text.len > 0) {
			snapshot_gap(snapshot, "drops by iptables-legacy rules",
				     "iptables-legacy tables in use (%s); only nftables rules are read",
				     i ? "IPv6" : "IPv4");
			return;
		}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	int r = dump(snapshot, NFT_MSG_GETCHAIN, firewall_chain_parse_message, why);

	(void)request;
	if (r == 0)
		r = dump(snapshot, NFT_MSG_GETRULE, firewall_rule_parse_message, why);
	if (r == 0)
		mark_unheard(snapshot);
	note_legacy(snapshot);
	if (r == -EPERM || r == -EACCES)
		return why_set(why, r, "no permission to read nftables (needs CAP_NET_ADMIN)");
	/* A kernel without nftables has no rules; its errno for that varies. */
	if (r == -EINVAL || r == -EOPNOTSUPP || r == -EPROTONOSUPPORT || r == -ENOENT)
		return 0;
	return r;
}

static const struct record_type *const types[] = {&firewall_rule_type, &firewall_chain_type, NULL};

static const struct snapshot_source firewall_source = {
	.name = "firewall",
	.lost = "firewall drops and rejects",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(firewall_source);
