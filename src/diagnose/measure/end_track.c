/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/end_track.h"

#include <math.h>

#include "snapshot/netlink/translation.h"
#include "snapshot/socket/socket.h"

/* Samples of all connections that are kept: some 100 MB. */
#define SAMPLES_MAX 1000000
/* Hosts one behind the other that translate the same connection. */
#define NAT_MAX 4

/* --- collecting --- */

struct end_key end_key_make(const struct addr *laddr, uint16_t lport, const struct addr *raddr, uint16_t rport)
{
	struct end_key key;

	memset(&key, 0, sizeof(key)); /* compared as bytes */
	key.laddr = *laddr;
	key.raddr = *raddr;
	key.lport = lport;
	key.rport = rport;
	return key;
}

static uint64_t known32(uint32_t value)
{
	return value == UINT32_MAX ? UINT64_MAX : value;
}

/* When something happened that was AGE ago; more than a day: never. */
static uint64_t moment_of(uint64_t now_ns, uint64_t age_ns)
{
	return age_ns >= UINT64_C(86400000000000) || age_ns > now_ns ? 0 : now_ns - age_ns;
}

static struct end_sample sample_of(const struct tcp_record *t, uint64_t now_ns)
{
	return (struct end_sample){
		.time_ns = now_ns,
		.sent = t->bytes_sent == UINT64_MAX || t->bytes_retrans == UINT64_MAX
				? UINT64_MAX
				: t->bytes_sent - min_of(t->bytes_retrans, t->bytes_sent),
		.sent_segs = known32(t->data_segs_out),
		.retrans_segs = known32(t->total_retrans),
		.twice_segs = known32(t->dsack_dups),
		/* The SYN counts as one. */
		.acked = t->bytes_acked == UINT64_MAX || t->bytes_acked == 0 ? t->bytes_acked : t->bytes_acked - 1,
		.received = t->bytes_received,
		.received_segs = known32(t->data_segs_in),
		.last_sent_ns = moment_of(now_ns, t->last_sent_ns),
		.last_received_ns = moment_of(now_ns, t->last_received_ns),
		.last_ack_ns = moment_of(now_ns, t->last_ack_ns),
	};
}

static bool is_same(const struct end_sample *a, const struct end_sample *b)
{
	return a->sent == b->sent && a->sent_segs == b->sent_segs && a->acked == b->acked &&
	       a->received == b->received && a->received_segs == b->received_segs;
}

/* Of a connection at rest the first and the last sample are kept: both say when it was so. */
static void push(struct end_pairs *pairs, struct end_history *history, const struct end_sample *sample)
{
	size_t count = history->samples.count;
	struct end_sample *items = history->samples.items;

	if (count >= 2 && is_same(&items[count - 1], sample) && is_same(&items[count - 2], sample)) {
		items[count - 1] = *sample;
		return;
	}
	if (pairs->samples >= SAMPLES_MAX) {
		pairs->refused++;
		return;
	}
	pairs->samples++;
	vec_push(&history->samples, *sample);
}

static void add_name(struct end_pairs *pairs, const struct end_key *from, const struct end_key *to)
{
	bool is_new;
	struct end_name *name = map_put(&pairs->names, from, &is_new);

	if (!name)
		return;
	name->reused = !is_new && (name->reused || memcmp(&name->key, to, sizeof(*to)) != 0);
	name->key = *to;
}

/* END_HERE may be the client or the server of it. */
void end_pairs_translate(struct end_pairs *pairs, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, translation_type, const struct translation_record, t) {
		struct end_key client = end_key_make(&t->laddr, t->lport, &t->raddr, t->rport);
		struct end_key server = end_key_make(&t->nat_raddr, t->nat_rport, &t->nat_laddr, t->nat_lport);
		struct end_key to_client = end_key_make(&t->nat_laddr, t->nat_lport, &t->nat_raddr, t->nat_rport);
		struct end_key to_server = end_key_make(&t->raddr, t->rport, &t->laddr, t->lport);

		add_name(pairs, &to_client, &client);
		add_name(pairs, &to_server, &server);
	}
}

struct end_key end_pairs_name(const struct end_pairs *pairs, const struct addr *laddr, uint16_t lport,
			      const struct addr *raddr, uint16_t rport)
{
	struct end_key direct = end_key_make(raddr, rport, laddr, lport), key = direct;

	for (unsigned i = 0; i <= NAT_MAX; i++) {
		const struct end_name *name;

		if (map_get(&pairs->pairs, &key))
			return key;
		name = map_get(&pairs->names, &key);
		if (!name || name->reused)
			break;
		key = name->key;
	}
	return direct;
}

static struct end_pair *pair_of(struct end_pairs *pairs, enum end_side side, const struct socket_record *s)
{
	struct end_key key = side == END_HERE ? end_key_make(&s->laddr, s->lport, &s->raddr, s->rport)
					      : end_pairs_name(pairs, &s->laddr, s->lport, &s->raddr, s->rport);
	struct end_pair **slot = side == END_HERE ? map_put(&pairs->pairs, &key, NULL) : map_get(&pairs->pairs, &key);

