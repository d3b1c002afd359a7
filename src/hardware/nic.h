/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /sys, /proc and ethtool say about one interface and the host around it. */
#pragma once

#include "hardware/cpu_list.h"
#include "hardware/interrupt_table.h"
#include "snapshot/netlink/ethtool.h"
#include "snapshot/netlink/pcie_link.h"

#define NIC_TEXT_MAX 64

struct nic_irq {
	uint32_t irq;
	char action[NIC_TEXT_MAX];
	uint64_t count;       /* since boot, all CPUs; UINT64_MAX: unknown */
	uint32_t busiest_cpu; /* UINT32_MAX: none */
	struct cpu_list cpus; /* that may take it, or that the chip chose */
};

/* The host's part, the same for all interfaces. */
struct nic_host {
	const char *root; /* "" for the running host */
	struct interrupt_table interrupts;
	struct cpu_list online;
	bool irqbalance;
	uint64_t flow_entries;       /* net.core.rps_sock_flow_entries */
	char governor[NIC_TEXT_MAX]; /* of all CPUs; "mixed"; empty: none */
	char frequency_driver[NIC_TEXT_MAX];
	char idle_state[NIC_TEXT_MAX]; /* the deepest that is enabled */
	uint64_t idle_latency_us;      /* to leave it; UINT64_MAX: unknown */
};

struct nic {
	const struct nic_host *host;
	char dev[16];
	bool is_physical;
	char path[512]; /* of its PCI device; empty: none */
	char driver[NIC_TEXT_MAX];
	char bus[NIC_TEXT_MAX];
	struct pcie_link pcie, pcie_max, slot_max;
	int numa; /* -1: none */
	struct cpu_list node_cpus;
	uint64_t speed; /* bit/s; UINT64_MAX: unknown */
	char duplex[NIC_TEXT_MAX];
	unsigned rx_queues, tx_queues;
	unsigned rps_queues, xps_queues; /* with CPUs set */
	struct cpu_list rps_cpus;
	uint64_t rfs_entries;
	uint64_t carrier_changes;
	char iommu[NIC_TEXT_MAX];            /* type of its group; empty: none */
	double temperature, temperature_max; /* degrees; NaN: unknown */
	uint64_t flush_timeout_ns, defer_irqs, threaded;
	VEC(struct nic_irq) irqs;
	const struct link_detail_record *details; /* of all interfaces */
	size_t detail_count;
};

void nic_host_read(struct nic_host *host, const char *root);
void nic_host_done(struct nic_host *host);
/* details: what ethtool knows, of any interfaces; stays the caller's. */
void nic_read(struct nic *nic, const struct nic_host *host, const char *dev, const struct link_detail_record *details,
	      size_t detail_count);
void nic_done(struct nic *nic);

/* What ethtool says; NULL: nothing. */
const struct link_detail_record *nic_detail(const struct nic *nic, enum link_part part, const char *name);
/* UINT64_MAX: unknown. */
uint64_t nic_value(const struct nic *nic, enum link_part part, const char *name);
uint64_t nic_max(const struct nic *nic, enum link_part part, const char *name);
/* "on", "off" or another text; NULL: unknown. */
const char *nic_text(const struct nic *nic, enum link_part part, const char *name);
/* /sys/class/net/DEV/statistics/NAME; UINT64_MAX: unknown. */
uint64_t nic_statistic(const struct nic *nic, const char *name);
