// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "relay_frame.h"
#include "relay_line.h"

/* A full Ethernet frame with its vnet header; larger packets are rare and not pooled. */
#define SPARE_ROOM 1536u
/* Jitter interpolates linearly between random values, this far apart. */
#define JITTER_SLOT_NS (10 * NS_PER_MS)
#define REORDER_MIN_NS NS_PER_MS
#define BURST_ONE      1000u

void line_init(struct line *line, const char *name, const struct line *other)
{
	*line = (struct line){
		.name = name,
		.other = other,
		.set = {.burst_milli = BURST_ONE, .limit_bytes = 1000 * 1000},
		.jitter_slot = UINT64_MAX,
	};
}

static struct packet *packet_new(struct line *line, const void *data, size_t len)
{
	struct packet *packet = line->spare;

	if (len <= SPARE_ROOM && packet) {
		line->spare = packet->next;
	} else {
		size_t room = max_of(len, (size_t)SPARE_ROOM);

		packet = xmalloc(sizeof(*packet) + room);
		packet->room = (uint32_t)room;
	}
	packet->next = NULL;
	packet->len = (uint32_t)len;
	memcpy(packet->data, data, len);
	line->held_packets++;
	line->held_bytes += sizeof(*packet) + packet->room;
	return packet;
}

void line_recycle(struct line *line, struct packet *packet)
{
	line->held_packets--;
	line->held_bytes -= sizeof(*packet) + packet->room;
	if (packet->room == SPARE_ROOM) {
		packet->next = line->spare;
		line->spare = packet;
	} else {
		free(packet);
	}
}

static void list_free(struct packet *packet)
{
	while (packet) {
		struct packet *next = packet->next;

		free(packet);
		packet = next;
	}
}

void line_done(struct line *line)
{
	list_free(line->head);
	list_free(line->spare);
	vec_each(&line->heap, p)
		free(*p);
	vec_done(&line->heap);
}

