/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What below the stack limits it: measures with their figures, and whole diagnoses on snapshots made by hand. */
#include "diagnose/measure/egress.h"
#include "diagnose/measure/host_counters.h"
#include "scene.h"

#define CPUS 4

/* One second of a host with four CPUs. */
struct cpus {
	uint64_t dropped[2][CPUS];    /* by the backlogs, before and after */
	uint64_t softirq_ns[2][CPUS]; /* of 10 s each */
	uint32_t first;               /* CPU number */
};

static void fill_cpus(struct snapshot *snapshot, const struct cpus *cpus, unsigned sample)
{
	struct link_record link;

	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = (uint64_t)(sample + 1) * NSEC_PER_SEC;
	blank(&link_type, &link);
	link.rx_dropped = sample * 1000;
	put(snapshot, &link_type, &link);
	for (uint32_t i = 0; i < CPUS; i++) {
		uint64_t softirq_ns = cpus->softirq_ns[sample][i];
		struct softnet_record softnet;
		struct cpu_record cpu = {.cpu = cpus->first + i,
					 .softirq_ns = softirq_ns,
					 .idle_ns = 10 * NSEC_PER_SEC * (sample + 1) - softirq_ns};

		blank(&softnet_type, &softnet);
		softnet.cpu = cpus->first + i;
		softnet.dropped = cpus->dropped[sample][i];
		put(snapshot, &softnet_type, &softnet);
		put(snapshot, &cpu_type, &cpu);
	}
}

static struct host_measures measure_host(const struct cpus *cpus)
{
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_(graph_freep) struct graph *graph = NULL;
	const struct module *host;

	for (unsigned sample = 0; sample < 2; sample++) {
		fill_cpus(snapshot, cpus, sample);
		window_add(window, snapshot);
	}
	graph = window_finish(window);
	host = graph_find(graph, "host");
	REQUIRE(host && host->measures.host);
	return *(const struct host_measures *)host->measures.host;
}

TEST(the_share_of_one_backlog)
{
	struct host_measures m =
		measure_host(&(struct cpus){.dropped = {{10, 20, 30, 40}, {10, 20, 120, 50}}, .first = 4});

	CHECK_EQ_UINT(m.softnet_dropped, 100);
	CHECK_EQ_UINT(m.softnet_cpu, 6);
	CHECK_NEAR(m.softnet_cpu_share, 0.9, 1e-9);
	CHECK_EQ_UINT(m.softnet_cpus, 4);
}

TEST(equal_backlogs_share_equally)
{
	struct host_measures m = measure_host(&(struct cpus){.dropped = {{0, 0, 0, 0}, {25, 25, 25, 25}}});

	CHECK_EQ_UINT(m.softnet_cpu, 0);
	CHECK_NEAR(m.softnet_cpu_share, 0.25, 1e-9);
}

TEST(no_drop_has_no_share)
{
	struct host_measures m = measure_host(&(struct cpus){.dropped = {{7, 7, 7, 7}, {7, 7, 7, 7}}});

	CHECK_EQ_UINT(m.softnet_dropped, 0);
	CHECK(isnan(m.softnet_cpu_share));
	CHECK_EQ_UINT(m.softnet_cpu, UINT32_MAX);
}

/* A CPU whose counter was not known before does not count; neither does one beyond those that are looked at. */
TEST(what_is_unknown_of_a_cpu_stays_unknown)
{
	struct host_measures m = measure_host(&(struct cpus){.dropped = {{UINT64_MAX, 0, 0, 0}, {1000, 30, 10, 0}}});

	CHECK_EQ_UINT(m.softnet_cpu, 1);
	CHECK_NEAR(m.softnet_cpu_share, 0.75, 1e-9);
	m = measure_host(&(struct cpus){.dropped = {{0, 0, 0, 0}, {9, 9, 9, 9}}, .first = 1000});
	CHECK(isnan(m.softnet_cpu_share));
}

TEST(the_cpu_that_is_busy_with_softirqs)
{
	struct host_measures m = measure_host(&(struct cpus){
		.softirq_ns = {{0, NSEC_PER_SEC, 0, 0}, {NSEC_PER_SEC, 10 * NSEC_PER_SEC, NSEC_PER_SEC, 0}}});

	CHECK_EQ_UINT(m.softirq_cpu, 1);
	CHECK_NEAR(m.softirq_cpu_share, 0.9, 1e-9);
	CHECK_NEAR(m.softirq_rest_share, 2.0 / 30, 1e-9);
}

/* --- the interface --- */

static struct egress_measures measure_egress(scene_fn *step)
{
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_(graph_freep) struct graph *graph = NULL;
	struct scene scene;

