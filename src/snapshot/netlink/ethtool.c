/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/link_modes.h"

/* Bound on strings and statistics of one driver. */
#define STATISTICS_MAX 16384
#define FEATURES_MAX   1024

static const struct enum_name part_items[] = {
	{LINK_PART_DRIVER, "driver", "driver and firmware (ethtool -i)"},
	{LINK_PART_RING, "ring", "ring sizes (ethtool -g)"},
	{LINK_PART_CHANNEL, "channel", "channels: receive and transmit queues (ethtool -l)"},
	{LINK_PART_COALESCE, "coalesce", "interrupt coalescing (ethtool -c)"},
	{LINK_PART_PAUSE, "pause", "pause frames (ethtool -a)"},
	{LINK_PART_OFFLOAD, "offload", "offloads (ethtool -k)"},
	{LINK_PART_STATISTIC, "statistic", "driver statistics (ethtool -S)"},
	{LINK_PART_LINK, "link", "link modes (ethtool)"},
	{LINK_PART_RSS, "rss", "receive side scaling (ethtool -x)"},
	{LINK_PART_TIMESTAMP, "timestamp", "packet timestamps (ethtool -T)"},
};
static struct enum_names part_names = {.items = part_items, .count = ARRAY_SIZE(part_items)};

#define D struct link_detail_record
static const struct field detail_fields[] = {
	FIELD(D, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, part, ENUM, "ethtool category", .names = &part_names, .zero_is_unknown = true),
	FIELD(D, name, TEXT, "name, as ethtool prints it"),
	FIELD(D, value, COUNT, "value"),
	FIELD(D, max, COUNT, "maximum"),
	FIELD(D, text, TEXT, "text value"),
	FIELD(D, fixed, BOOL, "offload that cannot be changed", .hidden = true),
};
#undef D
RECORD_TYPE(link_detail_type, "link_detail", struct link_detail_record, detail_fields,
	    "a driver setting or statistic (ethtool)");

/* The interface being queried. */
struct query {
	struct snapshot *snapshot;
	int fd;
	char dev[16];
};

static bool get(const struct query *query, void *command)
{
	struct ifreq request = {.ifr_data = command};

	memcpy(request.ifr_name, query->dev, sizeof(request.ifr_name));
	return ioctl(query->fd, SIOCETHTOOL, &request) == 0;
}

static struct link_detail_record *add_detail(const struct query *query, enum link_part part, const char *name,
					     size_t len)
{
	struct link_detail_record *detail = snapshot_table_add(snapshot_table(query->snapshot, &link_detail_type));

	if (!detail)
		return NULL;
	detail->netns = query->snapshot->netns;
	memcpy(detail->dev, query->dev, sizeof(detail->dev));
	detail->part = (uint8_t)part;
	detail->name = snapshot_text(query->snapshot, name, len);
	return detail;
}

static void add_number(const struct query *query, enum link_part part, const char *name, uint64_t value, uint64_t max)
{
	struct link_detail_record *detail = add_detail(query, part, name, strlen(name));

	if (!detail)
		return;
	detail->value = value;
	detail->max = max;
}

static void add_text(const struct query *query, enum link_part part, const char *name, const char *text, size_t room)
{
	size_t n = strnlen(text, room);
	struct link_detail_record *detail = n ? add_detail(query, part, name, strlen(name)) : NULL;

	if (detail)
		detail->text = snapshot_text(query->snapshot, text, n);
}

static void add_driver(const struct query *query)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (!get(query, &info))
		return;
	add_text(query, LINK_PART_DRIVER, "driver", info.driver, sizeof(info.driver));
	add_text(query, LINK_PART_DRIVER, "version", info.version, sizeof(info.version));
	add_text(query, LINK_PART_DRIVER, "firmware", info.fw_version, sizeof(info.fw_version));
	add_text(query, LINK_PART_DRIVER, "bus", info.bus_info, sizeof(info.bus_info));
}

/* A maximum of 0: the device does not have it. */
static void add_bounded(const struct query *query, enum link_part part, const char *name, uint32_t value, uint32_t max)
{
	if (max)
		add_number(query, part, name, value, max);
}

static void add_rings(const struct query *query)
{
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (get(query, &ring)) {
		add_bounded(query, LINK_PART_RING, "rx", ring.rx_pending, ring.rx_max_pending);
		add_bounded(query, LINK_PART_RING, "rx-mini", ring.rx_mini_pending, ring.rx_mini_max_pending);
		add_bounded(query, LINK_PART_RING, "rx-jumbo", ring.rx_jumbo_pending, ring.rx_jumbo_max_pending);
		add_bounded(query, LINK_PART_RING, "tx", ring.tx_pending, ring.tx_max_pending);
	}
	if (get(query, &channels)) {
		add_bounded(query, LINK_PART_CHANNEL, "rx", channels.rx_count, channels.max_rx);
		add_bounded(query, LINK_PART_CHANNEL, "tx", channels.tx_count, channels.max_tx);
		add_bounded(query, LINK_PART_CHANNEL, "other", channels.other_count, channels.max_other);
		add_bounded(query, LINK_PART_CHANNEL, "combined", channels.combined_count, channels.max_combined);
	}
}

