/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handmade journeys for tests of their views. */
#pragma once

#include <sys/mman.h>

#include "base/addr.h"
#include "base/alloc.h"
#include "base/out.h"
#include "path/journey/journey.h"
#include "unit.h"

/* 2026-11-15 02:13:07 UTC */
#define JOURNEY_TIME UINT64_C(1794708787000000000)

static inline struct journey journey_make(uint8_t dir)
{
	struct journey journey = {.time_ns = JOURNEY_TIME,
				  .dir = dir,
				  .end = PATH_DELIVERED,
				  .family = ADDR_V4,
				  .proto = 6,
				  .lport = 80,
				  .rport = 40000,
				  .pid = 4711,
				  .tid = 4712,
				  .netns = 4026531840,
				  .comm = "nginx",
				  .dev = "eth0",
				  .bytes = 566};

	REQUIRE(addr_parse("10.0.0.1", &journey.laddr) == 0);
	REQUIRE(addr_parse("10.0.0.2", &journey.raddr) == 0);
	return journey;
}

/* Continues where the previous stage ended. */
static inline struct journey_stage *journey_add(struct journey *journey, uint8_t stage, uint64_t ns, uint16_t cpu,
						uint8_t context)
{
	struct journey_stage *added = &journey->stages[journey->stage_count++];

	REQUIRE(journey->stage_count <= JOURNEY_STAGES_MAX);
	*added = (struct journey_stage){.start_ns = journey->time_ns + journey->total_ns,
					.ns = ns,
					.note = PATH_NO_NOTE,
					.cpu = cpu,
					.stage = stage,
					.context = context};
	journey->total_ns += ns;
	return added;
}

/* A packet whose reader waited sched_ns for a CPU. */
static inline struct journey journey_received(uint64_t sched_ns)
{
	struct journey journey = journey_make(PACKET_RX);

	journey_add(&journey, PATH_SOFTIRQ, 2000, 0, PATH_SOFT);
	journey_add(&journey, PATH_IP, 3000, 0, PATH_SOFT);
	journey_add(&journey, PATH_TRANSPORT, 1500, 0, PATH_SOFT);
	journey_add(&journey, PATH_WAKEUP, 800, 0, PATH_SOFT);
	journey_add(&journey, PATH_SCHED, sched_ns, 1, PATH_PROCESS)->note = 3;
	journey_add(&journey, PATH_COPY, 1200, 1, PATH_PROCESS);
	journey_add(&journey, PATH_RETURN, 400, 1, PATH_PROCESS);
	journey.hidden = 1u << PATH_IRQ | 1u << PATH_FILTER;
	return journey;
}

/* A packet that waited in the qdisc. */
static inline struct journey journey_sent(uint64_t qdisc_ns)
{
	struct journey journey = journey_make(PACKET_TX);

	journey_add(&journey, PATH_SNDBUF, 500, 1, PATH_PROCESS);
	journey_add(&journey, PATH_TCP, 2500, 1, PATH_PROCESS);
	journey_add(&journey, PATH_QDISC, qdisc_ns, 0, PATH_SOFT)->note = 12;
	journey_add(&journey, PATH_DRIVER, 900, 0, PATH_SOFT);
	journey_add(&journey, PATH_ACK, 250000, 0, PATH_SOFT);
	return journey;
}

/* Random stages, at most that many. */
static inline struct journey journey_random(uint64_t *state, uint32_t most)
{
	struct journey journey = journey_make(unit_random(state) % 2 ? PACKET_RX : PACKET_TX);
	uint32_t count = (uint32_t)(unit_random(state) % (most + 1));

	journey.time_ns += unit_random(state) % UINT64_C(10000000000);
	journey.end = (uint8_t)(1 + unit_random(state) % PATH_UNFINISHED);
	journey.hidden = (uint32_t)unit_random(state) & ((1u << PATH_STAGES) - 2);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t stage = (uint8_t)(1 + unit_random(state) % (PATH_STAGES - 1));

		journey.hidden &= ~(1u << stage);
		journey_add(&journey, stage, unit_random(state) >> (34 + unit_random(state) % 30),
			    (uint16_t)(unit_random(state) % 4), (uint8_t)(1 + unit_random(state) % PATH_PROCESS));
	}
	return journey;
}

/* An output whose text journey_out_text returns, without colours, in UTF-8 or not. */
static inline struct out journey_out(bool utf8, unsigned width)
{
	struct out out;

	out_init(&out, memfd_create("out", MFD_CLOEXEC));
	out.owns_fd = false;
	out.color = false;
	out.utf8 = utf8;
	out.width = width;
	return out;
}

static inline char *journey_out_text(struct out *out)
{
	_cleanup_close_ int fd = out->fd;
	struct buf content = BUF_INIT((size_t)256 << 20);

	CHECK_OK(out_done(out));
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data ? content.data : xstrdup("");
}
