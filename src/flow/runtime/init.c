/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Constructor and destructor of the library. Everything that needs the environment or opens a file happens in the
 * constructor: programs change their environment, directory, root and user later.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/runtime/nestflow.h"
#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

struct flow_live *live;
bool use_counter;

static struct flow_live *map_live(size_t *ret_bytes)
{
	struct flow_live *map;
	struct stat st;
	int fd = own_buffers_fd();

	if (fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(*map))
		return NULL;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (map->magic == FLOW_LIVE_MAGIC && map->version == FLOW_VERSION &&
	    map->slot_bytes > FLOW_SLOT_PAYLOAD + 4096 &&
	    map->gather_bytes < map->slot_bytes - FLOW_SLOT_PAYLOAD - 4096 &&
	    map->header_bytes >= sizeof(*map) + map->slot_count * sizeof(map->states[0]) &&
	    map->header_bytes + (uint64_t)map->slot_bytes * map->slot_count <= (uint64_t)st.st_size) {
		*ret_bytes = (size_t)st.st_size;
		return map;
	}
	munmap(map, (size_t)st.st_size);
	return NULL;
}

static void begin(void)
{
	const char *path = getenv(FLOW_LIVE_ENV);
	struct flow_live *map;
	size_t bytes;

	if (!path || path[0] != '/' || !own_files_open(path))
		return;
	map = map_live(&bytes);
	if (!map)
		return;
	use_counter = map->clock == FLOW_CLOCK_COUNTER;
	live = map;
	live_guard(bytes);
	sockets_begin();
	modules_update();
	slots_begin();
}

static void __attribute__((constructor(101))) nestflow_begin(void)
{
	int saved = errno;

	real_find();
	begin();
	errno = saved;
}

static void __attribute__((destructor(101))) nestflow_end(void)
{
	if (!live)
		return;
	modules_update();
	slots_end();
}

static void value(uint32_t kind, uint64_t value)
{
	struct flow_slot *t = live ? slot_get() : NULL;
	int saved = errno;
	uint32_t words[2];

	if (!t || !slot_enter(t))
		return;
	flow_put_u64(words, value);
	(void)slot_add_other(t, now_ticks(), flow_word_other(FLOW_O_VALUE, 2, kind), words);
	/* The popping thread must find it: buffers are folded in any order. */
	if (live->digest_at && kind != FLOW_VALUE_SEEN)
		slot_turn_over(t);
	slot_leave(t);
	errno = saved;
}

EXPORT void nestflow_push(const void *handed)
{
	value(FLOW_VALUE_PUSH, (uintptr_t)handed);
}

EXPORT void nestflow_pop(const void *handed)
{
	value(FLOW_VALUE_POP, (uintptr_t)handed);
}

EXPORT void nestflow_value(uint64_t seen)
{
	value(FLOW_VALUE_SEEN, seen);
}
