/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/infer/selection.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/endpoint.h"
#include "snapshot/proc/cgroup_path.h"

bool selection_is_empty(const struct selection *s)
{
	return s->pid == 0 && !s->cgroup && !s->dev && s->ports.count == 0;
}

static bool has_ports(const struct selection *s, uint16_t local, uint16_t remote)
{
	for (size_t i = 0; i < s->ports.count; i++)
		if (s->ports.items[i] == local || s->ports.items[i] == remote)
			return true;
	return s->ports.count == 0;
}

/* Nothing but a socket has one. */
static bool has_port(const struct selection *s, const struct module *module)
{
	const struct module_measures *m = &module->measures;

	if (m->conn)
		return has_ports(s, m->conn->lport, m->conn->rport);
	if (m->udp)
		return has_ports(s, m->udp->lport, m->udp->rport);
	if (m->flow)
		return has_ports(s, m->flow->flow_sport, m->flow->flow_dport);
	return m->listener && has_ports(s, m->listener->lport, 0);
}

static bool is_chosen(const struct selection *s, const struct module *module)
{
	const struct module *app = module->related[MODULE_APP], *link = module->related[MODULE_LINK];
	const struct app_measures *owner = app ? app->measures.app : NULL;

	if (s->pid && !(owner && owner->pid == s->pid))
		return false;
	if (s->cgroup && !(owner && cgroup_path_is_below(owner->cgroup, s->cgroup)))
		return false;
	/* An interface is one of the host, whatever its containers call theirs. */
	if (s->dev && !(link && !link->place && strcmp(link->name, s->dev) == 0))
		return false;
	return has_port(s, module);
}

static void show_related(struct module *module)
{
	for (unsigned kind = 0; kind < MODULE_KINDS; kind++)
		if (module->related[kind])
			module->related[kind]->hidden = false;
}

void selection_apply(struct graph *graph, const struct selection *selection)
{
	vec_each(&graph->modules, module)
		(*module)->hidden = true;
	vec_each(&graph->modules, module) {
		if (!is_chosen(selection, *module))
			continue;
		show_related(*module);
		/* Who waits for a program of this host depends on that one. */
		if ((*module)->other_end)
			show_related((*module)->other_end);
	}
}
