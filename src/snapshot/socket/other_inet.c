/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw and MPTCP sockets: INET_DIAG; raw ones also from /proc/net/raw and raw6. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "base/parse.h"
#include "snapshot/core/scan.h"
#include "snapshot/socket/other.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

void other_format_end(const struct addr *addr, uint32_t port, char text[static OTHER_END_MAX])
{
	char shown[ADDR_TEXT_MAX], number[16] = "*";

	addr_format(addr, shown);
	if (port)
		snprintf(number, sizeof(number), "%u", port);
	snprintf(text, OTHER_END_MAX, strchr(shown, ':') ? "[%s]:%s" : "%s:%s", shown, number);
}

/* A raw socket has no ports. */
static void set_ends(struct snapshot *snapshot, struct other_socket_record *socket)
{
	char local[OTHER_END_MAX], remote[OTHER_END_MAX];

	if (socket->type == SOCK_RAW) {
		addr_format(&socket->laddr, local);
		addr_format(&socket->raddr, remote);
	} else {
		other_format_end(&socket->laddr, socket->lport, local);
		other_format_end(&socket->raddr, socket->rport, remote);
	}
	socket->local = other_text(snapshot, "%s", local);
	socket->remote = other_text(snapshot, "%s", remote);
}

/* A raw socket's IP protocol stands where others have the local port. */
static void set_protocol(struct snapshot *snapshot, struct other_socket_record *socket, unsigned protocol)
{
	socket->type = SOCK_RAW;
	socket->proto = enum_name_find(&socket_proto_names, protocol) ?: other_text(snapshot, "%u", protocol);
	socket->lport = socket->rport = UINT32_MAX;
}

static void set_addresses(struct other_socket_record *socket, const struct inet_diag_msg *msg)
{
	bool v6 = msg->idiag_family == AF_INET6;

	socket->laddr = v6 ? addr_from_v6(msg->id.idiag_src) : addr_from_v4(msg->id.idiag_src);
	socket->raddr = v6 ? addr_from_v6(msg->id.idiag_dst) : addr_from_v4(msg->id.idiag_dst);
	socket->lport = ntohs(msg->id.idiag_sport);
	socket->rport = ntohs(msg->id.idiag_dport);
}

void other_parse_inet(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct record_type *type = context;
	const struct inet_diag_msg *msg = nl_payload(message);
	const struct nlattr *attrs[INET_DIAG_MAX + 1];
	struct other_socket_record *socket;

	if (nl_payload_len(message) < sizeof(*msg) || (msg->idiag_family != AF_INET && msg->idiag_family != AF_INET6))
		return;
	socket = other_add(snapshot, type, msg->idiag_family == AF_INET6 ? ADDR_V6 : ADDR_V4);
	if (!socket)
		return;
	nl_attrs(message, sizeof(*msg), attrs, INET_DIAG_MAX);
	set_addresses(socket, msg);
	socket->state = msg->idiag_state;
	socket->inode = msg->idiag_inode;
	socket->uid = msg->idiag_uid;
	socket->cookie = other_cookie(msg->id.idiag_cookie);
	nl_get_u32(attrs[INET_DIAG_MARK], &socket->mark);
	nl_get_u8(attrs[INET_DIAG_SHUTDOWN], &socket->shutdown);
	other_set_memory(socket, attrs[INET_DIAG_SKMEMINFO]);
	other_set_queues(socket, msg->idiag_rqueue, msg->idiag_wqueue);
	socket->ifindex = msg->id.idiag_if;
	if (type == &raw_socket_type) {
		set_protocol(snapshot, socket, socket->lport);
	} else {
		socket->type = SOCK_STREAM;
		socket->proto = "mptcp";
	}
	set_ends(snapshot, socket);
}