static void add_switch(const struct query *query, enum link_part part, const char *name, bool on)
{
	add_text(query, part, name, on ? "on" : "off", 4);
}

static void add_interrupts(const struct query *query)
{
	struct ethtool_coalesce c = {.cmd = ETHTOOL_GCOALESCE};
	struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};

	if (get(query, &c)) {
		add_switch(query, LINK_PART_COALESCE, "adaptive-rx", c.use_adaptive_rx_coalesce);
		add_switch(query, LINK_PART_COALESCE, "adaptive-tx", c.use_adaptive_tx_coalesce);
		add_number(query, LINK_PART_COALESCE, "rx-usecs", c.rx_coalesce_usecs, UINT64_MAX);
		add_number(query, LINK_PART_COALESCE, "rx-frames", c.rx_max_coalesced_frames, UINT64_MAX);
		add_number(query, LINK_PART_COALESCE, "tx-usecs", c.tx_coalesce_usecs, UINT64_MAX);
		add_number(query, LINK_PART_COALESCE, "tx-frames", c.tx_max_coalesced_frames, UINT64_MAX);
	}
	if (get(query, &pause)) {
		add_switch(query, LINK_PART_PAUSE, "autonegotiate", pause.autoneg);
		add_switch(query, LINK_PART_PAUSE, "rx", pause.rx_pause);
		add_switch(query, LINK_PART_PAUSE, "tx", pause.tx_pause);
	}
}

/* Names of a string set of the driver; NULL: none. The caller frees them. */
static struct ethtool_gstrings *get_names(const struct query *query, uint32_t set, uint32_t most)
{
	/* Followed by the number of names. */
	_Alignas(8) uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)] = {};
	struct ethtool_sset_info *info = (struct ethtool_sset_info *)room;
	struct ethtool_gstrings *names;
	uint32_t count;

	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = UINT64_C(1) << set;
	if (!get(query, info) || !info->sset_mask)
		return NULL;
	count = info->data[0];
	if (count == 0 || count > most)
		return NULL;
	names = xzalloc(sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = set;
	names->len = count;
	if (get(query, names) && names->len <= count)
		return names;
	free(names);
	return NULL;
}

static const char *name_at(const struct ethtool_gstrings *names, uint32_t index)
{
	return (const char *)names->data + (size_t)index * ETH_GSTRING_LEN;
}

static void add_features(const struct query *query)
{
	_cleanup_free_ struct ethtool_gstrings *names = get_names(query, ETH_SS_FEATURES, FEATURES_MAX);
	_cleanup_free_ struct ethtool_gfeatures *features = NULL;
	uint32_t blocks;

	if (!names)
		return;
	blocks = (names->len + 31) / 32;
	features = xzalloc(sizeof(*features) + blocks * sizeof(features->features[0]));
	features->cmd = ETHTOOL_GFEATURES;
	features->size = blocks;
	if (!get(query, features) || features->size < blocks)
		return;
	for (uint32_t i = 0; i < names->len; i++) {
		const struct ethtool_get_features_block *block = &features->features[i / 32];
		uint32_t bit = UINT32_C(1) << i % 32;
		size_t n = strnlen(name_at(names, i), ETH_GSTRING_LEN);
		struct link_detail_record *detail =
			n ? add_detail(query, LINK_PART_OFFLOAD, name_at(names, i), n) : NULL;

		if (!detail)
			continue;
		detail->text = block->active & bit ? "on" : "off";
		detail->fixed = !(block->available & bit) || block->never_changed & bit;
	}
}

static void add_statistics(const struct query *query)
{
	_cleanup_free_ struct ethtool_gstrings *names = get_names(query, ETH_SS_STATS, STATISTICS_MAX);
	_cleanup_free_ struct ethtool_stats *stats = NULL;

	if (!names)
		return;
	stats = xzalloc(sizeof(*stats) + (size_t)names->len * sizeof(stats->data[0]));
	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = names->len;
	/* The driver changed its queues meanwhile: names and values no longer match. */
	if (!get(query, stats) || stats->n_stats > names->len)
		return;
	for (uint32_t i = 0; i < stats->n_stats; i++) {
		const char *name = name_at(names, i);
		size_t n = strnlen(name, ETH_GSTRING_LEN), blanks = 0;
		struct link_detail_record *detail;

		while (blanks < n && name[blanks] == ' ')
			blanks++;
		detail = n > blanks ? add_detail(query, LINK_PART_STATISTIC, name + blanks, n - blanks) : NULL;
		if (detail)
			detail->value = stats->data[i];
	}
}

