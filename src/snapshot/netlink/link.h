/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces and their counters: type "link"; their addresses: type "address". */
#pragma once

#include "base/vec.h"
#include "snapshot/core/nl.h"

struct link_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	char kind[16]; /* veth, bridge, vxlan ...; empty for hardware and loopback */
	uint32_t flags;
	uint8_t operstate;
	uint8_t carrier;
	uint32_t carrier_changes;
	uint32_t mtu;
	uint32_t tx_queue_len;
	char qdisc[16];
	uint32_t master;
	uint32_t lower;       /* lower interface (vlan, tunnel) or peer (veth) */
	uint32_t lower_netns; /* nsid of its namespace, if another */
	char mac[24];
	uint64_t speed;     /* bits per second */
	uint64_t speed_max; /* of the fastest mode that the device supports */
	uint64_t bus_rate;  /* bits per second that its PCIe link carries in one direction */
	uint8_t duplex;
	uint64_t rx_bytes, tx_bytes;
	uint64_t rx_packets, tx_packets;
	uint64_t rx_errors, tx_errors;
	uint64_t rx_dropped, tx_dropped;
	uint64_t multicast, collisions;
	uint64_t rx_length_errors, rx_over_errors, rx_crc_errors, rx_frame_errors, rx_fifo_errors, rx_missed_errors;
	uint64_t tx_aborted_errors, tx_carrier_errors, tx_fifo_errors, tx_heartbeat_errors, tx_window_errors;
	uint64_t rx_nohandler;
};

struct address_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	struct addr laddr;
	uint8_t prefix; /* in bits of the address family */
	uint8_t scope;
};

extern const struct record_type link_type;
extern const struct record_type address_type;

nl_parse_fn link_parse_message;
nl_parse_fn address_parse_message;

/* Cache of interface names of the current namespace. */
struct dev_names {
	VEC(struct dev_name {
		uint32_t ifindex;
		char name[16];
	})
	items;
};
#define _cleanup_dev_names_ _cleanup_(dev_names_done)
void dev_names_done(struct dev_names *names);
/* Writes up to 16 bytes; unchanged if there is no such interface. */
void dev_name_get(struct dev_names *names, uint32_t ifindex, char *name);
