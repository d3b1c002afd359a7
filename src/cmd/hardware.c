/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest hardware: what below the network stack limits it. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/text.h"
#include "hardware/hardware.h"
#include "hardware/sysfs.h"
#include "kernel/mounts.h"
#include "record/json_read.h"
#include "run/command.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "snapshot/netlink/link.h"
#include "view/output.h"

/* Rows of ethtool.json: thousands of statistics per interface. */
#define DETAILS_MAX 1000000
#define FILE_MAX    ((size_t)256 << 20)

struct hardware_config {
	const char *dev;
	bool all;
	const char *root;
	const char *recording;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct hardware_config, dev, TEXT, "interface", 'i', "IFACE", "limit to this interface"),
	OPTION(struct hardware_config, all, FLAG, "all", 'a', NULL,
	       "also show virtual interfaces, and settings that the device does not report"),
	OPTION(struct hardware_config, root, TEXT, "root", 0, "DIR",
	       "read sys, proc and ethtool.json (nest links -e --json) below DIR instead of this host",
	       .file = FILE_INPUT),
	OPTION(struct hardware_config, recording, TEXT, "file", 'f', "FILE", "read this recording", .unfit = true),
	OPTION_GROUP(struct hardware_config, output, output_option_table),
	OPTION_END,
};

/* What ethtool knows: of this host from the kernel, of a tree from its file. */
struct details {
	struct snapshot *snapshot;
	VEC(struct link_detail_record) read;
	const struct link_detail_record *items;
	size_t count;
};

static void details_done(struct details *details)
{
	vec_each(&details->read, detail)
		record_free_strings(&link_detail_type, detail);
	vec_done(&details->read);
	snapshot_free(details->snapshot);
}

static int ask_kernel(struct details *details, struct why *why)
{
	static const struct record_type *const types[] = {&link_detail_type, &link_type, NULL};
	int r;

	details->snapshot = snapshot_new();
	r = snapshot_take(details->snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, why);
	if (r < 0)
		return r;
	details->items = snapshot_first(details->snapshot, &link_detail_type);
	details->count = snapshot_table(details->snapshot, &link_detail_type)->count;
	return 0;
}

/* One object a line; a tree without the file has no settings of ethtool. */
static int read_details(struct details *details, const char *root, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_MAX);
	const char *line;
	unsigned number = 0;

	if (!sysfs_text(&text, "%s/ethtool.json", root))
		return 0;
	for (line = buf_text(&text); *line; number++) {
		size_t n = strcspn(line, "\n");
		struct link_detail_record detail;
		struct why reason;

		if (n > 0) {
			int r = record_read_json_line(&link_detail_type, line, n, &detail, &reason);

			if (r < 0)
				return why_set(why, r, "ethtool.json, line %u: %s", number + 1, reason.text);
			if (details->read.count >= DETAILS_MAX)
				return why_set(why, -E2BIG, "ethtool.json has more than %d lines", DETAILS_MAX);
			vec_push(&details->read, detail);
		}
		line += n + (line[n] == '\n');
	}
	details->items = details->read.items;
	details->count = details->read.count;
	return 0;
}

static bool wants_text(const struct output_options *output)
{
	return !output->json && !output->csv && !output->format && output->show.count == 0 && !output->wide;
}

/* Returns whether it was shown. */
static bool show_one(const struct hardware_config *config, const struct nic *nic, struct output *output, bool first)
{
	struct hardware *hardware = hardware_new(nic);
	struct record record = RECORD_OF(&hardware->record);
	bool shown;

	if (wants_text(&config->output)) {
		shown = output_wants(output, &record);
		if (shown) {
			buf_add_text(&output_out(output)->pending, first ? "" : "\n");
			hardware_print(hardware, config->all, output_out(output));
		}
	} else {
		shown = output_record(output, &record);
	}
	hardware_free(hardware);
	return shown;
}

static int show(const struct hardware_config *config, const char *root, const struct details *details)
{
	_cleanup_names_ struct sysfs_names devs = {};
	struct shape shape = SHAPE_OF(&hardware_type);
	bool any = false;
	struct nic_host host;
	struct output *output;
	struct why why;
	int r;

	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("hardware", r, &why);
	sysfs_names_read(&devs, "%s/sys/class/net", root);
	nic_host_read(&host, root);
	vec_each(&devs.items, dev) {
		struct nic nic;

		if (config->dev && strcmp(config->dev, *dev) != 0)
			continue;
		nic_read(&nic, &host, *dev, details->items, details->count);
		if (nic.is_physical || config->all || config->dev)
			any = show_one(config, &nic, output, !any) || any;
		nic_done(&nic);
	}
	nic_host_done(&host);
	if (wants_text(&config->output) && !any)
		buf_add_text(&output_out(output)->pending, "No physical interface: --all shows the others.\n");
	return output_exit_code("hardware", output_close(output));
}

/* The name becomes part of a path. */
static bool has_interface(const char *root, const char *dev)
{
	return strlen(dev) < IFNAMSIZ && !strchr(dev, '/') && dev[0] != '.' && dev[0] != '\0' &&
	       sysfs_exists("%s/sys/class/net/%s", root, dev);
}

static int run(const void *argument)
{
	const struct hardware_config *config = argument;
	_cleanup_(details_done) struct details details = {};
	const char *root = config->root ? config->root : "";
	struct why why;

	if (config->recording)
		return command_fail(EXIT_USAGE, "hardware: -f does not apply: recordings hold counters and links, not "
						"buses, interrupts and settings; --root reads a copy of sys and proc");
	if (!sysfs_exists("%s/sys/class/net", root))
		return command_fail(config->root ? EXIT_IO : EXIT_CANNOT_OBSERVE,
				    "hardware: no sys/class/net below %s%s", config->root ? "--root" : "/",
				    config->root ? "" : mounts_hint("/sys/class/net"));
	if (config->dev && !has_interface(root, config->dev)) {
		_cleanup_buf_ struct buf shown = BUF_INIT(256);

		/* The words of nest links -i. */
		text_add_terminal(&shown, config->dev, strnlen(config->dev, 40));
		return command_fail(EXIT_USAGE, "hardware: there is no interface '%s'", buf_text(&shown));
	}
	if (config->root ? read_details(&details, root, &why) < 0 : ask_kernel(&details, &why) < 0)
		return command_fail(config->root ? EXIT_IO : EXIT_CANNOT_OBSERVE, "hardware: %s", why.text);
	/* The rest is in /sys and /proc. */
	if (command_confine_live(MAY_READ_PROC, 0, &why) < 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "hardware: %s", why.text);
	return show(config, root, &details);
}

static const char *const examples[] = {
	"nest hardware",
	"all network cards, what limits them and how to change it",
	"nest hardware -i eth0 --json",
	"one JSON object per interface",
	NULL,
};

static const struct command hardware_command = {
	.name = "hardware",
	.summary = "limits of network cards: bus, interrupts, queues, CPUs",
	.description =
		"For each network card: link and PCIe speed, NUMA node, queues, interrupts and their CPUs, RSS, RPS, "
		"RFS, XPS, rings, coalescing, offloads, pause frames, errors, temperature, IOMMU, CPU frequency, idle "
		"states and timestamps; each with its usual value, the cost of another value and the command to "
		"change it. Judgements are printed first.\n\nCounters are totals since boot: nest links -i IFACE 1 "
		"shows whether they grow. It needs no privilege and changes nothing.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct hardware_config),
	.looks = true,
	.run = run,
};
COMMAND(hardware_command);
