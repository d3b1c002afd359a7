/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/remembered.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/tcp_metrics.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "probe/drop_tally.h"
#include "probe/wire.h"
#include "snapshot/socket/socket.h"

#define R struct remembered_record
static const struct field remembered_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, raddr, ADDR, "remote address"),
	FIELD(R, remembered, BOOL, "the kernel keeps TCP metrics of an earlier connection with it"),
	FIELD(R, last_ns, TIME, "last connection that they were learnt from"),
};
#undef R
RECORD_TYPE(
	remembered_type, "remembered", struct remembered_record, remembered_fields,
	"a remote host whose packets are dropped here, or that refuses or does not answer connects, and whether there "
	"ever was a connection with it");

/* Of a scan from more addresses no more are asked for. */
#define HOSTS_MAX 256
/* An answer changes with the next connection that ends. */
#define KEEP_NS (5 * NSEC_PER_SEC)

struct host {
	uint32_t netns;
	struct addr raddr;
};

struct answer {
	uint64_t asked_ns; /* 0: not yet */
	uint64_t sample;   /* the last one it was reported in */
	struct remembered_record record;
};

struct state {
	struct map hosts;           /* struct host -> struct answer */
	struct mnl_socket *generic; /* of the namespace being sampled */
	uint16_t family;            /* number of tcp_metrics; 0: not looked up yet */
	uint64_t sample;
	uint64_t cleared_ns; /* boot time when the hosts were last forgotten */
};

static void parse_family(struct snapshot *snapshot _unused_, const struct nlmsghdr *message, void *context)
{
	const struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	if (message->nlmsg_type != GENL_ID_CTRL || mnl_nlmsg_get_payload_len(message) < sizeof(struct genlmsghdr))
		return;
	nl_attrs(message, sizeof(struct genlmsghdr), attrs, CTRL_ATTR_MAX);
	(void)nl_get_bytes(attrs[CTRL_ATTR_FAMILY_ID], context, sizeof(uint16_t));
}

void remembered_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct nlattr *attrs[TCP_METRICS_ATTR_MAX + 1];
	struct remembered_record *record = context;
	uint64_t age_ms;

	if (message->nlmsg_type < NLMSG_MIN_TYPE || mnl_nlmsg_get_payload_len(message) < sizeof(struct genlmsghdr))
		return;
	nl_attrs(message, sizeof(struct genlmsghdr), attrs, TCP_METRICS_ATTR_MAX);
	record->remembered = true;
	if (nl_get_bytes(attrs[TCP_METRICS_ATTR_AGE], &age_ms, sizeof(age_ms)) == sizeof(age_ms) &&
	    age_ms <= snapshot->begin_time_ns / NSEC_PER_MSEC)
		record->last_ns = snapshot->begin_time_ns - age_ms * NSEC_PER_MSEC;
}

static struct nlmsghdr *request_of(struct nl_request *room, uint16_t type, uint8_t command, uint8_t version)
{
	struct genlmsghdr *head;
	struct nlmsghdr *message = nl_request_begin(room, type, 0, sizeof(*head), (void **)&head);

	head->cmd = command;
	head->version = version;
	return message;
}

static int find_family(struct snapshot *snapshot, struct state *state, struct why *why)
{
	struct nl_request room;
	struct nl_question question = {.request = request_of(&room, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1),
				       .parse = parse_family,
				       .context = &state->family};
	int r;

	mnl_attr_put_strz(question.request, CTRL_ATTR_FAMILY_NAME, TCP_METRICS_GENL_NAME);
	r = nl_ask_on(snapshot, state->generic, &question);
	if (r == 0 && state->family == 0)
		r = -ENOENT;
	return r < 0 ? why_set(why, r, "the kernel reports no TCP metrics: %s", strerror(-r)) : 0;
}

