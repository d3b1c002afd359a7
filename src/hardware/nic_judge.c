/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What limits an interface: each judgement is a condition over what was read, with the figures that made it true. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "hardware/hardware.h"
#include "view/format.h"

#define GBIT 1e9

/* Below, shares of interrupts say nothing. */
#define INTERRUPTS_MIN 10000

static bool is_negotiated_down(const struct nic *nic, struct buf *because)
{
	uint64_t most = nic_value(nic, LINK_PART_LINK, "speed-supported");
	uint64_t partner = nic_value(nic, LINK_PART_LINK, "speed-partner");

	if (nic->speed == UINT64_MAX || most == UINT64_MAX || nic->speed >= most)
		return false;
	buf_add_format(because, "the link runs at %" PRIu64 " Mbit/s, the device supports %" PRIu64,
		       nic->speed / 1000000, most / 1000000);
	if (partner != UINT64_MAX)
		buf_add_format(because, ", the other end advertises %" PRIu64, partner / 1000000);
	return true;
}

static bool is_half_duplex(const struct nic *nic, struct buf *because)
{
	if (strcmp(nic->duplex, "half") != 0)
		return false;
	buf_add_text(because, "the link runs at half duplex");
	return true;
}

static bool is_pcie_narrow(const struct nic *nic, struct buf *because)
{
	double rate = pcie_link_rate(&nic->pcie);

	if (!nic->pcie.width || nic->speed == UINT64_MAX || rate >= (double)nic->speed)
		return false;
	buf_add_format(because, "PCIe %.1f GT/s x%u carries %.1f Gbit/s per direction, the link %.1f", nic->pcie.gt,
		       nic->pcie.width, rate / GBIT, (double)nic->speed / GBIT);
	return true;
}

static bool is_pcie_below(const struct nic *nic, struct buf *because)
{
	double rate = pcie_link_rate(&nic->pcie), most = pcie_link_rate(&nic->pcie_max);

	if (!nic->pcie.width || !nic->pcie_max.width || rate >= most ||
	    (nic->speed != UINT64_MAX && rate < (double)nic->speed))
		return false;
	buf_add_format(because, "PCIe runs at %.1f GT/s x%u, the device supports %.1f GT/s x%u", nic->pcie.gt,
		       nic->pcie.width, nic->pcie_max.gt, nic->pcie_max.width);
	if (nic->slot_max.width)
		buf_add_format(because, ", the slot %.1f GT/s x%u", nic->slot_max.gt, nic->slot_max.width);
	return true;
}

/* Of queues, not of the mailbox: it has an interrupt of its own that never fires much. */
static bool is_on_one_cpu(const struct nic *nic, struct buf *because)
{
	uint64_t total = 0, most = 0;
	uint32_t busiest = UINT32_MAX;
	unsigned busy = 0;

	vec_each(&nic->irqs, irq) {
		uint64_t mine = 0;

		if (irq->count == UINT64_MAX || irq->count == 0)
			continue;
		busy++;
		total += irq->count;
		/* All that the busiest CPU of this vector takes. */
		vec_each(&nic->irqs, other)
			if (other->busiest_cpu == irq->busiest_cpu && other->count != UINT64_MAX)
				mine += other->count;
		if (mine > most) {
			most = mine;
			busiest = irq->busiest_cpu;
		}
	}
	if (busy < 2 || total < INTERRUPTS_MIN || cpu_list_count(&nic->host->online) < 2 || most < total / 20 * 19)
		return false;
	buf_add_format(because, "CPU %u handles ", busiest);
	format_add_share(because, (double)most / (double)total);
	buf_add_format(because, " of the interrupts of %u vectors, %u CPUs are online", busy,
		       cpu_list_count(&nic->host->online));
	return true;
}

static bool is_off_node(const struct nic *nic, struct buf *because)
{
	unsigned away = 0;

	if (nic->numa < 0 || cpu_list_count(&nic->node_cpus) == 0 ||
	    cpu_list_count(&nic->node_cpus) == cpu_list_count(&nic->host->online))
		return false;
	vec_each(&nic->irqs, irq)
		away += cpu_list_count(&irq->cpus) > 0 && !cpu_list_meets(&irq->cpus, &nic->node_cpus);
	if (away == 0)
		return false;
	buf_add_format(because, "%u of %zu interrupts go to CPUs of another node than the card's, %d", away,
		       nic->irqs.count, nic->numa);
	return true;
}