static bool hex_of(const char *digits, size_t n, uint32_t *ret_value)
{
	char word[16] = "0x";
	uint64_t value;

	memcpy(word + 2, digits, n);
	if (parse_u64(word, 0, UINT32_MAX, &value) < 0)
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

/* "0100007F:0001": an address in words of the machine's own order, and a port. */
static bool scan_endpoint(const char **text, struct addr *ret_addr, uint32_t *ret_port)
{
	const char *word;
	uint32_t words[4];
	size_t n, count;

	if (!scan_word(text, &word, &n) || (n != 8 + 5 && n != 32 + 5) || word[n - 5] != ':')
		return false;
	count = n > 32 ? 4 : 1;
	for (size_t i = 0; i < count; i++)
		if (!hex_of(word + i * 8, 8, &words[i]))
			return false;
	*ret_addr = count == 4 ? addr_from_v6(words) : addr_from_v4(words);
	return hex_of(word + n - 4, 4, ret_port);
}

/* "00000000:00000000", sent and received. */
static bool scan_queues(const char **text, uint32_t *ret_send, uint32_t *ret_receive)
{
	const char *word;
	size_t n;

	return scan_word(text, &word, &n) && n == 17 && word[8] == ':' && hex_of(word, 8, ret_send) &&
	       hex_of(word + 9, 8, ret_receive);
}

/* "sl local rem st tx:rx tr:when retrnsmt uid timeout inode ref pointer drops" */
void other_text_raw(struct snapshot *snapshot, const char *text)
{
	while (scan_next_line(&text)) {
		struct other_socket_record *socket;
		struct addr local, remote;
		uint32_t protocol, port, send, receive;
		uint64_t state, uid, inode, drops;

		if (!scan_skip(&text, 1) || !scan_endpoint(&text, &local, &protocol) ||
		    !scan_endpoint(&text, &remote, &port) || !scan_hex(&text, &state) ||
		    !scan_queues(&text, &send, &receive) || !scan_skip(&text, 2) || !scan_u64(&text, &uid) ||
		    !scan_skip(&text, 1) || !scan_u64(&text, &inode) || !scan_skip(&text, 2) ||
		    !scan_u64(&text, &drops))
			continue;
		socket = other_add(snapshot, &raw_socket_type, local.family);
		if (!socket)
			return;
		socket->laddr = local;
		socket->raddr = remote;
		socket->state = (uint8_t)state;
		socket->uid = (uint32_t)uid;
		socket->inode = (uint32_t)inode;
		socket->drops = (uint32_t)drops;
		other_set_queues(socket, receive, send);
		set_protocol(snapshot, socket, protocol);
		set_ends(snapshot, socket);
	}
}

/* Both families of IP; a kernel without IPv6 has no such sockets, and nothing is lost. */
static int ask(struct snapshot *snapshot, uint32_t protocol, const struct record_type *type, const char *config,
	       struct why *why)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = AF_INET,
		.sdiag_protocol = protocol <= UINT8_MAX ? (uint8_t)protocol : 0,
		.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
		.idiag_states = UINT32_MAX,
	};
	struct other_question question = {
		.request = &req,
		.size = sizeof(req),
		.protocol = protocol > UINT8_MAX ? protocol : 0,
		.parse = other_parse_inet,
		.context = (void *)type,
		.config = config,
	};
	struct why why6 = {};
	int r = other_ask(snapshot, &question, why), r6;

	if (r < 0)
		return r;
	req.sdiag_family = AF_INET6;
	r6 = other_ask(snapshot, &question, &why6);
	return r6 == -ENOENT ? 0 : r6;
}

static int collect_raw(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	static const char lost[] = "buffers, marks and cookies of raw sockets";
	int r = ask(snapshot, IPPROTO_RAW, &raw_socket_type, "CONFIG_INET_RAW_DIAG", why);

	(void)request;
	if (r != -ENOENT)
		return r;
	r = other_read(snapshot, "/proc/thread-self/net/raw", other_text_raw, lost, why);
	if (r == 0 && snapshot_read(snapshot, "/proc/thread-self/net/raw6") == 0)
		other_text_raw(snapshot, buf_text(&snapshot->text));
	return r;
}

static int collect_mptcp(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	(void)request;
	return ask(snapshot, IPPROTO_MPTCP, &mptcp_socket_type, "CONFIG_INET_MPTCP_DIAG", why);
}

static const struct record_type *const raw_types[] = {&raw_socket_type, NULL};

static const struct snapshot_source raw_source = {
	.name = "raw_diag",
	.lost = "raw sockets",
	.types = raw_types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect_raw,
};
SNAPSHOT_SOURCE(raw_source);

static const struct record_type *const mptcp_types[] = {&mptcp_socket_type, NULL};

static const struct snapshot_source mptcp_source = {
	.name = "mptcp_diag",
	.lost = "MPTCP sockets",
	.types = mptcp_types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect_mptcp,
};
SNAPSHOT_SOURCE(mptcp_source);
