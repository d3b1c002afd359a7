/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket setup (socket, bind, listen): fields and hooks. */
#include <sys/socket.h>

#include "event/core/event.h"
#include "event/sock/sock_setup.h"

static const struct enum_name type_items[] = {
	{SOCK_STREAM, "stream", NULL}, {SOCK_DGRAM, "dgram", NULL},         {SOCK_RAW, "raw", NULL},
	{SOCK_RDM, "rdm", NULL},       {SOCK_SEQPACKET, "seqpacket", NULL}, {SOCK_PACKET, "packet", NULL},
};
static struct enum_names type_names = {.items = type_items, .count = ARRAY_SIZE(type_items)};

static const struct field create_fields[] = {
	FIELD(struct sock_create, type, ENUM, "socket type", .names = &type_names, .zero_is_unknown = true),
	FIELD(struct sock_create, error, ENUM, "error, if the call failed", .names = &errno_names,
	      .zero_is_unknown = true),
	FIELD(struct sock_create, fd, ID, "file descriptor of the new socket", .hidden = true),
};

static const struct event_role create_roles[] = {
	{
		.name = "socket() calls",
		.hooks = {{.programs = {"sock_create_exit"}}, {.programs = {"sock_create_any_exit"}}},
	},
};
EVENT_TYPE(sock_create, "sock.create", struct sock_create, create_fields, create_roles, "socket() call",
	   .current = true);

static const struct enum_name option_items[] = {
	{SOCK_BIND_FREEBIND, "freebind", "IP_FREEBIND: nonlocal address allowed"},
	{SOCK_BIND_TRANSPARENT, "transparent", "IP_TRANSPARENT: foreign address allowed"},
	{SOCK_BIND_NO_PORT, "no_port", "IP_BIND_ADDRESS_NO_PORT: port chosen at connect()"},
	{SOCK_BIND_REUSEADDR, "reuseaddr", "SO_REUSEADDR"},
	{SOCK_BIND_REUSEPORT, "reuseport", "SO_REUSEPORT"},
};
static struct enum_names option_names = {.items = option_items, .count = ARRAY_SIZE(option_items)};

#define B struct sock_bind
static const struct field bind_fields[] = {
	FIELD(B, error, ENUM, "error, if the call failed; the address is then the requested one", .names = &errno_names,
	      .zero_is_unknown = true),
	FIELD(B, options, FLAGS, "socket options that affect bind()", .names = &option_names, .zero_is_unknown = true),
	FIELD(B, ifindex, ID, "index of the interface that the socket is bound to", .zero_is_unknown = true),
	FIELD(B, asked_port, ID, "requested port; 0: any", .hidden = true),
	FIELD(B, path, TEXT, "path of a UNIX socket, first 63 bytes; @: abstract", .hidden = true),
};
#undef B

static const struct event_role bind_roles[] = {
	{
		.name = "bind() calls",
		.hooks = {{.programs = {"sock_bind_exit"}}, {.programs = {"sock_bind_any_exit"}}},
	},
};
EVENT_TYPE(sock_bind, "sock.bind", struct sock_bind, bind_fields, bind_roles, "bind() call", .current = true);

#define L struct sock_listen
static const struct field listen_fields[] = {
	FIELD(L, backlog_max, COUNT, "backlog granted by the kernel: limit of the accept queue"),
	FIELD(L, asked, ID, "backlog argument of listen()"),
	FIELD(L, error, ENUM, "error, if the call failed", .names = &errno_names, .zero_is_unknown = true),
};
#undef L

static const struct event_role listen_roles[] = {
	{
		.name = "listen() calls",
		.hooks = {{.programs = {"sock_listen_exit"}}, {.programs = {"sock_listen_any_exit"}}},
	},
};
EVENT_TYPE(sock_listen, "sock.listen", struct sock_listen, listen_fields, listen_roles,
	   "listen() call: new listener or new backlog", .current = true);
