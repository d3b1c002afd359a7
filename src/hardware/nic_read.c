/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "hardware/nic.h"
#include "hardware/sysfs.h"

/* Far more than any card has. */
#define IRQS_MAX 4096

/* --- what ethtool knows --- */

const struct link_detail_record *nic_detail(const struct nic *nic, enum link_part part, const char *name)
{
	for (size_t i = 0; i < nic->detail_count; i++) {
		const struct link_detail_record *detail = &nic->details[i];

		if (detail->part == part && detail->name && strcmp(detail->name, name) == 0 &&
		    strncmp(detail->dev, nic->dev, sizeof(detail->dev)) == 0)
			return detail;
	}
	return NULL;
}

uint64_t nic_value(const struct nic *nic, enum link_part part, const char *name)
{
	const struct link_detail_record *detail = nic_detail(nic, part, name);

	return detail ? detail->value : UINT64_MAX;
}

uint64_t nic_max(const struct nic *nic, enum link_part part, const char *name)
{
	const struct link_detail_record *detail = nic_detail(nic, part, name);

	return detail ? detail->max : UINT64_MAX;
}

const char *nic_text(const struct nic *nic, enum link_part part, const char *name)
{
	const struct link_detail_record *detail = nic_detail(nic, part, name);

	return detail ? detail->text : NULL;
}

uint64_t nic_statistic(const struct nic *nic, const char *name)
{
	return sysfs_number("%s/sys/class/net/%s/statistics/%s", nic->host->root, nic->dev, name);
}

/* --- the bus --- */

static struct pcie_link read_pcie(const char *path, const char *speed, const char *width)
{
	_cleanup_buf_ struct buf gt = BUF_INIT(256), lanes = BUF_INIT(256);

	if (!sysfs_line(&gt, "%s/%s", path, speed) || !sysfs_line(&lanes, "%s/%s", path, width))
		return (struct pcie_link){};
	return pcie_link_parse(buf_text(&gt), buf_text(&lanes));
}

/* 0000:00:03.0 */
static bool is_pci(const char *name)
{
	static const char form[] = "xxxx:xx:xx.x";

	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return name[sizeof(form) - 1] == '\0';
}

static bool set_pci(struct nic *nic, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name || !is_pci(name + 1) || strlen(path) >= sizeof(nic->path))
		return false;
	memcpy(nic->path, path, strlen(path) + 1);
	snprintf(nic->bus, sizeof(nic->bus), "pci %.40s", name + 1);
	return true;
}

/* A virtio device stands below its PCI device. */
static void read_bus(struct nic *nic)
{
	_cleanup_buf_ struct buf name = BUF_INIT(256);
	char path[PATH_MAX], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", nic->host->root, nic->dev);
	if (!realpath(path, real))
		return;
	nic->is_physical = true;
	if (sysfs_link(&name, "%s/driver", path))
		snprintf(nic->driver, sizeof(nic->driver), "%.*s", NIC_TEXT_MAX - 1, buf_text(&name));
	if (sysfs_link(&name, "%s/subsystem", path))
		snprintf(nic->bus, sizeof(nic->bus), "%.20s %.40s", buf_text(&name), strrchr(real, '/') + 1);
	for (unsigned up = 0; up < 3 && strrchr(real, '/') > real; up++) {
		if (set_pci(nic, real))
			break;
		*strrchr(real, '/') = '\0';
	}
}

static void read_pci(struct nic *nic)
{
	_cleanup_buf_ struct buf line = BUF_INIT(4096), group = BUF_INIT(256);
	char upstream[600];
	uint64_t node;

	if (!nic->path[0])
		return;
	nic->pcie = read_pcie(nic->path, "current_link_speed", "current_link_width");
	nic->pcie_max = read_pcie(nic->path, "max_link_speed", "max_link_width");
	snprintf(upstream, sizeof(upstream), "%s/..", nic->path);
	nic->slot_max = read_pcie(upstream, "max_link_speed", "max_link_width");
	/* -1: the firmware does not say. */
	node = sysfs_number("%s/numa_node", nic->path);
	if (node < 1024) {
		nic->numa = (int)node;
		if (sysfs_line(&line, "%s/sys/devices/system/node/node%d/cpulist", nic->host->root, nic->numa))
			(void)cpu_list_parse(buf_text(&line), &nic->node_cpus);
	}
	if (sysfs_link(&group, "%s/iommu_group", nic->path) &&
	    sysfs_line(&line, "%s/sys/kernel/iommu_groups/%s/type", nic->host->root, buf_text(&group)))
		snprintf(nic->iommu, sizeof(nic->iommu), "%.*s", NIC_TEXT_MAX - 1, buf_text(&line));
}

/* The first sensor of the card; millidegrees. */
static void read_temperature(struct nic *nic)
{
	_cleanup_names_ struct sysfs_names sensors = {};
	uint64_t now, most;

	sysfs_names_read(&sensors, "%s/hwmon", nic->path);
	if (!nic->path[0] || sensors.items.count == 0)
		return;
	now = sysfs_number("%s/hwmon/%s/temp1_input", nic->path, sensors.items.items[0]);
	most = sysfs_number("%s/hwmon/%s/temp1_crit", nic->path, sensors.items.items[0]);
	nic->temperature = now == UINT64_MAX ? NAN : (double)now / 1000;
	nic->temperature_max = most == UINT64_MAX ? NAN : (double)most / 1000;
}

/* --- interrupts and queues --- */

