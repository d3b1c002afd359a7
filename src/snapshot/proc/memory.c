/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/proc/memory.h"

#define M struct memory_record
static const struct field memory_fields[] = {
	FIELD(M, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(M, tcp_inuse, COUNT, "TCP sockets in use"),
	FIELD(M, tcp_orphan, COUNT, "orphaned TCP connections (closed by the application), host-wide", .drift = DRIFTS),
	FIELD(M, orphan_max, COUNT, "limit of orphans (tcp_max_orphans)", .hidden = true),
	FIELD(M, tcp_time_wait, COUNT, "TCP sockets in TIME-WAIT", .drift = DRIFTS),
	FIELD(M, time_wait_max, COUNT, "limit of TIME-WAIT sockets (tcp_max_tw_buckets)", .hidden = true),
	FIELD(M, tcp_alloc, COUNT, "TCP sockets allocated, host-wide", .hidden = true, .drift = DRIFTS),
	FIELD(M, tcp_bytes, BYTES, "TCP buffer memory, host-wide", .drift = DRIFTS),
	FIELD(M, tcp_low_bytes, BYTES, "tcp_mem low: no memory pressure below this", .hidden = true),
	FIELD(M, tcp_pressure_bytes, BYTES, "tcp_mem pressure: memory pressure above this"),
	FIELD(M, tcp_max_bytes, BYTES, "tcp_mem max: hard limit"),
	FIELD(M, udp_inuse, COUNT, "UDP sockets in use"),
	FIELD(M, udp_bytes, BYTES, "UDP buffer memory, host-wide", .drift = DRIFTS),
	FIELD(M, udp_low_bytes, BYTES, "udp_mem low: no memory pressure below this", .hidden = true),
	FIELD(M, udp_pressure_bytes, BYTES, "udp_mem pressure: memory pressure above this", .hidden = true),
	FIELD(M, udp_max_bytes, BYTES, "udp_mem max: hard limit", .hidden = true),
	FIELD(M, frag_inuse, COUNT, "packets being reassembled", .hidden = true),
	FIELD(M, frag_bytes, BYTES, "reassembly memory", .hidden = true),
};
#undef M
RECORD_TYPE(memory_type, "memory", struct memory_record, memory_fields,
	    "socket counts and buffer memory with their limits");

#define P struct protocol_record
static const struct field protocol_fields[] = {
	FIELD(P, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(P, protocol, TEXT, "protocol name, as in /proc/net/protocols"),
	FIELD(P, sockets, COUNT, "open sockets", .drift = DRIFTS),
	FIELD(P, memory_bytes, BYTES, "buffer memory, host-wide", .drift = DRIFTS),
	FIELD(P, pressure, BOOL, "under memory pressure"),
};
#undef P
RECORD_TYPE(protocol_type, "protocol", struct protocol_record, protocol_fields, "sockets and memory of a protocol");

static uint64_t from_pages(uint64_t pages)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	return pages > UINT64_MAX / size ? UINT64_MAX : pages * size;
}

/* The number after a key, within one line. */
static bool value_of(const char *line, const char *key, uint64_t *ret_value)
{
	const char *word;
	size_t n;

	while (scan_word(&line, &word, &n))
		if (n == strlen(key) && memcmp(word, key, n) == 0)
			return scan_u64(&line, ret_value);
	return false;
}

static void take_u32(const char *line, const char *key, uint32_t *value)
{
	uint64_t number;

	if (value_of(line, key, &number) && number < UINT32_MAX)
		*value = (uint32_t)number;
}

/* IPv6 sockets are in sockstat6; both are summed. */
static void add_u32(const char *line, const char *key, uint32_t *value)
{
	uint32_t number = UINT32_MAX;

	take_u32(line, key, &number);
	if (number != UINT32_MAX)
		*value = *value == UINT32_MAX ? number : *value + number;
}

void memory_parse_sockstat(struct memory_record *memory, const char *text)
{
	do {
		uint64_t value;

		if (strncmp(text, "TCP: ", 5) == 0) {
			add_u32(text, "inuse", &memory->tcp_inuse);
			take_u32(text, "orphan", &memory->tcp_orphan);
			take_u32(text, "tw", &memory->tcp_time_wait);
			take_u32(text, "alloc", &memory->tcp_alloc);
			if (value_of(text, "mem", &value))
				memory->tcp_bytes = from_pages(value);
		} else if (strncmp(text, "TCP6: ", 6) == 0) {
			add_u32(text, "inuse", &memory->tcp_inuse);
		} else if (strncmp(text, "UDP: ", 5) == 0) {
			add_u32(text, "inuse", &memory->udp_inuse);
			if (value_of(text, "mem", &value))
				memory->udp_bytes = from_pages(value);
		} else if (strncmp(text, "UDP6: ", 6) == 0) {
			add_u32(text, "inuse", &memory->udp_inuse);
		} else if (strncmp(text, "FRAG: ", 6) == 0) {
			take_u32(text, "inuse", &memory->frag_inuse);
			if (value_of(text, "memory", &value))
				memory->frag_bytes = value;
		}
	} while (scan_next_line(&text));
}

bool memory_parse_limits(const char *text, uint64_t *low, uint64_t *pressure, uint64_t *max)
{
	uint64_t pages[3];

	if (!scan_u64(&text, &pages[0]) || !scan_u64(&text, &pages[1]) || !scan_u64(&text, &pages[2]))
		return false;
	*low = from_pages(pages[0]);
	*pressure = from_pages(pages[1]);
	*max = from_pages(pages[2]);
	return true;
}

void memory_parse_protocols(struct snapshot *snapshot, const char *text)
{
	struct snapshot_table *table = snapshot_table(snapshot, &protocol_type);

	/* The first line names the columns: protocol size sockets memory press ... */
	while (scan_next_line(&text)) {
		const char *line = text, *name, *press;
		size_t name_len, press_len;
		struct protocol_record *protocol;
		uint64_t sockets;
		int64_t memory;

		if (!scan_word(&line, &name, &name_len) || !scan_skip(&line, 1) || !scan_u64(&line, &sockets) ||
		    !scan_i64(&line, &memory) || !scan_word(&line, &press, &press_len))
			continue;
		protocol = snapshot_table_add(table);
		if (!protocol)
			return;
		protocol->netns = snapshot->netns;
		memcpy(protocol->protocol, name, min_of(name_len, sizeof(protocol->protocol) - 1));
		protocol->sockets = (uint32_t)min_of(sockets, (uint64_t)UINT32_MAX - 1);
		/* -1: the protocol does not account its memory. */
		if (memory >= 0)
			protocol->memory_bytes = from_pages((uint64_t)memory);
		protocol->pressure = press_len == 3 && memcmp(press, "yes", 3) == 0;
	}
}

static void read_number(struct snapshot *snapshot, const char *path, uint32_t *value)
{
	const char *text;
	uint64_t number;

	if (snapshot_read_setting(snapshot, path) < 0)
		return;
	text = buf_text(&snapshot->text);
	if (scan_u64(&text, &number) && number < UINT32_MAX)
		*value = (uint32_t)number;
}

/* Host-wide limits, visible in the initial namespace only: read before other namespaces are entered. */
struct state {
	uint64_t tcp_low, tcp_pressure, tcp_max;
	uint64_t udp_low, udp_pressure, udp_max;
	uint32_t orphan_max;
};

static void begin_memory(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct state *state = snapshot_state(snapshot);

	(void)request;
	memset(state, 0xff, sizeof(*state)); /* unknown */
	if (snapshot_read_setting(snapshot, "/proc/sys/net/ipv4/tcp_mem") == 0)
		(void)memory_parse_limits(buf_text(&snapshot->text), &state->tcp_low, &state->tcp_pressure,
					  &state->tcp_max);
	if (snapshot_read_setting(snapshot, "/proc/sys/net/ipv4/udp_mem") == 0)
		(void)memory_parse_limits(buf_text(&snapshot->text), &state->udp_low, &state->udp_pressure,
					  &state->udp_max);
	read_number(snapshot, "/proc/sys/net/ipv4/tcp_max_orphans", &state->orphan_max);
}

static int collect_memory(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct memory_record *memory = snapshot_table_add(snapshot_table(snapshot, &memory_type));
	const struct state *state = snapshot_state(snapshot);
	int r = snapshot_read(snapshot, "/proc/thread-self/net/sockstat");

	(void)request;
	if (!memory)
		return -E2BIG;
	memory->netns = snapshot->netns;
	memory->tcp_low_bytes = state->tcp_low;
	memory->tcp_pressure_bytes = state->tcp_pressure;
	memory->tcp_max_bytes = state->tcp_max;
	memory->udp_low_bytes = state->udp_low;
	memory->udp_pressure_bytes = state->udp_pressure;
	memory->udp_max_bytes = state->udp_max;
	memory->orphan_max = state->orphan_max;
	if (r < 0)
		return why_set(why, r, "cannot read /proc/net/sockstat: %s", strerror(-r));
	memory_parse_sockstat(memory, buf_text(&snapshot->text));
	if (snapshot_read(snapshot, "/proc/thread-self/net/sockstat6") == 0)
		memory_parse_sockstat(memory, buf_text(&snapshot->text));
	read_number(snapshot, "/proc/sys/net/ipv4/tcp_max_tw_buckets", &memory->time_wait_max);
	return 0;
}

static int collect_protocols(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	int r = snapshot_read(snapshot, "/proc/thread-self/net/protocols");

	(void)request;
	if (r < 0)
		return why_set(why, r, "cannot read /proc/net/protocols: %s", strerror(-r));
	memory_parse_protocols(snapshot, buf_text(&snapshot->text));
	return 0;
}

static const struct record_type *const memory_types[] = {&memory_type, NULL};
static const struct record_type *const protocol_types[] = {&protocol_type, NULL};

static const struct snapshot_source memory_source = {
	.name = "memory",
	.lost = "socket memory",
	.types = memory_types,
	.stage = STAGE_COUNTERS,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.begin = begin_memory,
	.collect = collect_memory,
};
SNAPSHOT_SOURCE(memory_source);

static const struct snapshot_source protocol_source = {
	.name = "protocol",
	.lost = "sockets per protocol",
	.types = protocol_types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect_protocols,
};
SNAPSHOT_SOURCE(protocol_source);