	scene_begin(&scene);
	for (unsigned sample = 0; sample < 6; sample++) {
		step(&scene, sample);
		fill(snapshot, &scene, sample);
		window_add(window, snapshot);
	}
	graph = window_finish(window);
	vec_each(&graph->modules, module)
		if ((*module)->kind == MODULE_CONN)
			return *(const struct egress_measures *)(*module)->measures.egress;
	REQUIRE(false);
	return (struct egress_measures){};
}

/* 950 Mbit/s out and 100 in, on a card that could do 10 Gbit/s, behind a bus of 2 Gbit/s. */
static void busy_link(struct scene *s, unsigned sample)
{
	send_well(s);
	s->link.speed = 1000000000;
	s->link.speed_max = 10000000000;
	s->link.bus_rate = 2000000000;
	s->link.tx_bytes = UINT64_C(23750000) * sample;
	s->link.rx_bytes = UINT64_C(2500000) * sample;
	s->link.rx_missed_errors = 4 * sample;
	s->link.rx_fifo_errors = 4 * sample;
}

static void busy_virtual_link(struct scene *s, unsigned sample)
{
	busy_link(s, sample);
	memcpy(s->link.kind, "veth", 5);
}

TEST(figures_of_the_hardware)
{
	struct egress_measures m = measure_egress(busy_link);

	CHECK_EQ_UINT(m.link_rx_missed, 20);
	CHECK_EQ_UINT(m.link_speed, 125000000);
	CHECK_EQ_UINT(m.link_speed_max, 1250000000);
	CHECK_EQ_UINT(m.link_bus_rate, 250000000);
	CHECK_NEAR(m.link_tx_use, 0.95, 1e-6);
	CHECK_NEAR(m.link_rx_use, 0.1, 1e-6);
	CHECK_NEAR(m.link_tx_bus_use, 0.475, 1e-6);
	CHECK_NEAR(m.link_rx_bus_use, 0.05, 1e-6);
}

TEST(virtual_interfaces_have_no_hardware)
{
	struct egress_measures m = measure_egress(busy_virtual_link);

	CHECK_EQ_UINT(m.link_rx_missed, UINT64_MAX);
	CHECK_EQ_UINT(m.link_speed, UINT64_MAX);
	CHECK(isnan(m.link_tx_use));
	CHECK(isnan(m.link_tx_bus_use));
}

/* --- diagnoses --- */

/* Loss while the receive ring overflows, and with an overflow of long ago. */
static void full_ring(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.bytes_retrans += 8688;
	s->link.rx_missed_errors = 5 * sample;
}

static void full_ring_long_ago(struct scene *s, unsigned sample)
{
	full_ring(s, sample);
	s->link.rx_missed_errors = 1000000;
}

/* Packets that are missed while nothing waits for them. */
static void full_ring_without_loss(struct scene *s, unsigned sample)
{
	send_well(s);
	s->link.rx_missed_errors = 5 * sample;
}

/* The CPU that should empty it does nothing else, or is half idle. */
static void ring_of_busy_cpu(struct scene *s, unsigned sample)
{
	full_ring(s, sample);
	s->has_cpu = true;
	s->cpu.softirq_ns += 190000000;
	s->cpu.idle_ns += 10000000;
}

static void ring_of_idle_cpu(struct scene *s, unsigned sample)
{
	full_ring(s, sample);
	s->has_cpu = true;
	s->cpu.softirq_ns += 100000000;
	s->cpu.idle_ns += 100000000;
}

TEST(a_receive_ring_that_overflows)
{
	CHECK_EQ_TEXT(diagnose(ring_of_busy_cpu), "softirq-overload");
	CHECK_EQ_TEXT(diagnose(ring_of_idle_cpu), "interface-errors");
	CHECK_EQ_TEXT(diagnose(full_ring), "interface-errors");
	CHECK_EQ_TEXT(diagnose(full_ring_long_ago), "path-loss");
	CHECK_EQ_TEXT(diagnose(full_ring_without_loss), "");
}

/* A link at a tenth of its speed, full, and nothing waits: it does what it can. */
static void slow_link(struct scene *s, unsigned sample)
{
	send_well(s);
	s->link.speed = 100000000;
	s->link.speed_max = 1000000000;
	s->link.bus_rate = 90000000;
	s->link.tx_bytes = UINT64_C(2400000) * sample;
	s->link.rx_bytes = UINT64_C(2400000) * sample;
}

TEST(a_slow_link_is_no_fault)
{
	CHECK_EQ_TEXT(diagnose(slow_link), "");
}
