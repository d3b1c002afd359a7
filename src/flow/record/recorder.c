/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/clock.h"
#include "flow/record/wakeup.h"
#include "flow/trace/checksum.h"
#include "flow/trace/live_read.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define SLOTS_DEFAULT  4096u
#define BUFFER_DEFAULT 65536u
#define GATHER_BYTES   UINT64_C(65536)
/* Slots with disk blocks allocated in advance. */
#define SLOTS_BACKED 16u

/* The CPU's cycle counter is the clock if it has a constant rate and never stops. */
static enum flow_clock choose_clock(void)
{
#if defined(__aarch64__)
	return FLOW_CLOCK_COUNTER;
#elif defined(__x86_64__)
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	const char *flags, *end;
	char line[4096];

	/* A truncated read is fine: only the first CPU matters. */
	if (buf_read_file(&text, "/proc/cpuinfo") < 0 && !text.len)
		return FLOW_CLOCK_NS;
	flags = strstr(buf_text(&text), "\nflags");
	end = flags ? strchr(flags + 1, '\n') : NULL;
	if (!end || (size_t)(end - flags) >= sizeof(line))
		return FLOW_CLOCK_NS;
	memcpy(line, flags, (size_t)(end - flags));
	line[end - flags] = '\0';
	return strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc") ? FLOW_CLOCK_COUNTER : FLOW_CLOCK_NS;
#else
	return FLOW_CLOCK_NS;
#endif
}

static uint64_t ticks_of(enum flow_clock clock)
{
#if defined(__x86_64__)
	if (clock == FLOW_CLOCK_COUNTER)
		return __rdtsc();
#elif defined(__aarch64__)
	if (clock == FLOW_CLOCK_COUNTER) {
		uint64_t v;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
		return v;
	}
#endif
	(void)clock;
	return clock_monotonic_ns();
}

/* Run-queue delays are looked up at most this often per thread. */
#define DELAY_NS 1000000.0

static double ticks_per_ns(enum flow_clock clock)
{
	uint64_t ticks, ns;

	if (clock == FLOW_CLOCK_NS)
		return 1;
	ticks = ticks_of(clock);
	ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - ns < 2000000)
		;
	ticks = ticks_of(clock) - ticks;
	return (double)ticks / (double)(clock_monotonic_ns() - ns);
}

int recorder_append(int fd, uint32_t clock, struct flow_chunk *chunk, const void *payload, uint64_t *torn)
{
	_cleanup_free_ uint8_t *whole = xmalloc(sizeof(*chunk) + chunk->bytes);
	ssize_t n;

	chunk->magic = FLOW_MAGIC;
	chunk->clock_ticks = ticks_of(clock);
	chunk->clock_ns = clock_real_ns();
	chunk->checksum = flow_chunk_checksum(chunk, payload);
	memcpy(whole, chunk, sizeof(*chunk));
	memcpy(whole + sizeof(*chunk), payload, chunk->bytes);
	n = write(fd, whole, sizeof(*chunk) + chunk->bytes);
	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(*chunk) + chunk->bytes)
		return 0;
	*torn += (uint64_t)n;
	return -ENOSPC;
}

static void add_property(struct buf *text, const char *key, const char *value)
{
	buf_add_format(text, "%s ", key);
	for (; *value; value++)
		buf_add_char(text, *value == '\n' ? ' ' : *value);
	buf_add_char(text, '\n');
}

static int write_file_chunk(int fd, enum flow_clock clock, const struct recorder_options *options)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	struct flow_chunk chunk = {.kind = FLOW_CHUNK_FILE};
	struct utsname host;
	uint64_t torn = 0; /* all or nothing: without it there is no recording */

	buf_add_format(&text, "format nest-flow\nversion %d\nsource nest flow record\nrecorder nest %s\n", FLOW_VERSION,
		       NEST_VERSION);
	if (options->summary)
		buf_add_text(&text, "options summary\n");
	if (clock == FLOW_CLOCK_NS)
		buf_add_text(&text, "ticks_per_second 1000000000\n");
	if (uname(&host) == 0) {
		add_property(&text, "host", host.nodename);
		add_property(&text, "kernel", host.release);
	}
	if (options->command)
		add_property(&text, "command", options->command);
	while (text.len % 4)
		buf_add_char(&text, '\n');
	chunk.bytes = (uint32_t)text.len;
	return recorder_append(fd, clock, &chunk, text.data, &torn);
}

