/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/drop_flow.h"

#include <stdio.h>
#include <string.h>

#define TCP 6
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
/* Longer than the headers of an acknowledgement: somebody sends. */
#define DATA_BYTES 100
/* The smallest MTU that IPv4 hosts must take. */
#define PORT_BYTES 576

static struct drop_flow_key key_of(const struct drop_record *drop)
{
	struct drop_flow_key key;

	memset(&key, 0, sizeof(key));
	key.laddr = drop->laddr;
	key.raddr = drop->raddr;
	key.lport = drop->lport;
	key.rport = drop->rport;
	key.proto = drop->proto;
	key.dir = drop->dir;
	/* Before it has a header, a packet is known by its socket alone. */
	if (key.laddr.family == ADDR_UNKNOWN)
		key.cookie = drop->cookie;
	return key;
}

/* Several records make up a flow: other places, flags or sockets. */
void drop_flow_sample(struct window *window, struct map *flows, uint64_t sample, const struct drop_record *drop)
{
	enum drop_class class = drop_class_of(drop->reason, drop->place);
	struct drop_flow_key key = key_of(drop);
	struct drop_flow *flow;

	/* A connection at its end has nobody who waits for it. */
	if (class == DROP_FIREWALL && drop->proto == TCP && drop->flags & (FIN | RST))
		return;
	/* The other end of a link that is down drops small ones as well. */
	if (class == DROP_PORT && drop->bytes < PORT_BYTES * drop->packets)
		return;
	/* Flows beyond the cap are nobody's in particular. */
	if (class == DROP_NONE || (drop->laddr.family == ADDR_UNKNOWN && (!drop->cookie || !~drop->cookie)))
		return;
	flow = map_put(flows, &key, NULL);
	if (!flow) {
		window->lost++;
		return;
	}
	(void)track_see(window, &flow->track);
	flow->key = key;
	if (flow->sample != sample) {
		memset(flow->now, 0, sizeof(flow->now));
		flow->now_bytes = 0;
		flow->first_ns = UINT64_MAX;
	}
	flow->sample = sample;
	flow->now[class] += drop->packets;
	flow->now_bytes += drop->bytes;
	flow->first_ns = min_of(flow->first_ns, drop->first_ns);
	flow->last_ns = max_of(flow->last_ns, drop->last_ns);
	if (drop->cookie && drop->cookie != UINT64_MAX)
		flow->cookie = drop->cookie;
	flow->has_data |=
		drop->proto == TCP && drop->flags && !(drop->flags & SYN) && drop->bytes > DATA_BYTES * drop->packets;
	flow->is_open |= drop->proto == TCP && (drop->flags & (SYN | ACK)) == ACK;
	flow->opens |= drop->proto == TCP && (drop->flags & (SYN | ACK)) == SYN;
	memcpy(flow->dev, drop->dev, sizeof(flow->dev));
	snprintf(flow->reason, sizeof(flow->reason), "%s", drop->reason ?: drop->place ?: "");
}

uint64_t drop_flow_class(const struct drop_flow *flow, enum drop_class class)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < DROP_FLOW_KEEP; i++)
		sum += flow->moved[i][class];
	return sum;
}

uint64_t drop_flow_sum(const struct drop_flow *flow)
{
	uint64_t sum = 0;

	for (unsigned class = 0; class < DROP_CLASSES; class ++)
		sum += drop_flow_class(flow, (enum drop_class) class);
	return sum;
}

/* Of the present window; a total that shrank was reset. */
void drop_flow_settle(struct drop_flow *flow)
{
	bool any = false;

	for (unsigned class = 0; class < DROP_CLASSES; class ++) {
		uint64_t now = flow->now[class], base = flow->base[class];

		flow->moved[0][class] = now >= base ? now - base : now;
		any |= flow->moved[0][class] > 0;
	}
	flow->moved_bytes = flow->now_bytes >= flow->base_bytes ? flow->now_bytes - flow->base_bytes : flow->now_bytes;
	flow->moved_ns[0] = any ? flow->last_ns : 0;
	memcpy(flow->base, flow->now, sizeof(flow->base));
	flow->base_bytes = flow->now_bytes;
}

void drop_flow_age(struct drop_flow *flow)
{
	memmove(flow->moved[1], flow->moved[0], sizeof(flow->moved) - sizeof(flow->moved[0]));
	memmove(&flow->moved_ns[1], &flow->moved_ns[0], sizeof(flow->moved_ns) - sizeof(flow->moved_ns[0]));
	memset(flow->moved[0], 0, sizeof(flow->moved[0]));
	flow->moved_ns[0] = 0;
}

uint64_t drop_flow_from_ns(const struct window *window, const struct drop_flow *flow)
{
	uint64_t oldest = 0,
		 begin = window->start_ns - min_of(window->start_ns, (DROP_FLOW_KEEP - 1) * window->span_ns);

	for (unsigned i = 0; i < DROP_FLOW_KEEP; i++)
		if (flow->moved_ns[i])
			oldest = flow->moved_ns[i];
	return flow->first_ns >= begin ? min_of(flow->first_ns, oldest) : oldest;
}
