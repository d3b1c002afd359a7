/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/live_read.h"
#include "flow/trace/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "flow/trace/trace_file.h"

static uint64_t slot_offset(const struct flow_live_map *map, uint32_t index)
{
	return map->live->header_bytes + (uint64_t)index * map->live->slot_bytes;
}

static bool makes_sense(const struct flow_live *live, uint64_t bytes)
{
	return live->magic == FLOW_LIVE_MAGIC && live->version == FLOW_VERSION &&
	       live->slot_bytes > FLOW_SLOT_PAYLOAD && live->slot_bytes - FLOW_SLOT_PAYLOAD <= FLOW_CHUNK_MAX &&
	       live->header_bytes % 4096 == 0 &&
	       live->header_bytes >= sizeof(*live) + (uint64_t)live->slot_count * sizeof(live->states[0]) &&
	       live->slot_bytes % 4096 == 0 &&
	       live->header_bytes + (uint64_t)live->slot_bytes * live->slot_count <= bytes &&
	       (uint64_t)live->gather_bytes + FLOW_SLOT_PAYLOAD < live->slot_bytes &&
	       (!live->digest_at || (live->slot_bytes > FLOW_SLOT_PAYLOAD + sizeof(struct digest_thread) &&
				     live->digest_at < bytes && bytes - live->digest_at >= sizeof(struct digest)));
}

int flow_live_map(const char *path, bool writable, struct flow_live_map *ret_map)
{
	_cleanup_close_ int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	_cleanup_free_ struct flow_live *first = xmalloc(sizeof(*first));
	struct flow_live *live;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || pread(fd, first, sizeof(*first), 0) != sizeof(*first) ||
	    !makes_sense(first, (uint64_t)st.st_size))
		return -EBADMSG;
	live = mmap(NULL, first->header_bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (live == MAP_FAILED)
		return -errno;
	*ret_map = (struct flow_live_map){live, first->header_bytes, take_fd(&fd)};
	return 0;
}

void flow_live_unmap(struct flow_live_map *map)
{
	if (!map->live)
		return;
	munmap(map->live, map->bytes);
	(void)close(map->fd);
	*map = (struct flow_live_map){};
}

bool flow_live_is_used(const struct flow_live_map *map, uint32_t slot)
{
	return (__atomic_load_n(&map->live->states[slot], __ATOMIC_ACQUIRE) & FLOW_SLOT_MASK) == FLOW_SLOT_USED;
}

bool flow_live_slot(const struct flow_live_map *map, uint32_t index, struct flow_slot *ret_slot)
{
	return pread(map->fd, ret_slot, sizeof(*ret_slot), (off_t)slot_offset(map, index)) == sizeof(*ret_slot);
}

int flow_live_call(const struct flow_live_map *map, uint32_t index)
{
	struct flow_slot *slot =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map->fd, (off_t)slot_offset(map, index));

	if (slot == MAP_FAILED)
		return -errno;
	__atomic_store_n(&slot->limit, NULL, __ATOMIC_SEQ_CST);
	munmap(slot, 4096);
	return 0;
}

static int read_chunk(const struct flow_live_map *map, uint32_t index, struct flow_chunk *ret_chunk)
{
	return pread(map->fd, ret_chunk, sizeof(*ret_chunk), (off_t)slot_offset(map, index) + FLOW_SLOT_CHUNK) ==
			       sizeof(*ret_chunk)
		       ? 0
		       : -EIO;
}

/* The owner may be writing: the words are valid if it has not started another chunk meanwhile. */
int flow_live_take(const struct flow_live_map *map, uint32_t index, struct flow_chunk *ret_chunk, uint32_t **ret_words)
{
	size_t room = (size_t)flow_slot_room(map->live) * sizeof(uint32_t), bytes;
	_cleanup_free_ uint32_t *words = NULL;
	struct flow_chunk header, after;
	uint64_t calls, extra;
	struct flow_slot slot;

	if (!flow_live_is_used(map, index) || read_chunk(map, index, &header) < 0 ||
	    !flow_live_slot(map, index, &slot) || slot.at <= slot.base)
		return -EAGAIN;
	/* Already among the collected chunks. */
	if ((uint32_t)slot.gathered && header.seq < slot.gathered >> 32)
		return -EAGAIN;
	bytes = (uintptr_t)slot.at - (uintptr_t)slot.base;
	if (bytes > room || bytes % 4)
		return -EAGAIN;
	words = xmalloc(bytes + sizeof(*words));
	if (pread(map->fd, words, bytes, (off_t)slot_offset(map, index) + FLOW_SLOT_PAYLOAD) != (ssize_t)bytes ||
	    read_chunk(map, index, &after) < 0 || after.seq != header.seq || after.thread != header.thread)
		return -EAGAIN;
	flow_words_count(words, bytes / 4, &calls, &extra);
	header.events = (uint32_t)(bytes / 4 - extra);
	/* Pending returns, not yet counted in a word. */
	if (!slot.resync && slot.noted > slot.depth && slot.noted - slot.depth <= FLOW_MANY_MAX &&
	    header.flags & FLOW_UNTIMED) {
		words[bytes / 4] = FLOW_TAG_RETURN | (slot.noted - slot.depth) << 2 | FLOW_MANY;
		header.events += slot.noted - slot.depth;
		bytes += sizeof(*words);
	}
	header.magic = FLOW_MAGIC;
	header.kind = FLOW_CHUNK_EVENTS;
	header.bytes = (uint32_t)bytes;
	header.end_ticks = max_of(slot.last, header.start_ticks);
	header.calls = (uint32_t)calls;
	header.lost = slot.lost;
	*ret_chunk = header;
	*ret_words = take_ptr(words);
	return 0;
}