static int add_filters(struct flow_live *live, const struct text_list *list, char sign, size_t *at, struct why *why)
{
	for (size_t i = 0; list && i < list->count; i++) {
		size_t n = strlen(list->items[i]);

		if (*at + n + 3 > sizeof(live->filters))
			return why_set(why, -E2BIG, "function patterns exceed %u bytes in total", FLOW_FILTER_BYTES);
		live->filters[(*at)++] = sign;
		memcpy(live->filters + *at, list->items[i], n + 1);
		*at += n + 1;
	}
	return 0;
}

static int fill_live(struct flow_live *live, const struct recorder_options *options, struct why *why)
{
	size_t at = 0;
	int r;

	live->version = FLOW_VERSION;
	live->clock = choose_clock();
	live->paused = options->paused;
	live->recorder_pid = (uint32_t)getpid();
	live->max_depth = options->max_depth ? (uint32_t)min_of(options->max_depth, FLOW_STACK_MAX) : FLOW_STACK_MAX;
	live->stamp_depth =
		options->stamp_depth ? (uint32_t)min_of(options->stamp_depth, FLOW_STACK_MAX) : FLOW_STACK_MAX;
	live->max_bytes = options->max_bytes;
	live->sample = (uint32_t)min_of(options->sample, UINT32_MAX);
	live->sockets_off = options->no_sockets;
	live->toggle_signal = (uint32_t)options->toggle_signal;
	/* A summary has no place for them. */
	if (!options->summary && !options->no_sockets)
		live->delay_ticks = (uint32_t)(DELAY_NS * ticks_per_ns(live->clock));
	if (options->min_ns)
		live->min_ticks = (uint64_t)((double)options->min_ns * ticks_per_ns(live->clock));
	r = add_filters(live, options->only, '+', &at, why);
	return r < 0 ? r : add_filters(live, options->without, '-', &at, why);
}

/* A call outside all sessions that takes longer waits for something: it does not belong to the last session. */
#define SHORT_NS 10000000.0