static bool packet_before(const struct packet *a, const struct packet *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void heap_push(struct line *line, struct packet *packet)
{
	size_t i = line->heap.count;

	packet->order = line->order++;
	vec_push(&line->heap, packet);
	while (i > 0 && packet_before(packet, line->heap.items[(i - 1) / 2])) {
		line->heap.items[i] = line->heap.items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	line->heap.items[i] = packet;
}

static struct packet *heap_pop(struct line *line)
{
	struct packet **items = line->heap.items, *top = items[0], *last;
	size_t i = 0, n = --line->heap.count;

	if (n == 0)
		return top;
	last = items[n];
	for (size_t child = 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && packet_before(items[child + 1], items[child]))
			child++;
		if (!packet_before(items[child], last))
			break;
		items[i] = items[child];
		i = child;
	}
	items[i] = last;
	return top;
}

static int64_t jitter_draw(struct line *line)
{
	uint64_t width = 2 * line->set.jitter_ns + 1;

	return (int64_t)rng_below(&line->rng, width) - (int64_t)line->set.jitter_ns;
}

/*
 * Adjacent packets get nearly the same delay, so a dense flow keeps its order, as on a real path. Independent values
 * would reorder every dense flow; that is what `reorder` is for.
 */
static int64_t jitter_at(struct line *line, uint64_t at_ns)
{
	uint64_t slot = at_ns / JITTER_SLOT_NS;
	int64_t within = (int64_t)(at_ns % JITTER_SLOT_NS);

	if (line->set.jitter_ns == 0)
		return 0;
	if (slot != line->jitter_slot) {
		line->jitter_from_ns = slot == line->jitter_slot + 1 ? line->jitter_to_ns : jitter_draw(line);
		line->jitter_to_ns = jitter_draw(line);
		line->jitter_slot = slot;
	}
	return line->jitter_from_ns +
	       (line->jitter_to_ns - line->jitter_from_ns) / 1000 * within / (int64_t)(JITTER_SLOT_NS / 1000);
}

/* The packet left the link at at_ns and enters the delay line. */
static void delay_enter(struct line *line, struct packet *packet, uint64_t at_ns)
{
	int64_t delay = (int64_t)line->set.delay_ns + jitter_at(line, at_ns);

	packet->due_ns = max_of(at_ns + (uint64_t)max_of(delay, 0), line->last_due_ns);
	if (rng_chance(&line->rng, line->set.reorder_ppm)) {
		uint64_t hold = line->set.reorder_ns ? line->set.reorder_ns : line->set.delay_ns / 2;

		packet->due_ns += max_of(hold, REORDER_MIN_NS);
		line->stats.reordered++;
	} else {
		line->last_due_ns = packet->due_ns;
	}
	heap_push(line, packet);
}

static void link_leave(struct line *line, struct packet *packet, uint64_t at_ns)
{
	bool twice = rng_chance(&line->rng, line->set.dup_ppm) && line->held_bytes < LINE_MEMORY_MAX;

	if (twice) {
		struct packet *copy = packet_new(line, packet->data, packet->len);

		line->stats.duplicated++;
		delay_enter(line, packet, at_ns);
		delay_enter(line, copy, at_ns);
	} else {
		delay_enter(line, packet, at_ns);
	}
}

static uint64_t link_time_ns(const struct line *line, const struct packet *packet)
{
	if (line->set.rate_bps == 0)
		return 0;
	return (packet->len - FRAME_VNET_LEN) * 8ull * NS_PER_S / line->set.rate_bps;
}

void line_configure(struct line *line, const struct line_settings *set, uint64_t now_ns)
{
	line->set = *set;
	if (line->head)
		line->head_done_ns = min_of(line->head_done_ns, now_ns + link_time_ns(line, line->head));
}

/*
 * Moves transmitted packets into the delay line. Times count from when the link became free, not from this call: a late
 * wakeup does not delay later packets.
 */
static void link_run(struct line *line, uint64_t now_ns)
{
	while (line->head && line->head_done_ns <= now_ns) {
		struct packet *packet = line->head;
		uint64_t done_ns = line->head_done_ns;

		line->head = packet->next;
		line->queue_bytes -= packet->len - FRAME_VNET_LEN;
		line->queue_packets--;
		if (line->head)
			line->head_done_ns = done_ns + link_time_ns(line, line->head);
		packet->next = NULL;
		link_leave(line, packet, done_ns);
	}
}

static void link_enter(struct line *line, struct packet *packet, uint64_t now_ns)
{
	if (line->set.rate_bps == 0 && !line->head) {
		link_leave(line, packet, now_ns);
		return;
	}
	if (line->head)
		line->tail->next = packet;
	else
		line->head = packet;
	if (line->head == packet)
		line->head_done_ns = now_ns + link_time_ns(line, packet);
	line->tail = packet;
	line->queue_bytes += packet->len - FRAME_VNET_LEN;
	line->queue_packets++;
}

/*
 * Gilbert model: two states, good and bad; all packets in the bad state are lost. The transition probabilities follow
 * from the loss rate and the mean burst length; a loss rate too high for that length makes bursts longer.
 */
static bool loss_draw(struct line *line)
{
	uint64_t lost = line->set.loss_ppm, kept = PPM - min_of(lost, PPM), into, out;

	if (lost == 0 || lost >= PPM || line->set.burst_milli <= BURST_ONE) {
		line->in_burst = false;
		return rng_chance(&line->rng, lost);
	}
	out = (uint64_t)PPM * BURST_ONE / line->set.burst_milli;
	into = out * lost / kept;
	if (into > PPM) {
		into = PPM;
		out = (uint64_t)PPM * kept / lost;
	}
	if (line->in_burst)
		line->in_burst = !rng_chance(&line->rng, out);
	else
		line->in_burst = rng_chance(&line->rng, into);
	return line->in_burst;
}

/* True: the frame is dropped; counts the reason. */
static bool doorway_stops(struct line *line, const uint8_t *data, size_t len)
{
	const struct line_settings *set = &line->set;

	if (set->hole) {
		line->stats.hole++;
		return true;
	}
	if (set->maxlen && frame_ip_len(data, len) > set->maxlen) {
		line->stats.too_long++;
		return true;
	}
	if (loss_draw(line)) {
		line->stats.lost++;
		return true;
	}
	if (line->other->head && rng_chance(&line->rng, set->collide_ppm)) {
		line->stats.collided++;
		return true;
	}
	if (line->held_bytes >= LINE_MEMORY_MAX ||
	    (line->head && line->queue_bytes + len - FRAME_VNET_LEN > set->limit_bytes)) {
		line->stats.queue_drops++;
		return true;
	}
	return false;
}

void line_arrive(struct line *line, const void *data, size_t len, uint64_t now_ns)
{
	struct packet *packet;

	line->stats.packets++;
	line->stats.bytes += len - FRAME_VNET_LEN;
	if (!line->set.neigh && frame_is_neighbour(data, len)) {
		packet = packet_new(line, data, len);
		packet->due_ns = 0;
		heap_push(line, packet);
		return;
	}
	link_run(line, now_ns);
	if (doorway_stops(line, data, len))
		return;
	packet = packet_new(line, data, len);
	if (rng_chance(&line->rng, line->set.corrupt_ppm)) {
		int r = frame_corrupt(packet->data, packet->len, rng_next(&line->rng));

		if (r != -ENODATA)
			line->stats.corrupted++;
		if (r == -EOPNOTSUPP) {
			/* Corruption of a frame without checksums would reach the application: drop it instead. */
			line_recycle(line, packet);
			return;
		}
	}
	link_enter(line, packet, now_ns);
}

struct packet *line_take_due(struct line *line, uint64_t now_ns)
{
	link_run(line, now_ns);
	if (line->heap.count == 0 || line->heap.items[0]->due_ns > now_ns)
		return NULL;
	return heap_pop(line);
}

uint64_t line_next_ns(const struct line *line)
{
	uint64_t next = line->head ? line->head_done_ns : UINT64_MAX;

	if (line->heap.count > 0)
		next = min_of(next, line->heap.items[0]->due_ns);
	return next;
}

static const struct {
	const char *name;
	size_t offset;
} line_columns[] = {
#define COLUMN(member)                                                                                                 \
	{                                                                                                              \
#member, offsetof(struct line, member)                                                                 \
	}
#define COUNTER(member)                                                                                                \
	{                                                                                                              \
#member, offsetof(struct line, stats.member)                                                           \
	}
	COUNTER(packets),    COUNTER(bytes),         COUNTER(forwarded),    COUNTER(forwarded_bytes),
	COUNTER(lost),       COUNTER(collided),      COUNTER(duplicated),   COUNTER(reordered),
	COUNTER(corrupted),  COUNTER(corrupt_drops), COUNTER(queue_drops),  COUNTER(too_long),
	COUNTER(hole),       COUNTER(send_errors),   COUNTER(send_retries), COUNTER(recv_drops),
	COLUMN(queue_bytes), COLUMN(queue_packets),  COLUMN(held_packets),  COLUMN(held_bytes),
};

void line_stats_print(const struct line *line, FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(line_columns); i++) {
		uint64_t value;

		memcpy(&value, (const char *)line + line_columns[i].offset, sizeof(value));
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "{", line_columns[i].name, value);
	}
	fputc('}', out);
}
