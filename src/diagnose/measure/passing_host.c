/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/passing_host.h"

#include <string.h>

#include "base/clock.h"

/* Two connections that time out at once were not unlucky. */
#define GAP_LEAST_NS (350 * NSEC_PER_MSEC)
#define GAP_FLOWS    2
#define GAP_REPEATS  2
#define HOSTS_MAX    20000
/* Retransmissions to a host that is silent are up to two minutes apart; of others there is nothing to remember. */
#define FORGET_WINDOWS 120

static struct passing_host *host_of(struct passing_hosts *hosts, const struct addr *addr, uint64_t sample)
{
	struct passing_host *host;

	if (hosts->tracks.value_size == 0)
		hosts->tracks = MAP_INIT(sizeof(struct addr), sizeof(struct passing_host), HOSTS_MAX);
	host = map_put(&hosts->tracks, addr, NULL);
	if (host && host->sample != sample) {
		host->sample = sample;
		host->from = host->repeats = host->flows = 0;
	}
	return host;
}

static void see(struct passing_host *host, const struct passing_step *step)
{
	if (step->packets > 0)
		host->idle_windows = 0;
}

void passing_hosts_note(struct passing_hosts *hosts, uint64_t sample, const struct passing_step *step)
{
	struct passing_host *host = host_of(hosts, step->source, sample);

	if (host) {
		host->from += step->packets;
		see(host, step);
	}
	host = host_of(hosts, step->target, sample);
	if (host) {
		see(host, step);
		host->repeats += step->repeats;
		host->flows += step->repeats > 0;
	}
}

static bool is_gap(const struct passing_host *host, uint64_t now_ns)
{
	return host->quiet_since_ns && now_ns - host->quiet_since_ns >= GAP_LEAST_NS &&
	       host->quiet_flows >= GAP_FLOWS && host->quiet_repeats >= GAP_REPEATS;
}

/* It ends with the first packet from the host; what is retransmitted meanwhile belongs to it. */
static void end_gap(struct passing_host *host, uint64_t now_ns)
{
	if (is_gap(host, now_ns)) {
		host->gaps[0]++;
		host->gap_ns[0] = max_of(host->gap_ns[0], now_ns - host->quiet_since_ns);
		host->gap_repeats[0] += host->quiet_repeats;
	}
	host->quiet_since_ns = host->quiet_repeats = host->quiet_flows = 0;
}

static void end_sample(struct passing_host *host, uint64_t now_ns, uint64_t before_ns)
{
	host->all_repeats[0] += host->repeats;
	if (host->from == 0 && !host->quiet_since_ns)
		host->quiet_since_ns = before_ns;
	if (host->quiet_since_ns) {
		host->quiet_repeats += host->repeats;
		host->quiet_flows = max_of(host->quiet_flows, host->flows);
	}
	if (host->from > 0)
		end_gap(host, now_ns);
}

void passing_hosts_end_sample(struct passing_hosts *hosts, uint64_t sample, uint64_t now_ns, uint64_t before_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (before_ns && map_next(&hosts->tracks, &at, &key, &value)) {
		/* Nothing was noted of one that is quiet in both directions. */
		(void)host_of(hosts, key, sample);
		end_sample(value, now_ns, before_ns);
	}
}

const struct passing_host *passing_hosts_find(const struct passing_hosts *hosts, const struct addr *addr)
{
	return hosts->tracks.value_size ? map_get(&hosts->tracks, addr) : NULL;
}

static void age(uint64_t *windows)
{
	memmove(&windows[1], &windows[0], (PASSING_WINDOWS - 1) * sizeof(windows[0]));
	windows[0] = 0;
}

void passing_hosts_end_window(struct passing_hosts *hosts)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&hosts->tracks, &at, &key, &value)) {
		struct passing_host *host = value;

		age(host->gaps);
		age(host->gap_ns);
		age(host->gap_repeats);
		age(host->all_repeats);
		if (++host->idle_windows > FORGET_WINDOWS)
			(void)map_remove(&hosts->tracks, key);
	}
}

void passing_hosts_done(struct passing_hosts *hosts)
{
	map_done(&hosts->tracks);
}
