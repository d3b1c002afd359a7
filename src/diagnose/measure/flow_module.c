/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/flow_module.h"

#include "record/net_names.h"

struct module *flow_module_of(struct graph *graph, uint8_t proto, const struct endpoint *from,
			      const struct endpoint *to)
{
	const char *name = enum_name_find(&socket_proto_names, proto);
	_cleanup_buf_ struct buf id = BUF_INIT(256);
	struct flow_measures *m;
	struct module *module;

	if (name)
		buf_add_format(&id, "flow:%s ", name);
	else
		buf_add_format(&id, "flow:%u ", proto);
	addr_format_endpoint(from, &id);
	buf_add_char(&id, '-');
	addr_format_endpoint(to, &id);
	module = graph_module(graph, MODULE_FLOW, buf_text(&id), buf_text(&id) + strlen("flow:"));
	if (module->measures.flow)
		return module;
	m = graph_alloc(graph, sizeof(*m));
	*m = (struct flow_measures){.flow_proto = proto,
				    .flow_source = from->addr,
				    .flow_sport = from->port,
				    .flow_target = to->addr,
				    .flow_dport = to->port};
	module->measures.flow = m;
	module->activity = ACTIVITY_WAITING;
	return module;
}

struct flow_measures *flow_module_measures(struct module *flow)
{
	return (struct flow_measures *)flow->measures.flow;
}

struct module *flow_module_below(struct graph *graph, enum module_kind kind, const char *name)
{
	_cleanup_free_ char *id = xasprintf("%s:%s", module_kind_name(kind), name);

	return graph_module(graph, kind, id, name);
}