	if (slot && !*slot)
		*slot = xzalloc(sizeof(**slot));
	return slot ? *slot : NULL;
}

void end_pairs_add(struct end_pairs *pairs, enum end_side side, const struct snapshot *snapshot)
{
	uint64_t boot_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	uint64_t now_ns = snapshot->begin_time_ns + (boot_ns - snapshot->begin_boot_ns);

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = s->proto == 6 && s->rport ? socket_tcp(snapshot, s) : NULL;
		struct end_history *history;
		struct end_pair *pair;
		struct end_sample sample;

		if (!t || s->state == SOCKET_LISTEN || s->state == SOCKET_TIME_WAIT)
			continue;
		pair = pair_of(pairs, side, s);
		if (!pair)
			continue;
		history = &pair->sides[side];
		pair->reused |= history->cookie && history->cookie != s->cookie;
		history->cookie = s->cookie;
		sample = sample_of(t, now_ns);
		if (!pair->reused)
			push(pairs, history, &sample);
	}
}

static void pair_free(struct end_pair *pair)
{
	if (!pair)
		return;
	vec_done(&pair->sides[END_HERE].samples);
	vec_done(&pair->sides[END_THERE].samples);
	free(pair);
}

size_t end_pairs_match(struct end_pairs *pairs)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&pairs->pairs, &at, &key, &value)) {
		struct end_pair *pair = *(struct end_pair **)value;

		if (pair->sides[END_THERE].cookie)
			continue;
		pair_free(pair);
		(void)map_remove(&pairs->pairs, key);
	}
	return pairs->pairs.count;
}

struct end_pair *end_pairs_find(const struct end_pairs *pairs, const struct end_key *key)
{
	struct end_pair *const *slot = map_get(&pairs->pairs, key);

	return slot ? *slot : NULL;
}

void end_pairs_done(struct end_pairs *pairs)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&pairs->pairs, &at, &key, &value))
		pair_free(*(struct end_pair **)value);
	map_done(&pairs->pairs);
	map_done(&pairs->names);
}

/* --- clocks --- */

static void bound_from_below(struct clock_bound *bound, int64_t low_ns)
{
	bound->low_ns = bound->has_low ? max_of(bound->low_ns, low_ns) : low_ns;
	bound->has_low = true;
}

static void bound_from_above(struct clock_bound *bound, int64_t high_ns)
{
	bound->high_ns = bound->has_high ? min_of(bound->high_ns, high_ns) : high_ns;
	bound->has_high = true;
}

/*
 * Bounds of the clock of the receiver less that of the sender. A byte that the receiver has was sent before: for each
 * sample of the sender, the first one of the receiver that is ahead of it is later. What is acknowledged has arrived
 * before: for each sample of the sender, the last one of the receiver behind what it saw acknowledged is earlier.
 */
static void align_stream(const struct end_history *from, const struct end_history *to, struct clock_bound *bound)
{
	size_t ahead = 0, behind = 0;

	vec_each(&from->samples, s) {
		if (s->sent == UINT64_MAX || s->acked == UINT64_MAX)
			continue;
		while (ahead < to->samples.count && to->samples.items[ahead].received <= s->sent)
			ahead++;
		if (ahead < to->samples.count)
			bound_from_above(bound, (int64_t)(to->samples.items[ahead].time_ns - s->time_ns) + END_TICK_NS);
		while (behind < to->samples.count && to->samples.items[behind].received < s->acked)
			behind++;
		if (behind > 0)
			bound_from_below(bound,
					 (int64_t)(to->samples.items[behind - 1].time_ns - s->time_ns) - END_TICK_NS);
	}
}

/*
 * Where both ends rest at the same position, the kernel's moments of the last segment and of the last ACK narrow it
 * down to the RTT. A connection that retransmitted is left out: which of the copies arrived is not known.
 */
static void align_moments(const struct end_history *from, const struct end_history *to, struct clock_bound *bound)
{
	size_t j = 0;

	vec_each(&from->samples, s) {
		const struct end_sample *r;

		if (s->retrans_segs != 0 || s->sent == UINT64_MAX || s->sent == 0 || s->acked < s->sent)
			continue;
		while (j < to->samples.count && to->samples.items[j].received < s->sent)
			j++;
		r = j < to->samples.count ? &to->samples.items[j] : NULL;
		if (!r || r->received != s->sent || !r->last_received_ns || !s->last_sent_ns || !s->last_ack_ns)
			continue;
		bound_from_above(bound, (int64_t)(r->last_received_ns - s->last_sent_ns) + END_TICK_NS);
		bound_from_below(bound, (int64_t)(r->last_received_ns - s->last_ack_ns) - END_TICK_NS);
	}
}

