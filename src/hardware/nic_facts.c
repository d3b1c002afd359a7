/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every setting below an interface that costs throughput or latency: its value, and what to know about it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "hardware/hardware.h"
#include "view/format.h"

static void add_rate(struct buf *text, double bits)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (bits >= units[i].unit) {
			double value = bits / units[i].unit;

			buf_add_format(text, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[i].name);
			return;
		}
	buf_add_format(text, "%.0f bit/s", bits);
}

static bool say_link(const struct nic *nic, struct buf *text)
{
	uint64_t most = nic_value(nic, LINK_PART_LINK, "speed-supported");

	if (nic->speed == UINT64_MAX)
		return false;
	add_rate(text, (double)nic->speed);
	if (nic->duplex[0])
		buf_add_format(text, " %s duplex", nic->duplex);
	if (most != UINT64_MAX) {
		buf_add_text(text, ", supported ");
		add_rate(text, (double)most);
	}
	return true;
}

static void add_pcie(struct buf *text, const struct pcie_link *pcie)
{
	buf_add_format(text, "%.1f GT/s x%u (", pcie->gt, pcie->width);
	add_rate(text, pcie_link_rate(pcie));
	buf_add_char(text, ')');
}

static bool say_pcie(const struct nic *nic, struct buf *text)
{
	if (!nic->pcie.width)
		return false;
	add_pcie(text, &nic->pcie);
	if (nic->pcie_max.width) {
		buf_add_text(text, ", device ");
		add_pcie(text, &nic->pcie_max);
	}
	if (nic->slot_max.width) {
		buf_add_text(text, ", slot ");
		add_pcie(text, &nic->slot_max);
	}
	return true;
}

static bool say_numa(const struct nic *nic, struct buf *text)
{
	if (nic->numa < 0)
		return false;
	buf_add_format(text, "node %d, CPUs ", nic->numa);
	cpu_list_format(&nic->node_cpus, text);
	return true;
}

static bool say_driver(const struct nic *nic, struct buf *text)
{
	const char *version = nic_text(nic, LINK_PART_DRIVER, "version");
	const char *firmware = nic_text(nic, LINK_PART_DRIVER, "firmware");

	if (!nic->driver[0])
		return false;
	buf_add_format(text, "%s%s%s%s%s", nic->driver, version ? " " : "", version ? version : "",
		       firmware ? ", firmware " : "", firmware ? firmware : "");
	return true;
}

static bool say_queues(const struct nic *nic, struct buf *text)
{
	uint64_t most = nic_max(nic, LINK_PART_CHANNEL, "combined");

	if (nic->rx_queues == 0)
		return false;
	buf_add_format(text, "%u rx, %u tx", nic->rx_queues, nic->tx_queues);
	if (most != UINT64_MAX)
		buf_add_format(text, ", at most %" PRIu64, most);
	buf_add_format(text, ", %u CPUs", cpu_list_count(&nic->host->online));
	return true;
}

static bool say_interrupts(const struct nic *nic, struct buf *text)
{
	struct cpu_list cpus = {};

	if (nic->irqs.count == 0)
		return false;
	vec_each(&nic->irqs, irq)
		for (unsigned cpu = 0; cpu < CPU_LIST_MAX; cpu++)
			if (cpu_list_has(&irq->cpus, cpu))
				cpu_list_add(&cpus, cpu);
	format_add_plural(text, nic->irqs.count, "vector");
	buf_add_text(text, " on CPUs ");
	cpu_list_format(&cpus, text);
	buf_add_text(text, nic->host->irqbalance ? ", irqbalance runs" : ", no irqbalance");
	return true;
}

static bool say_rss(const struct nic *nic, struct buf *text)
{
	uint64_t entries = nic_value(nic, LINK_PART_RSS, "entries"), queues = nic_value(nic, LINK_PART_RSS, "queues");

	if (entries == UINT64_MAX || queues == UINT64_MAX)
		return false;
	buf_add_format(text, "%" PRIu64 " entries over %" PRIu64 " of %u queues", entries, queues, nic->rx_queues);
	return true;
}

