/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs and memory as modules: applications and cgroups depend on the CPUs, sockets on the memory. They
 * are the same for all, so they stand at the end of every chain.
 */
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/surroundings.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/pressure.h"

static const struct field cpu_fields[] = {
	FIELD(struct cpu_measures, cpus, COUNT, "number of CPUs"),
	FIELD(struct cpu_measures, cpu_busy_share, RATIO, "share of the time in which they were busy", .unit = "%"),
	FIELD(struct cpu_measures, cpu_softirq_max_share, RATIO,
	      "share of the time that the busiest one spent in softirqs, mostly the network's", .unit = "%"),
	FIELD(struct cpu_measures, cpu_steal_share, RATIO, "steal time: share given to other guests by the hypervisor",
	      .unit = "%"),
	FIELD(struct cpu_measures, cpu_pressure_share, RATIO,
	      "share of the time in which some task waited for a CPU (PSI)", .unit = "%"),
};
RECORD_TYPE(cpu_measures_type, "measure.cpu", struct cpu_measures, cpu_fields, "measures of the CPUs in a window");

static const struct field memory_fields[] = {
	FIELD(struct memory_measures, memory_pressure_share, RATIO,
	      "share of the time in which some task waited for memory (PSI)", .unit = "%"),
	FIELD(struct memory_measures, memory_tcp_bytes, BYTES, "memory that TCP sockets hold"),
	FIELD(struct memory_measures, memory_tcp_max_bytes, BYTES, "limit of that memory (net.ipv4.tcp_mem)"),
	FIELD(struct memory_measures, memory_tcp_share, RATIO, "share of that limit in use", .unit = "%"),
};
RECORD_TYPE(memory_measures_type, "measure.memory", struct memory_measures, memory_fields,
	    "measures of the memory in a window");

static const struct module_scope cpu_scope = {.kind = MODULE_CPU, .parts = {MODULE_PART(cpu)}};
MODULE_SCOPE(cpu_scope);
static const struct module_scope memory_scope = {.kind = MODULE_MEMORY, .parts = {MODULE_PART(memory)}};
MODULE_SCOPE(memory_scope);

/* --- collecting --- */

struct times {
	uint64_t busy, softirq, steal, all;
};

struct figures {
	struct times sum;
	VEC(struct times) each; /* one per CPU */
	uint64_t cpu_wait_ns, memory_wait_ns;
	uint64_t boot_ns;
};

struct state {
	bool has_base;
	struct figures base, last;
	struct memory_record memory;
	bool has_memory;
};

static struct times times_of(const struct cpu_record *c)
{
	uint64_t busy = c->user_ns + c->nice_ns + c->system_ns + c->irq_ns + c->softirq_ns;

	return (struct times){.busy = busy,
			      .softirq = c->softirq_ns,
			      .steal = c->steal_ns,
			      .all = busy + c->steal_ns + c->idle_ns + c->iowait_ns};
}

static void gather(const struct snapshot *snapshot, struct figures *f)
{
	f->each.count = 0;
	f->sum = (struct times){};
	f->cpu_wait_ns = f->memory_wait_ns = UINT64_MAX;
	f->boot_ns = snapshot->begin_boot_ns;
	snapshot_each(snapshot, cpu_type, const struct cpu_record, c) {
		struct times t = times_of(c);

		vec_push(&f->each, t);
		f->sum.busy += t.busy;
		f->sum.steal += t.steal;
		f->sum.all += t.all;
	}
	snapshot_each(snapshot, pressure_type, const struct pressure_record, p) {
		if (p->full)
			continue;
		if (strcmp(p->resource, "cpu") == 0)
			f->cpu_wait_ns = p->total_ns;
		else if (strcmp(p->resource, "memory") == 0)
			f->memory_wait_ns = p->total_ns;
	}
}

static void copy_figures(struct figures *to, const struct figures *from)
{
	to->sum = from->sum;
	to->cpu_wait_ns = from->cpu_wait_ns;
	to->memory_wait_ns = from->memory_wait_ns;
	to->boot_ns = from->boot_ns;
	to->each.count = 0;
	vec_each(&from->each, t)
		vec_push(&to->each, *t);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	if (window->samples == 1 && state->has_base)
		copy_figures(&state->base, &state->last);
	gather(snapshot, &state->last);
	if (!state->has_base)
		copy_figures(&state->base, &state->last);
	state->has_base = true;
	state->has_memory = false;
	snapshot_each(snapshot, memory_type, const struct memory_record, memory) {
		state->memory = *memory;
		state->has_memory = true;
	}
}

