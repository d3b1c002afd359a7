/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record type with a field of every kind, for tests and benches of the record model. */
#pragma once

#include <errno.h>

#include "record/value.h"
#include "view/hist.h"

struct sample {
	uint64_t time_ns;
	uint32_t pid;
	char comm[16];
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t bytes;
	uint64_t lat_ns;
	uint8_t state;
	uint32_t flags;
	double share;
	int32_t delta;
	uint64_t handle;
	bool is_new;
	uint32_t error;
	struct endpoint peer;
	const char *host;
	struct stack kstack;
	struct list hist;
	uint64_t rcvbuf;
};

static const struct enum_name sample_state_items[] = {
	{0, "CLOSED", NULL}, {1, "ESTABLISHED", NULL}, {2, "SYN_SENT", NULL}};
static struct enum_names sample_states = {.items = sample_state_items, .count = ARRAY_SIZE(sample_state_items)};
static const struct enum_name sample_flag_items[] = {{1, "FIN", NULL}, {2, "SYN", NULL}, {16, "ACK", NULL}};
static struct enum_names sample_flags = {.items = sample_flag_items, .count = ARRAY_SIZE(sample_flag_items)};

static const struct field sample_fields[] = {
	FIELD(struct sample, time_ns, TIME, "when it happened"),
	FIELD(struct sample, pid, ID, "process", .zero_is_unknown = true),
	FIELD(struct sample, comm, TEXT, "its name"),
	FIELD(struct sample, laddr, ADDR, "local address"),
	FIELD(struct sample, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct sample, raddr, ADDR, "remote address"),
	FIELD(struct sample, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct sample, bytes, BYTES, "bytes moved"),
	FIELD(struct sample, lat_ns, DURATION, "how long it took"),
	FIELD(struct sample, state, ENUM, "state", .names = &sample_states),
	FIELD(struct sample, flags, FLAGS, "flags of the segment", .names = &sample_flags),
	FIELD(struct sample, share, RATIO, "share of the window", .unit = "%"),
	FIELD(struct sample, delta, COUNT, "change", .hidden = true),
	FIELD(struct sample, handle, HEX, "handle", .hidden = true),
	FIELD(struct sample, is_new, BOOL, "seen for the first time", .hidden = true),
	FIELD(struct sample, error, ENUM, "error", .names = &errno_names, .zero_is_unknown = true),
	FIELD(struct sample, peer, ENDPOINT, "other end", .hidden = true),
	FIELD(struct sample, host, TEXT, "looked-up name", .hidden = true),
	FIELD(struct sample, kstack, STACK, "kernel stack", .hidden = true),
	FIELD(struct sample, hist, LIST, "distribution", .hidden = true, .element = &hist_slot_type),
	FIELD(struct sample, rcvbuf, BYTES, "receive buffer", .hidden = true),
};

static const struct record_type sample_type = {
	.name = "sample",
	.help = "a record for tests",
	.fields = sample_fields,
	.field_count = ARRAY_SIZE(sample_fields),
	.size = sizeof(struct sample),
};

/* A record in which every field is known. */
static inline struct sample sample_make(void)
{
	static const char *const frames[] = {"tcp_sendmsg+0x12", "sock_write_iter"};
	static const struct hist_slot slots[] = {{1, 1, 3}, {2, 3, 7}};
	struct sample s = {
		.time_ns = UINT64_C(1763172787123456789),
		.pid = 4711,
		.comm = "nginx",
		.lport = 443,
		.rport = 51234,
		.bytes = 3145728,
		.lat_ns = 1234567,
		.state = 1,
		.flags = 18,
		.share = 0.125,
		.delta = -5,
		.handle = 0xbeef,
		.is_new = true,
		.error = ECONNREFUSED,
		.host = "example",
		.kstack = {frames, 2},
		.hist = {slots, 2},
		.rcvbuf = 4000000,
	};

	if (addr_parse("10.77.1.2", &s.laddr) < 0 || addr_parse("fd77::1", &s.raddr) < 0 ||
	    addr_parse_endpoint("[fd77::1]:51234", &s.peer) < 0)
		abort();
	return s;
}
