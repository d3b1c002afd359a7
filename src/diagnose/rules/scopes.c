/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which measures a rule may name, by the kind of module it is about. */
#include "diagnose/measure/acquaintance.h"
#include "diagnose/measure/against_usual.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/attempted.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/datagram_service.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/egress.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/far_end.h"
#include "diagnose/measure/forwarding.h"
#include "diagnose/measure/half_open.h"
#include "diagnose/measure/hole.h"
#include "diagnose/measure/host_counters.h"
#include "diagnose/measure/interruption.h"
#include "diagnose/measure/nameserver.h"
#include "diagnose/measure/path_shared.h"
#include "diagnose/measure/refusal.h"
#include "diagnose/measure/retransmission.h"
#include "diagnose/measure/spell.h"
#include "diagnose/measure/stall.h"

static const struct module_scope host_scope = {.kind = MODULE_HOST, .parts = {MODULE_PART(host)}};
MODULE_SCOPE(host_scope);

static const struct module_scope app_scope = {.kind = MODULE_APP, .parts = {MODULE_PART(app)}};
MODULE_SCOPE(app_scope);

static const struct module_scope conn_scope = {
	.kind = MODULE_CONN,
	.parts = {MODULE_PART(conn), MODULE_PART(use), MODULE_PART(app), MODULE_PART(path), MODULE_PART(egress),
		  MODULE_PART(host), MODULE_PART(stall), MODULE_PART(exchange), MODULE_PART(dropped),
		  MODULE_PART(interruption), MODULE_PART(retransmission), MODULE_PART(spell), MODULE_PART(hole),
		  MODULE_PART(usual), MODULE_PART(far_end), MODULE_PART(acquaintance)}};
MODULE_SCOPE(conn_scope);

static const struct module_scope udp_scope = {.kind = MODULE_UDP,
					      .parts = {MODULE_PART(udp), MODULE_PART(use), MODULE_PART(app),
							MODULE_PART(host), MODULE_PART(dropped),
							MODULE_PART(datagram)}};
MODULE_SCOPE(udp_scope);

static const struct module_scope listener_scope = {.kind = MODULE_LISTENER,
						   .parts = {MODULE_PART(listener), MODULE_PART(half_open),
							     MODULE_PART(use), MODULE_PART(app), MODULE_PART(host),
							     MODULE_PART(dropped)}};
MODULE_SCOPE(listener_scope);

static const struct module_scope flow_scope = {.kind = MODULE_FLOW,
					       .parts = {MODULE_PART(flow), MODULE_PART(dropped),
							 MODULE_PART(forwarding), MODULE_PART(host),
							 MODULE_PART(acquaintance)}};
MODULE_SCOPE(flow_scope);

static const struct module_scope peer_scope = {.kind = MODULE_PEER,
					       .parts = {MODULE_PART(peer), MODULE_PART(attempted),
							 MODULE_PART(datagram), MODULE_PART(host),
							 MODULE_PART(acquaintance)}};
MODULE_SCOPE(peer_scope);

static const struct module_scope resolver_scope = {
	.kind = MODULE_RESOLVER, .parts = {MODULE_PART(resolver), MODULE_PART(host), MODULE_PART(dropped)}};
MODULE_SCOPE(resolver_scope);