int flow_live_take_gathered(const struct flow_live_map *map, uint32_t index, uint32_t *at, struct flow_chunk *ret_chunk,
			    uint32_t **ret_words)
{
	off_t place = (off_t)(slot_offset(map, index) + flow_slot_gather_offset(map->live) + *at);
	_cleanup_free_ uint32_t *words = NULL;
	struct flow_chunk header;
	struct flow_slot slot;
	uint32_t end;

	if (!flow_live_is_used(map, index) || !flow_live_slot(map, index, &slot))
		return -EAGAIN;
	end = min_of((uint32_t)slot.gathered, map->live->gather_bytes);
	if (*at >= end || end - *at < sizeof(header) ||
	    pread(map->fd, &header, sizeof(header), place) != sizeof(header) || header.magic != FLOW_MAGIC ||
	    header.kind != FLOW_CHUNK_EVENTS || header.bytes % 4 || header.bytes > end - *at - sizeof(header))
		return -EAGAIN;
	words = xmalloc(header.bytes);
	/* The owner may have written and replaced them meanwhile. */
	if (pread(map->fd, words, header.bytes, place + (off_t)sizeof(header)) != (ssize_t)header.bytes ||
	    flow_chunk_checksum(&header, words) != header.checksum)
		return -EAGAIN;
	*at += (uint32_t)sizeof(header) + header.bytes;
	*ret_chunk = header;
	*ret_words = take_ptr(words);
	return 0;
}

/* Folds what a dead thread had not folded yet. */
static void fold_slot(const struct flow_live_map *map, uint32_t index, struct digest *digest)
{
	_cleanup_free_ struct digest_thread *thread = xmalloc(sizeof(*thread));
	_cleanup_free_ uint32_t *words = NULL;
	struct flow_chunk chunk;

	if (!flow_live_is_used(map, index) ||
	    pread(map->fd, thread, sizeof(*thread),
		  (off_t)(slot_offset(map, index) + flow_slot_digest_offset(map->live))) != sizeof(*thread) ||
	    !digest_thread_check(digest, thread))
		return;
	if (flow_live_take(map, index, &chunk, &words) == 0)
		digest_fold(digest, thread, &chunk, words);
	digest_thread_end(digest, thread, digest->head.last);
}

int flow_live_digest(const struct flow_live_map *map, bool with_slots, void **ret_payload, uint32_t *ret_bytes)
{
	_cleanup_free_ struct digest *digest = NULL;
	size_t nodes, rows;
	uint8_t *payload;

	if (!map->live->digest_at)
		return -ENOENT;
	digest = xmalloc(sizeof(*digest));
	if (pread(map->fd, digest, sizeof(*digest), (off_t)map->live->digest_at) != sizeof(*digest) ||
	    !digest_check(digest))
		return -EBADMSG;
	for (uint32_t i = 0; with_slots && i < map->live->slot_count; i++)
		fold_slot(map, i, digest);
	digest_end(digest, digest->head.last);
	digest->head.threads = map->live->last_thread;
	nodes = digest->head.node_count * sizeof(digest->nodes[0]);
	rows = digest->head.row_count * sizeof(digest->rows[0]);
	payload = xmalloc(sizeof(digest->head) + nodes + rows);
	memcpy(payload, &digest->head, sizeof(digest->head));
	memcpy(payload + sizeof(digest->head), digest->nodes, nodes);
	memcpy(payload + sizeof(digest->head) + nodes, digest->rows, rows);
	*ret_payload = payload;
	*ret_bytes = (uint32_t)(sizeof(digest->head) + nodes + rows);
	return 0;
}

static void take_live_digest(struct flow_trace_file *file, const struct flow_live_map *map)
{
	_cleanup_free_ void *payload = NULL;
	uint32_t bytes;

	if (flow_live_digest(map, false, &payload, &bytes) == 0)
		trace_take_summary(file, payload, bytes);
}

static int take_copy(struct flow_trace_file *file, const struct flow_chunk *header, uint32_t *words)
{
	vec_push(&file->copies, (void *)words);
	return trace_add_events(file, &(struct flow_chunk_ref){
					      .header = *header,
					      .words = words,
					      .word_count = header->bytes / 4,
					      .verified = true,
				      });
}

static int take_slot(struct flow_trace_file *file, const struct flow_live_map *map, uint32_t index)
{
	struct flow_chunk header;
	uint32_t *words, at = 0;
	int r = 0;

	while (r == 0 && flow_live_take_gathered(map, index, &at, &header, &words) == 0)
		r = take_copy(file, &header, words);
	if (r == 0 && flow_live_take(map, index, &header, &words) == 0)
		r = take_copy(file, &header, words);
	return r;
}

void trace_take_live(struct flow_trace_file *file)
{
	_cleanup_free_ char *path = xasprintf("%s%s", file->path, FLOW_LIVE_SUFFIX);
	struct flow_live_map map;

	if (flow_live_map(path, false, &map) < 0)
		return;
	take_live_digest(file, &map);
	for (uint32_t i = 0; !map.live->digest_at && i < map.live->slot_count; i++)
		if (take_slot(file, &map, i) < 0)
			break;
	file->trace.lost += map.live->lost;
	file->ended = false;
	flow_live_unmap(&map);
}
