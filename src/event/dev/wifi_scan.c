/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/wifi_scan.h"

#include <errno.h>
#include <unistd.h>

#include "event/core/event.h"

/* There once the kernel's part for wireless networks is. */
#define WIRELESS "/sys/class/ieee80211"

#define W        struct wifi_scan
static const struct field scan_fields[] = {
	FIELD(W, phy, TEXT, "radio"),
	FIELD(W, dev, TEXT, "interface"),
	FIELD(W, channels, COUNT, "channels that were asked for", .zero_is_unknown = true),
	FIELD(W, ssids, COUNT, "names of networks that were asked for; an empty one stands for any", .hidden = true),
	FIELD(W, lat_ns, DURATION, "from the request to the end; unknown when it began before the run"),
	FIELD(W, error, ENUM, "ECANCELED: it was broken off", .names = &errno_names, .zero_is_unknown = true),
};
#undef W

static int check_wireless(struct why *why)
{
	if (access(WIRELESS, F_OK) < 0)
		return why_set(why, -ENOTSUP,
			       "this kernel has no wireless networks (cfg80211 is neither built in nor loaded: no %s)",
			       WIRELESS);
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
EVENT_TYPE(wifi_scan, "wifi.scan", struct wifi_scan, scan_fields, scan_roles,
	   "a search for wireless networks has ended", .current = true);
