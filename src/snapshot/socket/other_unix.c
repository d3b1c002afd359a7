/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UNIX sockets: UNIX_DIAG, or /proc/net/unix. */
#include <errno.h>
#include <linux/net.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/map.h"
#include "snapshot/core/scan.h"
#include "snapshot/socket/other.h"

/* An abstract name begins with a zero byte, as ss and /proc write it: @. */
static const char *name_of(struct snapshot *snapshot, const struct nlattr *attr)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path)];
	size_t n = nl_get_bytes(attr, name, sizeof(name));

	if (n == 0)
		return NULL;
	if (name[0] != '\0')
		return snapshot_text(snapshot, name, strnlen(name, n));
	for (size_t i = 0; i < n; i++)
		if (name[i] == '\0')
			name[i] = '@';
	return snapshot_text(snapshot, name, n);
}

void other_parse_unix(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct unix_diag_msg *msg = nl_payload(message);
	const struct nlattr *attrs[UNIX_DIAG_MAX + 1];
	struct other_socket_record *socket;
	struct unix_diag_rqlen queues;

	(void)context;
	if (nl_payload_len(message) < sizeof(*msg) || msg->udiag_family != AF_UNIX)
		return;
	socket = other_add(snapshot, &unix_socket_type, FAMILY_OTHER(AF_UNIX));
	if (!socket)
		return;
	nl_attrs(message, sizeof(*msg), attrs, UNIX_DIAG_MAX);
	socket->type = msg->udiag_type;
	socket->state = msg->udiag_state;
	socket->inode = msg->udiag_ino;
	socket->cookie = other_cookie(msg->udiag_cookie);
	socket->local = name_of(snapshot, attrs[UNIX_DIAG_NAME]);
	nl_get_u32(attrs[UNIX_DIAG_PEER], &socket->peer_inode);
	nl_get_u32(attrs[UNIX_DIAG_UID], &socket->uid);
	nl_get_u8(attrs[UNIX_DIAG_SHUTDOWN], &socket->shutdown);
	if (nl_get_bytes(attrs[UNIX_DIAG_RQLEN], &queues, sizeof(queues)) == sizeof(queues))
		other_set_queues(socket, queues.udiag_rqueue, queues.udiag_wqueue);
	other_set_memory(socket, attrs[UNIX_DIAG_MEMINFO]);
}

/* /proc has states of its own. */
static uint8_t state_of(uint64_t state, uint64_t flags)
{
	if (flags & __SO_ACCEPTCON)
		return SOCKET_LISTEN;
	switch (state) {
	case SS_CONNECTED:
		return SOCKET_ESTABLISHED;
	case SS_CONNECTING:
		return SOCKET_SYN_SENT;
	case SS_DISCONNECTING:
		return SOCKET_CLOSING;
	default:
		return SOCKET_CLOSE;
	}
}

/* "Num RefCount Protocol Flags Type St Inode Path" */
void other_text_unix(struct snapshot *snapshot, const char *text)
{
	while (scan_next_line(&text)) {
		uint64_t flags, type, state, inode;
		struct other_socket_record *socket;

		if (!scan_skip(&text, 3) || !scan_hex(&text, &flags) || !scan_hex(&text, &type) ||
		    !scan_hex(&text, &state) || !scan_u64(&text, &inode))
			continue;
		socket = other_add(snapshot, &unix_socket_type, FAMILY_OTHER(AF_UNIX));
		if (!socket)
			return;
		socket->type = (uint8_t)type;
		socket->state = state_of(state, flags);
		socket->inode = (uint32_t)inode;
		/* The rest of the line, blanks and all. */
		if (*text == ' ' && strcspn(++text, "\n") > 0)
			socket->local = snapshot_text(snapshot, text, strcspn(text, "\n"));
	}
}

/* The peer of each socket that has one, by its inode; a peer's name is the address that was connected to. */
static void join_peers(struct snapshot *snapshot, size_t from)
{
	struct map by_inode = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 0);
	const struct snapshot_table *table = snapshot_table(snapshot, &unix_socket_type);
	struct other_socket_record *sockets = (struct other_socket_record *)table->items;

	for (size_t i = from; i < table->count; i++)
		if (sockets[i].inode)
			*(uint32_t *)map_put(&by_inode, &sockets[i].inode, NULL) = (uint32_t)i;
	for (size_t i = from; i < table->count; i++) {
		const uint32_t *peer = map_get(&by_inode, &sockets[i].peer_inode);

		if (!peer)
			continue;
		sockets[i].peer = *peer;
		sockets[i].remote = sockets[*peer].local;
	}
	map_done(&by_inode);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_show =
			UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | UDIAG_SHOW_MEMINFO | UDIAG_SHOW_UID,
	};
	struct other_question question = {
		.request = &req, .size = sizeof(req), .parse = other_parse_unix, .config = "CONFIG_UNIX_DIAG"};
	size_t from = snapshot_table(snapshot, &unix_socket_type)->count;
	int r = other_ask(snapshot, &question, why);

	(void)request;
	if (r == -ENOENT)
		return other_read(snapshot, "/proc/thread-self/net/unix", other_text_unix,
				  "queues, peers and users of UNIX sockets", why);
	join_peers(snapshot, from);
	return r;
}

static const struct record_type *const types[] = {&unix_socket_type, NULL};

static const struct snapshot_source unix_source = {
	.name = "unix_diag",
	.lost = "UNIX sockets",
	.types = types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(unix_source);
