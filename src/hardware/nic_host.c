/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all interfaces of a host share: interrupts, frequency and idle states of its CPUs. */
#include <string.h>

#include "base/parse.h"
#include "hardware/nic.h"
#include "hardware/sysfs.h"

static void keep(char text[NIC_TEXT_MAX], const struct buf *line)
{
	snprintf(text, NIC_TEXT_MAX, "%.*s", NIC_TEXT_MAX - 1, buf_text(line));
}

/* One word for all CPUs where they agree. */
static void read_governor(struct nic_host *host, const char *cpu)
{
	_cleanup_buf_ struct buf line = BUF_INIT(256);

	if (!sysfs_line(&line, "%s/sys/devices/system/cpu/%s/cpufreq/scaling_governor", host->root, cpu))
		return;
	if (!host->governor[0])
		keep(host->governor, &line);
	else if (strcmp(host->governor, buf_text(&line)) != 0)
		snprintf(host->governor, sizeof(host->governor), "mixed");
	if (sysfs_line(&line, "%s/sys/devices/system/cpu/%s/cpufreq/scaling_driver", host->root, cpu))
		keep(host->frequency_driver, &line);
}

/* The state that takes longest to leave, of those that the CPU may enter. */
static void read_idle(struct nic_host *host, const char *cpu)
{
	_cleanup_names_ struct sysfs_names states = {};
	_cleanup_buf_ struct buf line = BUF_INIT(256);

	sysfs_names_read(&states, "%s/sys/devices/system/cpu/%s/cpuidle", host->root, cpu);
	vec_each(&states.items, state) {
		uint64_t latency =
			sysfs_number("%s/sys/devices/system/cpu/%s/cpuidle/%s/latency", host->root, cpu, *state);
		uint64_t off = sysfs_number("%s/sys/devices/system/cpu/%s/cpuidle/%s/disable", host->root, cpu, *state);

		if (latency == UINT64_MAX || off == 1 ||
		    (host->idle_latency_us != UINT64_MAX && latency <= host->idle_latency_us))
			continue;
		host->idle_latency_us = latency;
		if (sysfs_line(&line, "%s/sys/devices/system/cpu/%s/cpuidle/%s/name", host->root, cpu, *state))
			keep(host->idle_state, &line);
	}
}

static bool is_cpu(const char *name)
{
	uint64_t number;

	return strncmp(name, "cpu", 3) == 0 && parse_decimal(name + 3, 0, CPU_LIST_MAX, &number) == 0;
}

static bool has_process(const char *root, const char *wanted)
{
	_cleanup_names_ struct sysfs_names names = {};
	_cleanup_buf_ struct buf line = BUF_INIT(256);

	sysfs_names_read(&names, "%s/proc", root);
	vec_each(&names.items, name)
		if ((*name)[0] >= '1' && (*name)[0] <= '9' && sysfs_line(&line, "%s/proc/%s/comm", root, *name) &&
		    strcmp(buf_text(&line), wanted) == 0)
			return true;
	return false;
}

void nic_host_read(struct nic_host *host, const char *root)
{
	_cleanup_names_ struct sysfs_names cpus = {};
	_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	*host = (struct nic_host){.root = root, .idle_latency_us = UINT64_MAX};
	if (sysfs_text(&text, "%s/proc/interrupts", root))
		interrupt_table_parse(&host->interrupts, buf_text(&text));
	if (sysfs_line(&text, "%s/sys/devices/system/cpu/online", root))
		(void)cpu_list_parse(buf_text(&text), &host->online);
	host->irqbalance = has_process(root, "irqbalance");
	host->flow_entries = sysfs_number("%s/proc/sys/net/core/rps_sock_flow_entries", root);
	sysfs_names_read(&cpus, "%s/sys/devices/system/cpu", root);
	vec_each(&cpus.items, cpu)
		if (is_cpu(*cpu)) {
			read_governor(host, *cpu);
			read_idle(host, *cpu);
		}
}

void nic_host_done(struct nic_host *host)
{
	interrupt_table_done(&host->interrupts);
}