struct clock_bound end_pairs_align(const struct end_pairs *pairs)
{
	/* Of the other end's clock less this one's, from streams to it; and the reverse, from streams from it. */
	struct clock_bound there = {}, here = {};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&pairs->pairs, &at, &key, &value)) {
		const struct end_pair *pair = *(struct end_pair **)value;

		if (pair->reused)
			continue;
		align_stream(&pair->sides[END_HERE], &pair->sides[END_THERE], &there);
		align_stream(&pair->sides[END_THERE], &pair->sides[END_HERE], &here);
		align_moments(&pair->sides[END_HERE], &pair->sides[END_THERE], &there);
		align_moments(&pair->sides[END_THERE], &pair->sides[END_HERE], &here);
	}
	if (here.has_low)
		bound_from_above(&there, -here.low_ns);
	if (here.has_high)
		bound_from_below(&there, -here.high_ns);
	return there;
}

int64_t clock_bound_offset(const struct clock_bound *bound, uint64_t *ret_error_ns)
{
	int64_t width = bound->high_ns - bound->low_ns;

	*ret_error_ns = UINT64_MAX;
	if (!bound->has_low || !bound->has_high)
		return bound->has_low && bound->low_ns > 0     ? bound->low_ns
		       : bound->has_high && bound->high_ns < 0 ? bound->high_ns
							       : 0;
	if (bound->low_ns <= 0 && bound->high_ns >= 0) {
		*ret_error_ns = (uint64_t)max_of(-bound->low_ns, bound->high_ns);
		return 0;
	}
	/* A clock that was set meanwhile may contradict itself. */
	*ret_error_ns = (uint64_t)(width < 0 ? -width : width) / 2;
	return bound->low_ns + width / 2;
}

/* --- positions --- */

const struct end_sample *end_history_at(const struct end_history *history, uint64_t time_ns)
{
	size_t low = 0, high = history->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (history->samples.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &history->samples.items[low - 1] : NULL;
}

uint64_t end_pair_position(const struct end_pair *pair, enum end_side from, uint64_t time_ns)
{
	const struct end_history *to = &pair->sides[!from];
	const struct end_sample *sent = end_history_at(&pair->sides[from], time_ns);

	if (!sent || sent->sent == UINT64_MAX || to->samples.count == 0)
		return UINT64_MAX;
	return min_of(sent->sent, to->samples.items[to->samples.count - 1].received);
}

double end_history_repeated(const struct end_history *sender, uint64_t begin_ns, uint64_t end_ns)
{
	const struct end_sample *a = end_history_at(sender, begin_ns), *b = end_history_at(sender, end_ns);
	uint64_t sent, again, twice;

	if (!a || a->retrans_segs == UINT64_MAX || a->sent_segs == UINT64_MAX || b->sent_segs <= a->sent_segs)
		return NAN;
	sent = b->sent_segs - a->sent_segs;
	again = b->retrans_segs - min_of(a->retrans_segs, b->retrans_segs);
	twice = a->twice_segs == UINT64_MAX ? 0 : b->twice_segs - min_of(a->twice_segs, b->twice_segs);
	return (double)(again - min_of(twice, again)) / (double)sent;
}

/* A counter of segments over the position in the stream, as sampled at one end. */
struct knot {
	uint64_t position;
	uint64_t segs;
};

static struct knot knot_at(const struct end_history *history, bool sender, size_t i)
{
	const struct end_sample *s = &history->samples.items[i];

	return sender ? (struct knot){s->sent, s->sent_segs} : (struct knot){s->received, s->received_segs};
}

/* Segments up to a position; between two samples in proportion to the bytes. Where it rested, those of the last one. */
static bool segs_at(const struct end_history *history, bool sender, uint64_t position, double *ret_segs)
{
	size_t low = 0, high = history->samples.count;
	struct knot before, after;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (knot_at(history, sender, middle).position <= position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	before = knot_at(history, sender, low - 1);
	*ret_segs = (double)before.segs;
	if (before.segs == UINT64_MAX)
		return false;
	if (before.position == position || low == history->samples.count)
		return before.position == position;
	after = knot_at(history, sender, low);
	if (after.segs == UINT64_MAX || after.segs < before.segs)
		return false;
	*ret_segs += (double)(after.segs - before.segs) * (double)(position - before.position) /
		     (double)(after.position - before.position);
	return true;
}

bool end_pair_loss(const struct end_pair *pair, enum end_side from, uint64_t begin, uint64_t end,
		   struct end_loss *ret_loss)
{
	const struct end_history *sender = &pair->sides[from], *receiver = &pair->sides[!from];
	double sent_before, sent_after, arrived_before, arrived_after;

	if (pair->reused || begin >= end || end == UINT64_MAX || !segs_at(sender, true, begin, &sent_before) ||
	    !segs_at(sender, true, end, &sent_after) || !segs_at(receiver, false, begin, &arrived_before) ||
	    !segs_at(receiver, false, end, &arrived_after))
		return false;
	ret_loss->sent_segs = (uint64_t)(sent_after - sent_before + 0.5);
	ret_loss->arrived_segs = (uint64_t)(arrived_after - arrived_before + 0.5);
	return true;
}