static bool say_rps(const struct nic *nic, struct buf *text)
{
	if (nic->rx_queues == 0)
		return false;
	if (nic->rps_queues == 0) {
		buf_add_text(text, "off");
		return true;
	}
	buf_add_format(text, "%u of %u queues to CPUs ", nic->rps_queues, nic->rx_queues);
	cpu_list_format(&nic->rps_cpus, text);
	return true;
}

static bool say_rfs(const struct nic *nic, struct buf *text)
{
	if (nic->rx_queues == 0)
		return false;
	if (nic->rfs_entries == 0 || nic->host->flow_entries == 0 || nic->host->flow_entries == UINT64_MAX)
		buf_add_text(text, "off");
	else
		buf_add_format(text, "%" PRIu64 " flow%s, %" PRIu64 " on the host", nic->rfs_entries,
			       text_plural(nic->rfs_entries), nic->host->flow_entries);
	return true;
}

static bool say_xps(const struct nic *nic, struct buf *text)
{
	if (nic->tx_queues == 0)
		return false;
	if (nic->xps_queues)
		buf_add_format(text, "%u of %u queues", nic->xps_queues, nic->tx_queues);
	else
		buf_add_text(text, "off");
	return true;
}

static bool say_rings(const struct nic *nic, struct buf *text)
{
	static const char *const names[] = {"rx", "tx"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t value = nic_value(nic, LINK_PART_RING, names[i]), max = nic_max(nic, LINK_PART_RING, names[i]);

		if (value != UINT64_MAX && max != UINT64_MAX)
			buf_add_format(text, "%s%s %" PRIu64 " of %" PRIu64, text->len ? ", " : "", names[i], value,
				       max);
	}
	return text->len > 0;
}

static bool say_coalescing(const struct nic *nic, struct buf *text)
{
	const char *adaptive = nic_text(nic, LINK_PART_COALESCE, "adaptive-rx");
	uint64_t usecs = nic_value(nic, LINK_PART_COALESCE, "rx-usecs");
	uint64_t frames = nic_value(nic, LINK_PART_COALESCE, "rx-frames");

	if (!adaptive)
		return false;
	buf_add_format(text, "adaptive %s", adaptive);
	if (usecs != UINT64_MAX)
		buf_add_format(text, ", rx %" PRIu64 " us", usecs);
	if (frames != UINT64_MAX)
		buf_add_format(text, ", %" PRIu64 " frame%s", frames, frames == 1 ? "" : "s");
	return true;
}

/* As ethtool -k and as people call them. */
static const struct {
	const char *feature;
	const char *name;
} offloads[] = {
	{"rx-checksum", "rx checksum"},
	{"tx-checksum-ip-generic", "tx checksum"},
	{"tx-tcp-segmentation", "TSO"},
	{"tx-generic-segmentation", "GSO"},
	{"rx-gro", "GRO"},
	{"rx-lro", "LRO"},
	{"rx-gro-hw", "GRO in hardware"},
};

static bool say_offloads(const struct nic *nic, struct buf *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(offloads); i++) {
		const struct link_detail_record *detail = nic_detail(nic, LINK_PART_OFFLOAD, offloads[i].feature);

		if (detail && detail->text)
			buf_add_format(text, "%s%s %s%s", text->len ? ", " : "", offloads[i].name, detail->text,
				       detail->fixed == 1 ? " (fixed)" : "");
	}
	return text->len > 0;
}

static bool say_pause(const struct nic *nic, struct buf *text)
{
	const char *rx = nic_text(nic, LINK_PART_PAUSE, "rx"), *tx = nic_text(nic, LINK_PART_PAUSE, "tx");

	if (!rx || !tx)
		return false;
	buf_add_format(text, "rx %s, tx %s", rx, tx);
	return true;
}