static bool has_idle_channels(const struct nic *nic, struct buf *because)
{
	uint64_t now = nic_value(nic, LINK_PART_CHANNEL, "combined"),
		 most = nic_max(nic, LINK_PART_CHANNEL, "combined");
	unsigned cpus = cpu_list_count(nic->numa >= 0 ? &nic->node_cpus : &nic->host->online);

	if (now == UINT64_MAX || most == UINT64_MAX || now >= min_of(most, (uint64_t)cpus))
		return false;
	buf_add_format(because, "%" PRIu64 " of %" PRIu64 " queues are in use, %u CPUs could receive packets", now,
		       most, cpus);
	return true;
}

static bool has_one_queue(const struct nic *nic, struct buf *because)
{
	unsigned cpus = cpu_list_count(&nic->host->online);
	uint64_t most = nic_max(nic, LINK_PART_CHANNEL, "combined");

	if (nic->rx_queues != 1 || cpus < 2 || nic->rps_queues || !nic->is_physical || (most != UINT64_MAX && most > 1))
		return false;
	buf_add_format(because, "one receive queue, RPS off: one of %u CPUs receives all packets", cpus);
	return true;
}

static bool is_rss_uneven(const struct nic *nic, struct buf *because)
{
	uint64_t queues = nic_value(nic, LINK_PART_RSS, "queues");

	if (queues == UINT64_MAX || nic->rx_queues < 2 || queues >= nic->rx_queues)
		return false;
	buf_add_format(because, "RSS spreads packets over %" PRIu64 " of %u receive queues", queues, nic->rx_queues);
	return true;
}

/* Packets that the card had no buffer for; drivers count them in one of several places. */
static uint64_t missed(const struct nic *nic)
{
	static const char *const driver_names[] = {"rx_no_buffer_count", "rx_out_of_buffer", "rx_missed_errors"};
	uint64_t most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(driver_names); i++) {
		uint64_t count = nic_value(nic, LINK_PART_STATISTIC, driver_names[i]);

		most = count == UINT64_MAX ? most : max_of(most, count);
	}
	if (nic_statistic(nic, "rx_missed_errors") != UINT64_MAX)
		most = max_of(most, nic_statistic(nic, "rx_missed_errors"));
	if (nic_statistic(nic, "rx_fifo_errors") != UINT64_MAX)
		most = max_of(most, nic_statistic(nic, "rx_fifo_errors"));
	return most;
}

static bool is_ring_small(const struct nic *nic, struct buf *because)
{
	uint64_t rx = nic_value(nic, LINK_PART_RING, "rx"), most = nic_max(nic, LINK_PART_RING, "rx");

	if (missed(nic) == 0 || rx == UINT64_MAX || most == UINT64_MAX || rx >= most)
		return false;
	buf_add_format(because,
		       "%" PRIu64 " packet%s missed since boot, the receive ring has %" PRIu64 " of %" PRIu64
		       " entries",
		       missed(nic), text_plural(missed(nic)), rx, most);
	return true;
}

static bool is_host_slow(const struct nic *nic, struct buf *because)
{
	uint64_t rx = nic_value(nic, LINK_PART_RING, "rx"), most = nic_max(nic, LINK_PART_RING, "rx");

	if (missed(nic) == 0 || rx == UINT64_MAX || rx < most)
		return false;
	buf_add_format(because, "%" PRIu64 " packet%s missed since boot with the largest receive ring, %" PRIu64,
		       missed(nic), text_plural(missed(nic)), rx);
	return true;
}

static bool is_offload_off(const struct nic *nic, struct buf *because)
{
	static const char *const features[] = {"rx-gro", "tx-generic-segmentation", "tx-tcp-segmentation",
					       "rx-checksum"};

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct link_detail_record *detail = nic_detail(nic, LINK_PART_OFFLOAD, features[i]);

		if (detail && detail->text && strcmp(detail->text, "off") == 0 && detail->fixed != 1)
			buf_add_format(because, "%s%s", because->len ? ", " : "off: ", features[i]);
	}
	return because->len > 0;
}

static bool has_crc_errors(const struct nic *nic, struct buf *because)
{
	uint64_t count = nic_statistic(nic, "rx_crc_errors");

	if (count == UINT64_MAX || count == 0)
		return false;
	buf_add_format(because, "%" PRIu64 " received frames were corrupt since boot", count);
	return true;
}

static bool is_hot(const struct nic *nic, struct buf *because)
{
	if (isnan(nic->temperature) || isnan(nic->temperature_max) || nic->temperature < nic->temperature_max - 10)
		return false;
	buf_add_format(because, "%.1f C, critical %.1f C", nic->temperature, nic->temperature_max);
	return true;
}