/* --- measures --- */

static double share(uint64_t before, uint64_t after, uint64_t whole)
{
	uint64_t moved = delta_between(before, after);

	return moved == UINT64_MAX || whole == 0 || whole == UINT64_MAX ? NAN : fmin(1, (double)moved / (double)whole);
}

static const struct cpu_measures *measure_cpu(const struct state *state, struct graph *graph)
{
	const struct figures *a = &state->base, *b = &state->last;
	struct cpu_measures *m = graph_alloc(graph, sizeof(*m));
	uint64_t all = delta_between(a->sum.all, b->sum.all);

	m->cpus = b->each.count ? b->each.count : UINT64_MAX;
	m->cpu_busy_share = share(a->sum.busy, b->sum.busy, all);
	m->cpu_steal_share = share(a->sum.steal, b->sum.steal, all);
	m->cpu_pressure_share = share(a->cpu_wait_ns, b->cpu_wait_ns, b->boot_ns - a->boot_ns);
	m->cpu_softirq_max_share = NAN;
	/* A CPU that went online or offline changes the set of rows. */
	for (size_t i = 0; a->each.count == b->each.count && i < b->each.count; i++) {
		const struct times *x = &a->each.items[i], *y = &b->each.items[i];

		m->cpu_softirq_max_share =
			fmax(m->cpu_softirq_max_share, share(x->softirq, y->softirq, delta_between(x->all, y->all)));
	}
	return m;
}

static const struct memory_measures *measure_memory(const struct state *state, struct graph *graph)
{
	const struct figures *a = &state->base, *b = &state->last;
	struct memory_measures *m = graph_alloc(graph, sizeof(*m));

	m->memory_pressure_share = share(a->memory_wait_ns, b->memory_wait_ns, b->boot_ns - a->boot_ns);
	m->memory_tcp_bytes = state->has_memory ? state->memory.tcp_bytes : UINT64_MAX;
	m->memory_tcp_max_bytes = state->has_memory ? state->memory.tcp_max_bytes : UINT64_MAX;
	m->memory_tcp_share = m->memory_tcp_bytes == UINT64_MAX || m->memory_tcp_max_bytes == UINT64_MAX ||
					      m->memory_tcp_max_bytes == 0
				      ? NAN
				      : (double)m->memory_tcp_bytes / (double)m->memory_tcp_max_bytes;
	return m;
}

static void join(struct module *module, struct module *cpu, struct module *memory)
{
	if (module->kind == MODULE_APP || module->kind == MODULE_CGROUP) {
		graph_add_edge(module, cpu);
		module->related[MODULE_CPU] = cpu;
	}
	if (module_is_socket(module)) {
		graph_add_edge(module, memory);
		module->related[MODULE_CPU] = cpu;
	}
	if (module_is_socket(module) || module->kind == MODULE_APP)
		module->related[MODULE_MEMORY] = memory;
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	const struct state *state = data;
	const struct cpu_measures *cpu_measures = measure_cpu(state, graph);
	struct module *cpu, *memory;

	cpu = graph_module(graph, MODULE_CPU, "cpu", "all");
	memory = graph_module(graph, MODULE_MEMORY, "memory", "of all sockets");
	cpu->measures.cpu = cpu_measures;
	memory->measures.memory = measure_memory(state, graph);
	if (cpu_measures->cpu_busy_share > 0)
		cpu->activity = ACTIVITY_ACTIVE;
	for (size_t i = 0, count = graph->modules.count; i < count; i++)
		join(graph->modules.items[i], cpu, memory);
}

static void release(void *data)
{
	struct state *state = data;

	vec_done(&state->base.each);
	vec_done(&state->last.each);
}

static const struct measurer surroundings_measurer = {
	.name = "surroundings",
	.stage = MEASURE_HOST,
	.needs = MEASURER_NEEDS(&cpu_type, &pressure_type, &memory_type),
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(surroundings_measurer);