static bool say_fec(const struct nic *nic, struct buf *text)
{
	const char *code = nic_text(nic, LINK_PART_LINK, "fec");

	buf_add_text(text, code ? code : "");
	return code;
}

static bool say_errors(const struct nic *nic, struct buf *text)
{
	static const char *const names[] = {"rx_crc_errors", "rx_missed_errors", "rx_fifo_errors", "tx_carrier_errors"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t count = nic_statistic(nic, names[i]);

		if (count != UINT64_MAX)
			buf_add_format(text, "%s%s %" PRIu64, text->len ? ", " : "", names[i], count);
	}
	if (nic->carrier_changes != UINT64_MAX)
		buf_add_format(text, "%scarrier changes %" PRIu64, text->len ? ", " : "", nic->carrier_changes);
	return text->len > 0;
}

static bool say_temperature(const struct nic *nic, struct buf *text)
{
	if (isnan(nic->temperature))
		return false;
	buf_add_format(text, "%.1f C", nic->temperature);
	if (!isnan(nic->temperature_max))
		buf_add_format(text, ", critical %.1f C", nic->temperature_max);
	return true;
}

static bool say_iommu(const struct nic *nic, struct buf *text)
{
	if (!nic->path[0])
		return false;
	buf_add_text(text, nic->iommu[0] ? nic->iommu : "none");
	return true;
}

static bool say_governor(const struct nic *nic, struct buf *text)
{
	if (!nic->host->governor[0])
		return false;
	buf_add_format(text, "%s (%s)", nic->host->governor, nic->host->frequency_driver);
	return true;
}

static bool say_idle(const struct nic *nic, struct buf *text)
{
	if (nic->host->idle_latency_us == UINT64_MAX)
		return false;
	buf_add_format(text, "%s, %" PRIu64 " us to leave", nic->host->idle_state, nic->host->idle_latency_us);
	return true;
}

static bool say_timestamps(const struct nic *nic, struct buf *text)
{
	const char *rx = nic_text(nic, LINK_PART_TIMESTAMP, "hardware-receive");
	const char *tx = nic_text(nic, LINK_PART_TIMESTAMP, "hardware-transmit");
	uint64_t clock = nic_value(nic, LINK_PART_TIMESTAMP, "clock");

	if (!rx || !tx)
		return false;
	buf_add_format(text, "hardware rx %s, tx %s", rx, tx);
	if (clock != UINT64_MAX)
		buf_add_format(text, ", clock /dev/ptp%" PRIu64, clock);
	return true;
}

static bool say_napi(const struct nic *nic, struct buf *text)
{
	if (nic->flush_timeout_ns == UINT64_MAX)
		return false;
	buf_add_format(text, "gro_flush_timeout %" PRIu64 " ns", nic->flush_timeout_ns);
	if (nic->defer_irqs != UINT64_MAX)
		buf_add_format(text, ", napi_defer_hard_irqs %" PRIu64, nic->defer_irqs);
	if (nic->threaded != UINT64_MAX)
		buf_add_text(text, nic->threaded ? ", threaded" : ", in softirq");
	return true;
}