static int ask(struct snapshot *snapshot, struct state *state, struct remembered_record *record)
{
	struct nl_request room;
	struct nl_question question = {
		.request = request_of(&room, state->family, TCP_METRICS_CMD_GET, TCP_METRICS_GENL_VERSION),
		.parse = remembered_parse_message,
		.context = record};
	bool v6 = record->raddr.family == ADDR_V6;
	int r;

	mnl_attr_put(question.request, v6 ? TCP_METRICS_ATTR_ADDR_IPV6 : TCP_METRICS_ATTR_ADDR_IPV4, v6 ? 16 : 4,
		     record->raddr.bytes + (v6 ? 0 : 12));
	record->remembered = false;
	record->last_ns = UINT64_MAX;
	r = nl_ask_on(snapshot, state->generic, &question);
	return r == -ESRCH ? 0 : r;
}

static int open_generic(struct snapshot *snapshot, struct state *state, struct why *why)
{
	if (!state->generic)
		state->generic = nl_open(NETLINK_GENERIC, why);
	if (!state->generic)
		return -errno;
	return state->family ? 0 : find_family(snapshot, state, why);
}

/* An answer that cannot be had is none: the host is left out. */
static int give(struct snapshot *snapshot, struct state *state, const struct addr *raddr, struct why *why)
{
	struct remembered_record *record;
	struct answer *answer;
	struct host host;
	int r;

	memset(&host, 0, sizeof(host));
	host.netns = snapshot->netns;
	host.raddr = *raddr;
	if (raddr->family == ADDR_UNKNOWN)
		return 0;
	answer = map_put(&state->hosts, &host, NULL);
	if (!answer || answer->sample == state->sample)
		return 0;
	if (answer->asked_ns == 0 || snapshot->begin_boot_ns - answer->asked_ns > KEEP_NS) {
		answer->record.netns = snapshot->netns;
		answer->record.raddr = *raddr;
		r = open_generic(snapshot, state, why);
		if (r < 0)
			return r;
		if (ask(snapshot, state, &answer->record) < 0)
			return 0;
		answer->asked_ns = snapshot->begin_boot_ns;
	}
	answer->sample = state->sample;
	record = snapshot_table_add(snapshot_table(snapshot, &remembered_type));
	if (record)
		*record = answer->record;
	return 0;
}

/* Hosts that drops keep out, and those that refuse this one or do not answer it. */
static int give_all(struct snapshot *snapshot, struct state *state, struct why *why)
{
	int r = 0;

	snapshot_each(snapshot, drop_type, const struct drop_record, drop)
		if (r == 0 && drop->netns == snapshot->netns && drop->proto == IPPROTO_TCP && drop->dir == DROP_RX)
			r = give(snapshot, state, &drop->raddr, why);
	snapshot_each(snapshot, refusal_type, const struct refusal_record, refusal)
		if (r == 0 && refusal->netns == snapshot->netns && refusal->refused > 0)
			r = give(snapshot, state, &refusal->raddr, why);
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (r == 0 && s->netns == snapshot->netns && s->proto == IPPROTO_TCP && s->state == SOCKET_SYN_SENT)
			r = give(snapshot, state, &s->raddr, why);
	return r;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r;

	if (!request->repeated || snapshot_read_setting(snapshot, "/proc/sys/net/ipv4/tcp_no_metrics_save") < 0 ||
	    buf_text(&snapshot->text)[0] != '0')
		return 0;
	if (state->hosts.value_size == 0)
		state->hosts = MAP_INIT(sizeof(struct host), sizeof(struct answer), HOSTS_MAX);
	/* Hosts of long ago make room for others, whose turn comes when answers would be asked for again anyway. */
	if (state->hosts.count >= HOSTS_MAX && snapshot->begin_boot_ns - state->cleared_ns > KEEP_NS) {
		map_done(&state->hosts);
		state->cleared_ns = snapshot->begin_boot_ns;
	}
	state->sample++;
	r = give_all(snapshot, state, why);
	nl_closep(&state->generic);
	state->generic = NULL;
	return r;
}

static void release(void *data)
{
	map_done(&((struct state *)data)->hosts);
}

static const struct record_type *const needs[] = {&drop_type, &refusal_type, &socket_type, NULL};
static const struct record_type *const types[] = {&remembered_type, NULL};

static const struct snapshot_source remembered_source = {
	.name = "remembered",
	.lost = "whether there ever was a connection with hosts whose packets are dropped, or that accept no "
		"connection",
	.types = types,
	.needs = needs,
	.any_need = true,
	.stage = STAGE_LAST,
	.on_demand = true,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(remembered_source);
