/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* wifi.scan: a Wi-Fi scan ended. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

#define WIFI_PHY_LEN 16

struct wifi_scan {
	__u64 lat_ns;
	char phy[WIFI_PHY_LEN];
	char dev[PACKET_DEV_LEN];
	__u32 channels;
	__u32 ssids;
	__u32 error; /* errno */
	__u32 unused;
};

struct wifi_scan_event {
	struct event_head head;
	struct wifi_scan data;
};
