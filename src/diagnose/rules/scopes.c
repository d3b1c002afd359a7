/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which measures a rule may name, by the kind of module it is about. */
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/egress.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/host_counters.h"
#include "diagnose/measure/path_shared.h"
#include "diagnose/measure/remote.h"
#include "diagnose/measure/stall.h"

static const struct module_scope conn_scope = {
	.kind = MODULE_CONN,
	.help = "a TCP connection: its own measures, the use its owner makes of it, its owner, the path, the way "
		"through this host, the host, what it refused while the connection stood still, and who owes whom an "
		"answer",
	.count = 8,
	.types =
		{
			[CONN_PART_OWN] = &conn_measures_type,
			[CONN_PART_USE] = &use_measures_type,
			[CONN_PART_APP] = &app_measures_type,
			[CONN_PART_PATH] = &path_measures_type,
			[CONN_PART_LINK] = &egress_measures_type,
			[CONN_PART_HOST] = &host_measures_type,
			[CONN_PART_STALL] = &stall_measures_type,
			[CONN_PART_EXCHANGE] = &exchange_measures_type,
		},
};
MODULE_SCOPE(conn_scope);

static const struct module_scope listener_scope = {
	.kind = MODULE_LISTENER,
	.help = "a listening socket, the use its owner makes of it, the owner, and the host",
	.count = 4,
	.types =
		{
			[CONN_PART_OWN] = &listener_measures_type,
			[CONN_PART_USE] = &use_measures_type,
			[CONN_PART_APP] = &app_measures_type,
			[ENDPOINT_PART_HOST] = &host_measures_type,
		},
};
MODULE_SCOPE(listener_scope);

static const struct module_scope udp_scope = {
	.kind = MODULE_UDP,
	.help = "a UDP socket, the use its owner makes of it, the owner, and the host",
	.count = 4,
	.types =
		{
			[CONN_PART_OWN] = &udp_measures_type,
			[CONN_PART_USE] = &use_measures_type,
			[CONN_PART_APP] = &app_measures_type,
			[ENDPOINT_PART_HOST] = &host_measures_type,
		},
};
MODULE_SCOPE(udp_scope);

static const struct module_scope host_scope = {
	.kind = MODULE_HOST,
	.help = "the host or namespace as a whole",
	.count = 1,
	.types = {&host_measures_type},
};
MODULE_SCOPE(host_scope);

static const struct module_scope resolver_scope = {
	.kind = MODULE_RESOLVER,
	.help = "a name server, and the host",
	.count = 2,
	.types = {&resolver_measures_type, [REMOTE_PART_HOST] = &host_measures_type},
};
MODULE_SCOPE(resolver_scope);

static const struct module_scope peer_scope = {
	.kind = MODULE_PEER,
	.help = "a service on a remote host, and the host",
	.count = 2,
	.types = {&peer_measures_type, [REMOTE_PART_HOST] = &host_measures_type},
};
MODULE_SCOPE(peer_scope);
