// SPDX-License-Identifier: GPL-2.0-only
/*
 * wifi.scan: from the request to the end of a scan, joined by the request. The requester is the process running at the
 * start; the end comes from the driver's threads. The types are those of cfg80211: without it nothing of this is
 * loaded.
 */
#include "event/dev/wifi_scan.h"
#include "event/bpf/fd.bpf.h"

#define ECANCELED 125

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kobject {
	const char *name;
};

struct device {
	struct kobject kobj;
	const char *init_name;
};

struct wiphy {
	struct device dev;
};

struct wireless_dev {
	struct net_device *netdev;
};

struct cfg80211_scan_request {
	__u32 n_ssids;
	__u32 n_channels;
	struct wiphy *wiphy;
	struct wireless_dev *wdev;
};

/* Passed instead of cfg80211_scan_request since Linux 6.17. */
struct cfg80211_scan_request_int {
	struct cfg80211_scan_request req;
};

struct cfg80211_scan_info {
	bool aborted;
};
#pragma clang attribute pop

EVENT(wifi_scan, struct wifi_scan_event)

struct scan {
	__u64 began_ns;
	struct sock_owner owner;
	__u32 netns;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, struct scan);
} wifi_scan_open SEC(".maps");

static __always_inline int begun(const void *request)
{
	__u64 key = event_address(request);
	struct scan scan = {.began_ns = bpf_ktime_get_boot_ns(), .netns = event_current_netns()};

	event_fill_owner(&scan.owner);
	bpf_map_update_elem(&wifi_scan_open, &key, &scan, BPF_ANY);
	return 0;
}

static __always_inline void set_request(struct wifi_scan *scan, const void *pointer)
{
	const struct cfg80211_scan_request *request = pointer;
	const char *name;

	if (!bpf_core_type_exists(struct cfg80211_scan_request))
		return;
	if (bpf_core_type_exists(struct cfg80211_scan_request_int))
		request = pointer + bpf_core_field_offset(struct cfg80211_scan_request_int, req);
	scan->channels = BPF_CORE_READ(request, n_channels);
	scan->ssids = BPF_CORE_READ(request, n_ssids);
	BPF_CORE_READ_STR_INTO(&scan->dev, request, wdev, netdev, name);
	name = BPF_CORE_READ(request, wiphy, dev.init_name);
	if (!name)
		name = BPF_CORE_READ(request, wiphy, dev.kobj.name);
	bpf_probe_read_kernel_str(scan->phy, sizeof(scan->phy), name);
}

static __always_inline bool was_aborted(const struct cfg80211_scan_info *info)
{
	return bpf_core_type_exists(struct cfg80211_scan_info) && BPF_CORE_READ(info, aborted);
}

static __always_inline int ended(void *ctx, const void *request, const void *info)
{
	__u64 key = event_address(request);
	struct scan *scan = bpf_map_lookup_elem(&wifi_scan_open, &key);
	struct wifi_scan_event *e = wifi_scan_begin();

	if (!e)
		return 0;
	e->data.lat_ns = EVENT_UNKNOWN64;
	if (scan) {
		e->data.lat_ns = bpf_ktime_get_boot_ns() - scan->began_ns;
		e->head.pid = scan->owner.pid_tgid >> 32;
		e->head.tid = (__u32)scan->owner.pid_tgid;
		e->head.uid = scan->owner.uid;
		e->head.cgroup_id = scan->owner.cgroup_id;
		__builtin_memcpy(e->head.comm, scan->owner.comm, sizeof(e->head.comm));
		e->head.netns = scan->netns;
	}
	set_request(&e->data, request);
	e->data.error = was_aborted(info) ? ECANCELED : 0;
	bpf_map_delete_elem(&wifi_scan_open, &key);
	return wifi_scan_end(ctx, e);
}

/* wiphy, request */
SEC("raw_tp/rdev_scan")
int wifi_scan_begun(struct bpf_raw_tracepoint_args *ctx)
{
	return begun((const void *)ctx->args[1]);
}

/* request, info */
SEC("raw_tp/cfg80211_scan_done")
int wifi_scan_ended(struct bpf_raw_tracepoint_args *ctx)
{
	return ended(ctx, (const void *)ctx->args[0], (const void *)ctx->args[1]);
}

/* The functions behind them, for mac80211 drivers. */
SEC("kprobe/ieee80211_scan")
int BPF_KPROBE(wifi_scan_function_begun, const void *wiphy, const void *request)
{
	return begun(request);
}

SEC("kprobe/cfg80211_scan_done")
int BPF_KPROBE(wifi_scan_function_ended, const void *request, const void *info)
{
	return ended(ctx, request, info);
}