static void read_affinity(const struct nic *nic, struct nic_irq *irq)
{
	_cleanup_buf_ struct buf line = BUF_INIT(65536);

	/* What the chip chose of what is allowed, where the kernel says it. */
	if (sysfs_line(&line, "%s/proc/irq/%u/effective_affinity_list", nic->host->root, irq->irq) &&
	    cpu_list_parse(buf_text(&line), &irq->cpus))
		return;
	if (sysfs_line(&line, "%s/proc/irq/%u/smp_affinity_list", nic->host->root, irq->irq))
		(void)cpu_list_parse(buf_text(&line), &irq->cpus);
}

static void add_irq(struct nic *nic, uint32_t number)
{
	const struct interrupt_table *table = &nic->host->interrupts;
	const struct interrupt_row *row = interrupt_table_find(table, number);
	struct nic_irq irq = {.irq = number, .count = UINT64_MAX, .busiest_cpu = UINT32_MAX};
	uint64_t most = 0;

	if (row) {
		irq.count = 0;
		memcpy(irq.action, row->action, sizeof(irq.action));
		for (size_t i = 0; i < table->cpus.count; i++) {
			uint64_t count = table->counts.items[row->first + i];

			irq.count += count;
			if (count > most) {
				most = count;
				irq.busiest_cpu = table->cpus.items[i];
			}
		}
	}
	read_affinity(nic, &irq);
	vec_push(&nic->irqs, irq);
}

static void read_irqs(struct nic *nic)
{
	_cleanup_names_ struct sysfs_names names = {};
	uint64_t number;

	if (!nic->path[0])
		return;
	sysfs_names_read(&names, "%s/msi_irqs", nic->path);
	vec_each(&names.items, name)
		if (nic->irqs.count < IRQS_MAX && parse_decimal(*name, 0, UINT32_MAX - 1, &number) == 0 &&
		    interrupt_table_find(&nic->host->interrupts, (uint32_t)number))
			add_irq(nic, (uint32_t)number);
	if (names.items.count)
		return;
	number = sysfs_number("%s/irq", nic->path);
	if (number != 0 && number < UINT32_MAX && interrupt_table_find(&nic->host->interrupts, (uint32_t)number))
		add_irq(nic, (uint32_t)number);
}

static bool read_mask(const char *path, const char *queue, const char *file, struct cpu_list *ret_list)
{
	_cleanup_buf_ struct buf line = BUF_INIT(65536);

	return sysfs_line(&line, "%s/%s/%s", path, queue, file) && cpu_list_parse_mask(buf_text(&line), ret_list) &&
	       cpu_list_count(ret_list) > 0;
}

static void read_queues(struct nic *nic)
{
	_cleanup_names_ struct sysfs_names names = {};
	struct cpu_list cpus;
	char path[600];

	snprintf(path, sizeof(path), "%.400s/sys/class/net/%s/queues", nic->host->root, nic->dev);
	sysfs_names_read(&names, "%s", path);
	vec_each(&names.items, name) {
		if (strncmp(*name, "rx-", 3) == 0) {
			uint64_t entries = sysfs_number("%s/%s/rps_flow_cnt", path, *name);

			nic->rx_queues++;
			nic->rfs_entries += entries == UINT64_MAX ? 0 : entries;
			if (!read_mask(path, *name, "rps_cpus", &cpus))
				continue;
			nic->rps_queues++;
			for (unsigned cpu = 0; cpu < CPU_LIST_MAX; cpu++)
				if (cpu_list_has(&cpus, cpu))
					cpu_list_add(&nic->rps_cpus, cpu);
		} else if (strncmp(*name, "tx-", 3) == 0) {
			nic->tx_queues++;
			nic->xps_queues += read_mask(path, *name, "xps_cpus", &cpus);
		}
	}
}

void nic_read(struct nic *nic, const struct nic_host *host, const char *dev, const struct link_detail_record *details,
	      size_t detail_count)
{
	_cleanup_buf_ struct buf line = BUF_INIT(256);
	uint64_t mbit;

	*nic = (struct nic){.host = host,
			    .numa = -1,
			    .temperature = NAN,
			    .temperature_max = NAN,
			    .details = details,
			    .detail_count = detail_count};
	snprintf(nic->dev, sizeof(nic->dev), "%.15s", dev);
	read_bus(nic);
	read_pci(nic);
	read_temperature(nic);
	read_irqs(nic);
	read_queues(nic);
	/* -1 without a link, and for devices without a speed. */
	mbit = sysfs_number("%s/sys/class/net/%s/speed", host->root, nic->dev);
	nic->speed = mbit > 0 && mbit < 10000000 ? mbit * 1000000 : UINT64_MAX;
	if (sysfs_line(&line, "%s/sys/class/net/%s/duplex", host->root, nic->dev) &&
	    strcmp(buf_text(&line), "unknown") != 0)
		snprintf(nic->duplex, sizeof(nic->duplex), "%.20s", buf_text(&line));
	nic->carrier_changes = sysfs_number("%s/sys/class/net/%s/carrier_changes", host->root, nic->dev);
	nic->flush_timeout_ns = sysfs_number("%s/sys/class/net/%s/gro_flush_timeout", host->root, nic->dev);
	nic->defer_irqs = sysfs_number("%s/sys/class/net/%s/napi_defer_hard_irqs", host->root, nic->dev);
	nic->threaded = sysfs_number("%s/sys/class/net/%s/threaded", host->root, nic->dev);
}

void nic_done(struct nic *nic)
{
	vec_done(&nic->irqs);
}