/* Of drivers that choose the frequency themselves, powersave is the normal name. */
static bool is_clock_low(const struct nic *nic, struct buf *because)
{
	const char *driver = nic->host->frequency_driver;

	if (strcmp(nic->host->governor, "powersave") != 0 || strcmp(driver, "intel_pstate") == 0 ||
	    strncmp(driver, "amd-pstate", 10) == 0)
		return false;
	buf_add_format(because, "governor powersave of %s keeps the CPUs at their lowest frequency", driver);
	return true;
}

static bool is_idle_deep(const struct nic *nic, struct buf *because)
{
	if (nic->host->idle_latency_us == UINT64_MAX || nic->host->idle_latency_us < 100)
		return false;
	buf_add_format(because, "a CPU in %s needs %" PRIu64 " us to wake up", nic->host->idle_state,
		       nic->host->idle_latency_us);
	return true;
}

static bool is_iommu_strict(const struct nic *nic, struct buf *because)
{
	if (strcmp(nic->iommu, "DMA") != 0 || nic->speed == UINT64_MAX || (double)nic->speed < 10 * GBIT)
		return false;
	buf_add_text(because, "the IOMMU unmaps every buffer at once (strict)");
	return true;
}

static const struct {
	const char *what;
	const char *severity;
	bool (*holds)(const struct nic *nic, struct buf *because);
	const char *advice;
} judgements[] = {
	{"link-negotiated-down", "high", is_negotiated_down,
	 "Check cable, transceiver and switch port; ethtool -s {dev} autoneg on."},
	{"half-duplex", "high", is_half_duplex, "Set both ends to autonegotiation: ethtool -s {dev} autoneg on."},
	{"pcie-narrow", "high", is_pcie_narrow, "Move the card to a wider or faster slot, or reseat it."},
	{"pcie-below-maximum", "low", is_pcie_below,
	 "Reseat the card; check the slot's wiring and the firmware's settings."},
	{"interrupts-on-one-cpu", "high", is_on_one_cpu,
	 "Write one CPU per queue to /proc/irq/N/smp_affinity_list, or let irqbalance do it."},
	{"interrupts-off-node", "medium", is_off_node, "Move the interrupts to the CPUs of the card's node."},
	{"queues-unused", "low", has_idle_channels, "ethtool -L {dev} combined {channels}"},
	{"one-receive-queue", "low", has_one_queue,
	 "Where that CPU is busy (nest softnet 1): echo {mask} >/sys/class/net/{dev}/queues/rx-0/rps_cpus"},
	{"rss-uneven", "medium", is_rss_uneven, "ethtool -X {dev} equal {rx_queues}"},
	{"ring-too-small", "high", is_ring_small,
	 "ethtool -G {dev} rx {ring}; see whether the counter still grows: nest links -i {dev} 1."},
	{"host-too-slow", "high", is_host_slow,
	 "Spread the load over more queues and CPUs: nest softnet 1, nest napilat."},
	{"offload-off", "medium", is_offload_off,
	 "ethtool -K {dev} gro on gso on tso on rx on, unless a capture or a bridge needs it."},
	{"corrupt-frames", "high", has_crc_errors,
	 "Replace cable or transceiver; see whether the counter still grows: nest links -i {dev} 1."},
	{"hot", "high", is_hot, "Check the airflow."},
	{"clock-low", "medium", is_clock_low, "cpupower frequency-set -g performance"},
	{"deep-idle", "low", is_idle_deep, "Where latency counts: cpupower idle-set -D 50."},
	{"iommu-strict", "low", is_iommu_strict, "Boot with iommu.strict=0 or iommu=pt, where the device is trusted."},
};

static void add_judgement(struct hardware *hardware, const struct nic *nic, size_t number)
{
	_cleanup_buf_ struct buf because = BUF_INIT(4096), advice = BUF_INIT(1024);

	if (!judgements[number].holds(nic, &because))
		return;
	hardware_fill(nic, judgements[number].advice, &advice);
	vec_push(&hardware->judgements,
		 (struct hardware_judgement){.what = judgements[number].what,
					     .severity = judgements[number].severity,
					     .because = hardware_keep(hardware, buf_text(&because)),
					     .advice = hardware_keep(hardware, buf_text(&advice))});
}

/* The worst first. */
void hardware_add_judgements(struct hardware *hardware, const struct nic *nic)
{
	static const char *const order[] = {"high", "medium", "low"};

	for (size_t k = 0; k < ARRAY_SIZE(order); k++)
		for (size_t i = 0; i < ARRAY_SIZE(judgements); i++)
			if (strcmp(judgements[i].severity, order[k]) == 0)
				add_judgement(hardware, nic, i);
}
