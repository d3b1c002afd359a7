/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/wifi_scan.h"

#include <errno.h>
#include <unistd.h>

#include "event/core/event.h"

/* Exists once cfg80211 is built in or loaded. */
#define WIRELESS "/sys/class/ieee80211"

#define W        struct wifi_scan
static const struct field scan_fields[] = {
	FIELD(W, phy, TEXT, "wireless device (phy)"),
	FIELD(W, dev, TEXT, "interface"),
	FIELD(W, channels, COUNT, "requested channels", .zero_is_unknown = true),
	FIELD(W, ssids, COUNT, "requested SSIDs; an empty one matches any", .hidden = true),
	FIELD(W, lat_ns, DURATION, "duration of the scan; unknown if it began before the run"),
	FIELD(W, error, ENUM, "ECANCELED: aborted", .names = &errno_names, .zero_is_unknown = true),
};
#undef W

static int check_wireless(struct why *why)
{
	if (access(WIRELESS, F_OK) < 0)
		return why_set(why, -ENOTSUP,
			       "this kernel has no Wi-Fi (cfg80211 is neither built in nor loaded: no %s)", WIRELESS);
	return 0;
}

static const struct event_role scan_roles[] = {
	{
		.name = "scans",
		.hooks = {{.programs = {"wifi_scan_begun", "wifi_scan_ended"}, .check = check_wireless},
			  {.programs = {"wifi_scan_function_begun", "wifi_scan_function_ended"},
			   .check = check_wireless}},
	},
};
EVENT_TYPE(wifi_scan, "wifi.scan", struct wifi_scan, scan_fields, scan_roles, "completed Wi-Fi scan", .current = true);