/* Allocates all disk blocks: the program must not fail for lack of them. */
static int make_digest(int fd, uint64_t at)
{
	struct digest *digest;

	if (fallocate(fd, 0, (off_t)at, sizeof(*digest)) < 0 && errno != EOPNOTSUPP)
		return -errno;
	digest = mmap(NULL, sizeof(*digest), PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	if (digest == MAP_FAILED)
		return -errno;
	digest_begin(digest, (uint64_t)(SHORT_NS * ticks_per_ns(choose_clock())));
	munmap(digest, sizeof(*digest));
	return 0;
}

/* With few timed events, chunks are packed and collected, up to the readers' chunk limit. */
static uint32_t gather_bytes(const struct recorder_options *options, uint64_t buffer)
{
	if (!options->stamp_depth || options->stamp_depth >= FLOW_STACK_MAX || options->summary ||
	    buffer + 4096 > FLOW_AGAIN_MAX / 2 * sizeof(uint32_t))
		return 0;
	return (uint32_t)max_of(buffer, GATHER_BYTES);
}

static int make_live(const char *path, const struct recorder_options *options, enum flow_clock *ret_clock,
		     struct why *why)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint64_t slots = options->threads ? options->threads : SLOTS_DEFAULT;
	uint64_t buffer = options->buffer_bytes ? options->buffer_bytes : BUFFER_DEFAULT;
	uint32_t header = (uint32_t)((sizeof(struct flow_live) + slots * sizeof(uint32_t) + 4095) & ~UINT64_C(4095));
	uint64_t digest = options->summary ? sizeof(struct digest_thread) : 0;
	uint32_t gather = gather_bytes(options, buffer);
	uint32_t slot = (uint32_t)((FLOW_SLOT_PAYLOAD + buffer + digest + gather + 4095) & ~UINT64_C(4095));
	uint64_t bytes = header + slots * slot + (digest ? sizeof(struct digest) : 0);
	struct flow_live *live;
	int r;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	if (fallocate(fd, 0, 0, (off_t)(header + (uint64_t)slot * min_of(slots, SLOTS_BACKED))) < 0 &&
	    errno != EOPNOTSUPP)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	r = digest ? make_digest(fd, header + slots * slot) : 0;
	if (r < 0)
		return why_set(why, r, "%s: %s", path, strerror(-r));
	live = mmap(NULL, header, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (live == MAP_FAILED)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	live->header_bytes = header;
	live->slot_bytes = slot;
	live->slot_count = (uint32_t)slots;
	live->gather_bytes = gather;
	live->digest_at = digest ? header + slots * slot : 0;
	for (uint32_t i = 0; i < min_of(slots, SLOTS_BACKED); i++)
		live->states[i] = FLOW_SLOT_BACKED;
	r = fill_live(live, options, why);
	*ret_clock = live->clock;
	__atomic_store_n(&live->magic, FLOW_LIVE_MAGIC, __ATOMIC_RELEASE);
	munmap(live, header);
	return r;
}

int recorder_begin(const char *path, const struct recorder_options *options, struct why *why)
{
	_cleanup_free_ char *live_path = xasprintf("%s%s", path, FLOW_LIVE_SUFFIX);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	enum flow_clock clock = FLOW_CLOCK_NS;
	int r;

	if (fd < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	r = make_live(live_path, options, &clock, why);
	if (r == 0) {
		r = write_file_chunk(fd, clock, options);
		if (r < 0)
			r = why_set(why, r, "%s: %s", path, strerror(-r));
	}
	if (r < 0) {
		(void)unlink(live_path);
		(void)unlink(path);
	}
	return r;
}

void recorder_begin_wakeups(struct wakeup *wakeup)
{
	wakeup_begin(wakeup, clock_monotonic_ns());
	wakeup->clock = choose_clock();
	wakeup->begin_ticks = ticks_of(wakeup->clock);
	wakeup->begin_ns = clock_monotonic_ns();
}

bool recorder_add_wakeups(const char *path, const struct wakeup *wakeup)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	size_t bytes = wakeup->late.count * sizeof(struct flow_late);
	struct flow_chunk chunk = {.kind = FLOW_CHUNK_LATE, .bytes = (uint32_t)bytes};
	struct flow_late *late = xmalloc(bytes + 1);
	uint64_t ns = clock_monotonic_ns(), torn = 0;
	bool is_added;
	double rate =
		(double)(ticks_of(wakeup->clock) - wakeup->begin_ticks) / max_of((double)(ns - wakeup->begin_ns), 1.0);

	for (size_t i = 0; i < wakeup->late.count; i++) {
		const struct flow_late *from = &wakeup->late.items[i];

		late[i].due_ticks =
			wakeup->begin_ticks + (uint64_t)(rate * (double)(from->due_ticks - wakeup->begin_ns));
		late[i].awake_ticks =
			wakeup->begin_ticks + (uint64_t)(rate * (double)(from->awake_ticks - wakeup->begin_ns));
	}
	/* What a full disk tears off is counted when the recording is finished. */
	is_added = fd >= 0 && (!bytes || recorder_append(fd, wakeup->clock, &chunk, late, &torn) == 0);
	free(late);
	return is_added;
}

int recorder_set_paused(const char *live_path, bool paused, struct why *why)
{
	struct flow_live_map map;
	int r = flow_live_map(live_path, true, &map);

	if (r < 0)
		return why_set(why, r, "%s: %s", live_path, r == -EBADMSG ? "not a live recording file" : strerror(-r));
	__atomic_store_n(&map.live->paused, paused, __ATOMIC_SEQ_CST);
	/* Threads check the flag when their limit is cleared. */
	for (uint32_t i = 0; paused && i < map.live->slot_count; i++)
		if (flow_live_is_used(&map, i))
			(void)flow_live_call(&map, i);
	flow_live_unmap(&map);
	return 0;
}