static const struct {
	const char *fact;
	bool (*say)(const struct nic *nic, struct buf *text);
	const char *usual, *cost, *change;
} facts[] = {
	{"link", say_link, "the fastest mode of both ends, full duplex", "caps throughput",
	 "ethtool -s {dev} autoneg on; check cable, transceiver and switch port"},
	{"pcie", say_pcie, "the device's own speed and width, above the line rate",
	 "the card cannot empty its buffer: rx_missed_errors at high rates",
	 "move the card to a wider slot; reseat it"},
	{"numa", say_numa, "interrupts and applications on the CPUs of the node",
	 "every packet crosses to the other node", "numactl -N NODE, /proc/irq/N/smp_affinity_list"},
	{"driver", say_driver, NULL, NULL, "ethtool -i {dev}"},
	{"queues", say_queues, "one per CPU that receives packets, up to the CPUs of the node",
	 "one CPU per receive queue does all the work", "ethtool -L {dev} combined {channels}"},
	{"interrupts", say_interrupts, "one CPU per queue, each its own",
	 "softirq on one CPU is the limit, others are idle", "irqbalance, or echo CPU >/proc/irq/N/smp_affinity_list"},
	{"rss", say_rss, "all receive queues in equal shares", "queues that get no packets",
	 "ethtool -X {dev} equal {rx_queues}"},
	{"rps", say_rps, "off where there are as many queues as CPUs, else on",
	 "off: one CPU receives all packets of a queue; on: one more IPI and cache miss per packet",
	 "echo {mask} >/sys/class/net/{dev}/queues/rx-0/rps_cpus"},
	{"rfs", say_rfs, "off; on where readers must run on the CPU of their packets",
	 "cache misses between softirq and reader", "sysctl net.core.rps_sock_flow_entries, queues/rx-N/rps_flow_cnt"},
	{"xps", say_xps, "one transmit queue per CPU, set by most drivers", "CPUs contend for the lock of a queue",
	 "echo MASK >/sys/class/net/{dev}/queues/tx-0/xps_cpus"},
	{"rings", say_rings, "the driver's default; more where rx_missed_errors grows",
	 "small: drops in bursts; large: buffers fall out of the cache", "ethtool -G {dev} rx N tx N"},
	{"coalescing", say_coalescing, "adaptive, or 3 to 100 us", "much: latency; none: an interrupt per packet",
	 "ethtool -C {dev} adaptive-rx on, or rx-usecs N"},
	{"offloads", say_offloads, "checksums, TSO, GSO and GRO on; LRO off on routers and bridges",
	 "off: the CPU works per packet instead of per 64 KB", "ethtool -K {dev} gro on tso on"},
	{"pause", say_pause, "off on servers with deep switches, on where the switch requires it",
	 "a slow receiver stops the whole link", "ethtool -A {dev} rx off tx off"},
	{"fec", say_fec, "the same code at both ends: RS from 25 Gbit/s on", "none: corrupt frames; two codes: no link",
	 "ethtool --set-fec {dev} encoding auto"},
	{"errors", say_errors, "0", "each one is a lost packet", "nest links -i {dev} 1; ethtool -S {dev}"},
	{"temperature", say_temperature, "below 80 C", "throttling, link loss", "airflow"},
	{"iommu", say_iommu, "none, identity or DMA-FQ for fast cards", "DMA (strict): a flush per buffer",
	 "iommu.strict=0 or iommu=pt on the kernel's command line"},
	{"governor", say_governor, "performance on latency-bound hosts", "slow clock at the start of every burst",
	 "cpupower frequency-set -g performance"},
	{"c-states", say_idle, "below 50 us on latency-bound hosts", "that long for the first packet after a pause",
	 "cpupower idle-set -D 50, or /dev/cpu_dma_latency"},
	{"timestamps", say_timestamps, "hardware where PTP or precise captures are needed", "jitter of the interrupt",
	 "another card"},
	{"napi", say_napi, "0 and 0, in softirq", "large: latency; busy hosts gain from 20 us and 2",
	 "echo N >/sys/class/net/{dev}/gro_flush_timeout"},
};

void hardware_add_facts(struct hardware *hardware, const struct nic *nic)
{
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		_cleanup_buf_ struct buf value = BUF_INIT(8192), change = BUF_INIT(1024);
		bool known = facts[i].say(nic, &value);

		hardware_fill(nic, facts[i].change, &change);
		vec_push(&hardware->facts,
			 (struct hardware_fact){.fact = facts[i].fact,
						.value = known ? hardware_keep(hardware, buf_text(&value)) : NULL,
						.usual = facts[i].usual,
						.cost = facts[i].cost,
						.change = hardware_keep(hardware, buf_text(&change))});
	}
}
