/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How sockets come about: fields and hooks. */
#include <sys/socket.h>

#include "event/core/event.h"
#include "event/sock/sock_setup.h"

static const struct enum_name type_items[] = {
	{SOCK_STREAM, "stream", NULL}, {SOCK_DGRAM, "dgram", NULL},         {SOCK_RAW, "raw", NULL},
	{SOCK_RDM, "rdm", NULL},       {SOCK_SEQPACKET, "seqpacket", NULL}, {SOCK_PACKET, "packet", NULL},
};
static struct enum_names type_names = {.items = type_items, .count = ARRAY_SIZE(type_items)};

static const struct field create_fields[] = {
	FIELD(struct sock_create, type, ENUM, "kind of socket", .names = &type_names, .zero_is_unknown = true),
	FIELD(struct sock_create, error, ENUM, "why there is none", .names = &errno_names, .zero_is_unknown = true),
	FIELD(struct sock_create, fd, ID, "descriptor of the new socket", .hidden = true),
};

static const struct event_role create_roles[] = {
	{
		.name = "calls of socket",
		.hooks = {{.programs = {"sock_create_exit"}}, {.programs = {"sock_create_any_exit"}}},
	},
};
EVENT_TYPE(sock_create, "sock.create", struct sock_create, create_fields, create_roles,
	   "an application asked for a socket", .current = true);

static const struct enum_name option_items[] = {
	{SOCK_BIND_FREEBIND, "freebind", "IP_FREEBIND: an address that this host does not have"},
	{SOCK_BIND_TRANSPARENT, "transparent", "IP_TRANSPARENT: an address of somebody else"},
	{SOCK_BIND_NO_PORT, "no_port", "IP_BIND_ADDRESS_NO_PORT: the port is chosen when it connects"},
	{SOCK_BIND_REUSEADDR, "reuseaddr", "SO_REUSEADDR"},
	{SOCK_BIND_REUSEPORT, "reuseport", "SO_REUSEPORT"},
};
static struct enum_names option_names = {.items = option_items, .count = ARRAY_SIZE(option_items)};

#define B struct sock_bind
static const struct field bind_fields[] = {
	FIELD(B, error, ENUM, "why it failed; the address is then the one that was asked for", .names = &errno_names,
	      .zero_is_unknown = true),
	FIELD(B, options, FLAGS, "options of the socket that matter for binding", .names = &option_names,
	      .zero_is_unknown = true),
	FIELD(B, ifindex, ID, "number of the interface that the socket is bound to", .zero_is_unknown = true),
	FIELD(B, asked_port, ID, "port that was asked for; 0: any", .hidden = true),
	FIELD(B, path, TEXT, "address of a UNIX socket, the first 63 bytes; @: abstract", .hidden = true),
};
#undef B

static const struct event_role bind_roles[] = {
	{
		.name = "calls of bind",
		.hooks = {{.programs = {"sock_bind_exit"}}, {.programs = {"sock_bind_any_exit"}}},
	},
};
EVENT_TYPE(sock_bind, "sock.bind", struct sock_bind, bind_fields, bind_roles, "an application gave a socket an address",
	   .current = true);

#define L struct sock_listen
static const struct field listen_fields[] = {
	FIELD(L, backlog_max, COUNT, "connections that may wait to be accepted, as the kernel grants it"),
	FIELD(L, asked, ID, "the same as it was asked for"),
	FIELD(L, error, ENUM, "why it failed", .names = &errno_names, .zero_is_unknown = true),
};
#undef L

static const struct event_role listen_roles[] = {
	{
		.name = "calls of listen",
		.hooks = {{.programs = {"sock_listen_exit"}}, {.programs = {"sock_listen_any_exit"}}},
	},
};
EVENT_TYPE(sock_listen, "sock.listen", struct sock_listen, listen_fields, listen_roles,
	   "an application waits for connections, or changed how many may wait", .current = true);
