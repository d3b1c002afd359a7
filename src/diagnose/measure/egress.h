/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a connection's packets pass on this host: route, neighbour, interface, queue. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct egress_measures {
	char dev[16];
	uint8_t link_up; /* these three: all bits set when unknown */
	uint8_t link_carrier;
	uint64_t link_changes, link_changes_recent, link_changes_ever;
	uint64_t link_mtu;
	uint64_t link_rx_packets, link_tx_packets;
	uint64_t link_rx_errors, link_tx_errors, link_rx_dropped, link_tx_dropped;
	uint64_t link_rx_missed;
	uint64_t link_filling;
	uint64_t link_speed, link_speed_max, link_bus_rate; /* bytes per second */
	double link_rx_use, link_tx_use;
	double link_rx_bus_use, link_tx_bus_use;
	char qdisc_kind[16];
	uint64_t qdisc_drops, qdisc_overlimits;
	uint64_t qdisc_backlog_min, qdisc_backlog_peak;
	double qdisc_backlog_share;
	uint64_t tc_drops;
	uint64_t qdisc_rate, qdisc_sent_rate;
	double qdisc_use;
	uint64_t qdisc_delay_ns;
	uint16_t route_error;
	uint8_t route_kind;
	struct addr gateway;
	uint64_t route_mtu;
	uint16_t neigh_state;
	uint8_t neigh_failed;
	uint8_t laddr_gone;
	char tunnel_kind[16];
	uint32_t tunnel_pid;
	double tunnel_stopped_share;
};

extern const struct record_type egress_measures_type;