/* Three masks of as many words as the kernel says follow the settings. */
#define MODE_WORDS_MAX 127

static void add_modes(const struct query *query)
{
	_cleanup_free_ struct ethtool_link_settings *link =
		xzalloc(sizeof(*link) + 3 * MODE_WORDS_MAX * sizeof(uint32_t));
	unsigned words;

	/* The first request asks for the number of words, which the kernel gives as a negative one. */
	link->cmd = ETHTOOL_GLINKSETTINGS;
	if (!get(query, link) || link->link_mode_masks_nwords >= 0)
		return;
	link->cmd = ETHTOOL_GLINKSETTINGS;
	link->link_mode_masks_nwords = (int8_t)-link->link_mode_masks_nwords;
	words = (unsigned)link->link_mode_masks_nwords;
	if (!get(query, link) || link->link_mode_masks_nwords != (int8_t)words)
		return;
	add_switch(query, LINK_PART_LINK, "autonegotiate", link->autoneg == AUTONEG_ENABLE);
	if (link_modes_fastest(link->link_mode_masks, words))
		add_number(query, LINK_PART_LINK, "speed-supported", link_modes_fastest(link->link_mode_masks, words),
			   UINT64_MAX);
	if (link_modes_fastest(link->link_mode_masks + words, words))
		add_number(query, LINK_PART_LINK, "speed-advertised",
			   link_modes_fastest(link->link_mode_masks + words, words), UINT64_MAX);
	if (link_modes_fastest(link->link_mode_masks + 2 * words, words))
		add_number(query, LINK_PART_LINK, "speed-partner",
			   link_modes_fastest(link->link_mode_masks + 2 * words, words), UINT64_MAX);
}

static void add_fec(const struct query *query)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} codes[] = {{ETHTOOL_FEC_OFF, "off"},
		     {ETHTOOL_FEC_RS, "RS"},
		     {ETHTOOL_FEC_BASER, "BaseR"},
		     {ETHTOOL_FEC_LLRS, "LLRS"}};
	struct ethtool_fecparam fec = {.cmd = ETHTOOL_GFECPARAM};

	if (!get(query, &fec))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (fec.active_fec == codes[i].bit)
			add_text(query, LINK_PART_LINK, "fec", codes[i].name, 8);
}

/* Larger tables do not exist. */
#define RSS_ENTRIES_MAX 4096

static void add_rss(const struct query *query)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR};
	_cleanup_free_ struct ethtool_rxfh_indir *table = NULL;
	bool used[RSS_ENTRIES_MAX] = {};
	uint32_t queues = 0;

	if (!get(query, &ask) || ask.size == 0 || ask.size > RSS_ENTRIES_MAX)
		return;
	table = xzalloc(sizeof(*table) + ask.size * sizeof(table->ring_index[0]));
	table->cmd = ETHTOOL_GRXFHINDIR;
	table->size = ask.size;
	if (!get(query, table) || table->size > ask.size)
		return;
	for (uint32_t i = 0; i < table->size; i++)
		if (table->ring_index[i] < RSS_ENTRIES_MAX && !used[table->ring_index[i]]) {
			used[table->ring_index[i]] = true;
			queues++;
		}
	add_number(query, LINK_PART_RSS, "entries", table->size, UINT64_MAX);
	add_number(query, LINK_PART_RSS, "queues", queues, UINT64_MAX);
}

static void add_timestamps(const struct query *query)
{
	struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};

	if (!get(query, &info))
		return;
	add_switch(query, LINK_PART_TIMESTAMP, "hardware-receive", info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE);
	add_switch(query, LINK_PART_TIMESTAMP, "hardware-transmit",
		   info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE);
	add_switch(query, LINK_PART_TIMESTAMP, "software-transmit",
		   info.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE);
	if (info.phc_index >= 0)
		add_number(query, LINK_PART_TIMESTAMP, "clock", (uint64_t)info.phc_index, UINT64_MAX);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)request;
	if (fd < 0)
		return why_set(why, -errno, "cannot open a socket for ethtool queries: %s", strerror(errno));
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		struct query query = {.snapshot = snapshot, .fd = fd};

		if (link->netns != snapshot->netns)
			continue;
		memcpy(query.dev, link->dev, sizeof(query.dev));
		add_driver(&query);
		add_rings(&query);
		add_interrupts(&query);
		add_features(&query);
		add_statistics(&query);
		add_modes(&query);
		add_fec(&query);
		add_rss(&query);
		add_timestamps(&query);
	}
	return 0;
}

static const struct record_type *const types[] = {&link_detail_type, NULL};
static const struct record_type *const needs[] = {&link_type, NULL};

static const struct snapshot_source ethtool_source = {
	.name = "ethtool",
	.lost = "driver settings and statistics (ethtool)",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(ethtool_source);
