/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink messages as no kernel writes them, the first byte chooses the parser: records stay well-formed. */
#include <netinet/in.h>

#include "../unit/nl_bytes.h"
#include "fuzz.h"
#include "probe/remembered.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/net_change.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/netlink/translation.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/socket/other.h"
#include "snapshot/socket/sock_watch.h"
#include "view/json.h"

/* Everything that a view would read must be readable, and texts must end. */
static void check_records(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct snapshot_table *table = &snapshot->tables[i];

		for (size_t row = 0; row < table->count; row++) {
			_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

			json_add_object(&text, table->type, table->items + row * table->type->size);
			fuzz_require(text.len > 2 && !fuzz_has_control(text.data, text.len));
		}
	}
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);

		fuzz_require(!tcp || tcp->tcp_cookie == socket->cookie);
		(void)socket_is_active(socket, tcp);
		(void)sock_question(socket, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct snapshot *snapshot;
	static struct net_changes changes;
	static struct translation_filter all;
	struct destination_record destination = {};
	struct remembered_record remembered = {};
	struct socket_parse sockets;
	_cleanup_free_ void *aligned = NULL;

	if (size < 1)
		return 0;
	if (!snapshot) {
		snapshot = snapshot_new();
		net_changes_init(&changes);
	}
	snapshot_clear(snapshot);
	/* Messages lie where malloc put them, as they would in a buffer. */
	aligned = xmalloc(size - 1);
	memcpy(aligned, data + 1, size - 1);
	sockets = (struct socket_parse){data[0] & 0x80 ? IPPROTO_UDP : IPPROTO_TCP,
					snapshot_table(snapshot, &socket_type), snapshot_table(snapshot, &tcp_type)};
	const struct {
		nl_parse_fn *parse;
		void *context;
	} parsers[] = {
		{socket_parse_message, &sockets},
		{link_parse_message, NULL},
		{address_parse_message, NULL},
		{qdisc_parse_message, NULL},
		{route_parse_message, NULL},
		{destination_parse_message, &destination},
		{neighbour_parse_message, NULL},
		{tunnel_parse_message, NULL},
		{firewall_rule_parse_message, NULL},
		{firewall_chain_parse_message, NULL},
		{other_parse_unix, NULL},
		{other_parse_packet, NULL},
		{other_parse_netlink, NULL},
		{other_parse_vsock, NULL},
		{other_parse_inet, (void *)(data[0] & 0x80 ? &mptcp_socket_type : &raw_socket_type)},
		{net_change_parse_message, &changes},
		{translation_parse_message, &all},
		{remembered_parse_message, &remembered},
	};
	size_t which = (data[0] & 0x7f) % ARRAY_SIZE(parsers);

	nl_parse_bytes(snapshot, aligned, size - 1, parsers[which].parse, parsers[which].context);
	check_records(snapshot);
	return 0;
}
