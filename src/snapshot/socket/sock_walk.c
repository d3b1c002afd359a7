/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF program that copies connections from the kernel's hash table, and its loading. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "kernel/insn.h"
#include "kernel/layout.h"
#include "record/net_names.h"
#include "snapshot/socket/sock_walk.h"

/* Ranges closer than this are copied as one. */
#define GAP_MAX  24
#define STEP_MAX (1 << 20)
/* Empty buckets that one step passes over, in groups. */
#define GROUP          4
#define GROUPS_AT_ONCE 16
/* NEW_SYN_RECV: a request socket, not a full one. */
#define REQUEST 12

struct range {
	uint32_t from, to; /* offsets in the kernel's struct, multiples of 8 */
	uint32_t at;       /* offset in the record */
	bool sieved;       /* holds a field that the sieve looks at */
};

static const enum walk_field sieved[] = {WALK_RETRANSMITS, WALK_CA_STATE,   WALK_LRCVTIME,
					 WALK_RCV_NXT,     WALK_COPIED_SEQ, WALK_WRITE_SEQ,
					 WALK_SND_UNA,     WALK_LSNDTIME,   WALK_RCV_TSTAMP};

/* The kfunc that casts a number to a pointer, and a struct that is an array of 64-bit words (Linux 6.2 and later). */
enum { CAST = WALK_FIELD_COUNT + WALK_PLACE_COUNT, ARRAY, QUESTIONS };

struct plan {
	struct layout_question questions[QUESTIONS];
	VEC(struct range) ranges;
};

static const struct {
	const char *type;
	const char *member;
	uint32_t size;
	bool tcp;
	bool optional;
} specs[] = {
#define F(name, type, member, size) {type, member, size, false, false},
	WALK_SOCKET_FIELDS(F)
#undef F
#define F(name, type, member, size) {type, member, size, false, true},
		WALK_OPTIONAL_FIELDS(F)
#undef F
#define F(name, type, member, size) {type, member, size, true, false},
			WALK_TCP_FIELDS(F)
#undef F
#define F(name, type, member, size) {type, member, size, true, true},
				WALK_TCP_OPTIONAL_FIELDS(F)
#undef F
};

static const struct {
	const char *type;
	const char *member;
	bool optional;
} places[] = {
#define F(name, type, member, optional) {type, member, optional},
	WALK_PLACES(F)
#undef F
};

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_wanted(const struct sock_walk *walk, const struct plan *plan, unsigned field)
{
	return plan->questions[field].answer != LAYOUT_NONE && (walk->with_tcp || !specs[field].tcp);
}

/* Chooses the ranges to copy and the position of each field in the record. */
static void make_ranges(struct sock_walk *walk, struct plan *plan)
{
	size_t kept = 0;
	uint32_t at = sizeof(uint64_t); /* after the bucket number */

	for (unsigned i = 0; i < WALK_FIELD_COUNT; i++)
		if (is_wanted(walk, plan, i)) {
			uint32_t from = plan->questions[i].answer, bits = plan->questions[i].width;
			uint32_t size = max_of(specs[i].size, bits ? 4u : 0u);

			vec_push(&plan->ranges, (struct range){from & ~7u, (from + size + 7) & ~7u, 0});
		}
	vec_sort(&plan->ranges, by_start);
	for (size_t i = 1; i < plan->ranges.count; i++) {
		struct range *last = &plan->ranges.items[kept], *next = &plan->ranges.items[i];

		if (next->from <= last->to + GAP_MAX)
			last->to = max_of(last->to, next->to);
		else
			plan->ranges.items[++kept] = *next;
	}
	plan->ranges.count = kept + 1;
	vec_each(&plan->ranges, range) {
		range->at = at;
		at += range->to - range->from;
		for (size_t i = 0; i < ARRAY_SIZE(sieved); i++) {
			uint32_t field = plan->questions[sieved[i]].answer;

			range->sieved |= field >= range->from && field < range->to;
		}
	}
	walk->record_size = at;
}

static void place_fields(struct sock_walk *walk, const struct plan *plan)
{
	for (unsigned i = 0; i < WALK_FIELD_COUNT; i++) {
		const struct layout_question *answer = &plan->questions[i];

		walk->fields[i].at = WALK_NONE;
		if (!is_wanted(walk, plan, i))
			continue;
		vec_each(&plan->ranges, range)
			if (answer->answer >= range->from && answer->answer < range->to)
				walk->fields[i].at = (uint16_t)(range->at + answer->answer - range->from);
		walk->fields[i].shift = answer->shift;
		walk->fields[i].width = answer->width;
	}
	/* Data outside the struct: the program follows pointers and appends it. */
	if (walk->fields[WALK_INODE].at == WALK_NONE) {
		walk->fields[WALK_INODE].at = (uint16_t)walk->record_size;
		walk->record_size += sizeof(uint64_t);
	}
}

static int find_places(struct sock_walk *walk, struct plan *plan, struct why *why)
{
	int r;

	for (unsigned i = 0; i < WALK_FIELD_COUNT; i++)
		plan->questions[i] = (struct layout_question){
			.type = specs[i].type, .member = specs[i].member, .optional = specs[i].optional};
	for (unsigned i = 0; i < WALK_PLACE_COUNT; i++)
		plan->questions[WALK_FIELD_COUNT + i] = (struct layout_question){
			.type = places[i].type, .member = places[i].member, .optional = places[i].optional};
	plan->questions[CAST] = (struct layout_question){.type = "bpf_rdonly_cast", .optional = true};
	plan->questions[ARRAY] = (struct layout_question){.type = "perf_callchain_entry", .member = ""};
	r = layout_find(plan->questions, ARRAY_SIZE(plan->questions), why);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < WALK_PLACE_COUNT; i++) {
		const struct layout_question *answer = &plan->questions[WALK_FIELD_COUNT + i];

		if (answer->answer != LAYOUT_NONE && answer->answer >= WALK_NONE)
			return why_set(why, -ERANGE, "offset of %s.%s is too large", answer->type, answer->member);
		walk->places[i] = (struct walk_position){(uint16_t)answer->answer, answer->shift, answer->width};
	}
	make_ranges(walk, plan);
	place_fields(walk, plan);
	return 0;
}

#define AREA(member) ((int)offsetof(struct walk_area, member))

/* Follows a pointer: area->to = *(area->from + offset), of SIZE bytes. */
static void put_follow(struct insns *code, int to, int from, uint32_t offset, int size)
{
	PUT(code, LOAD(BPF_DW, R3, R6, from), ADD(R3, offset), COPY(R1, R6), ADD(R1, to), SET(R2, size),
	    CALL(BPF_FUNC_probe_read_kernel));
}

/* Walks, or reads 16 bytes if `peek` is set. */
static void put_main(struct insns *code, const struct sock_walk *walk, int map)
{
	size_t walks;

	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(peek)), SKIP_IF_NULL(R1, 0));
	walks = insns_jump(code);
	put_follow(code, AREA(peeked), AREA(peek), 0, sizeof(uint64_t[2]));
	PUT(code, SET(R0, 0), RETURN);
	insns_land(code, walks);
	PUT(code, CALL(BPF_FUNC_jiffies64), STORE(BPF_DW, R6, AREA(jiffies), R0));
	PUT(code, CALL(BPF_FUNC_get_current_task), STORE(BPF_DW, R6, AREA(task), R0));
	put_follow(code, AREA(spaces), AREA(task), walk->places[WALK_TASK_SPACES].at, 8);
	put_follow(code, AREA(net), AREA(spaces), walk->places[WALK_SPACES_NET].at, 8);
	put_follow(code, AREA(tables), AREA(net), walk->places[WALK_NET_TABLES].at, 8);
	put_follow(code, AREA(table), AREA(tables), walk->places[WALK_TABLES_BUCKETS].at, 8);
	put_follow(code, AREA(mask), AREA(tables), walk->places[WALK_TABLES_MASK].at, 4);
	PUT(code, LOAD(BPF_DW, R2, R6, AREA(buckets)), SKIP_IF_BY(BPF_JLE, R2, WALK_BUCKETS, 2), SET(R0, 0), RETURN);
	PUT(code, CALCULATE_BY(BPF_LSH, R2, 3), LOAD(BPF_DW, R3, R6, AREA(first)), CALCULATE_BY(BPF_LSH, R3, 3),
	    LOAD(BPF_DW, R1, R6, AREA(table)), CALCULATE(BPF_ADD, R3, R1), COPY(R1, R6), ADD(R1, AREA(heads)),
	    CALL(BPF_FUNC_probe_read_kernel));
	insns_repeat(code, STEP_MAX);
}

/* Jumps to one place that is not there yet. */
struct jumps {
	size_t items[3 * GROUPS_AT_ONCE];
	size_t count;
};

static void jump(struct insns *code, struct jumps *jumps)
{
	jumps->items[jumps->count++] = insns_jump(code);
}

static void land(struct insns *code, const struct jumps *jumps)
{
	for (size_t i = 0; i < jumps->count; i++)
		insns_land(code, jumps->items[i]);
}

/*
 * Next bucket with a connection, or end. Checks by the nulls value that the chain ended in its own bucket. Most buckets
 * are empty, and a step is a call: several of them are passed over in one.
 */
static void put_next_bucket(struct insns *code)
{
	struct jumps single = {}, ends = {};

	PUT(code, LOAD(BPF_DW, R1, R6, AREA(at)), SKIP_IF_NULL(R1, 8));
	PUT(code, CALCULATE_BY(BPF_RSH, R7, 1), LOAD(BPF_DW, R2, R6, AREA(first)), CALCULATE(BPF_ADD, R2, R1),
	    ADD(R2, -1), SKIP_IF(BPF_JEQ, R7, R2, 3));
	PUT(code, LOAD(BPF_DW, R2, R6, AREA(strayed)), ADD(R2, 1), STORE(BPF_DW, R6, AREA(strayed), R2));
	PUT(code, LOAD(BPF_DW, R3, R6, AREA(buckets)));
	for (unsigned i = 0; i < GROUPS_AT_ONCE; i++) {
		PUT(code, COPY(R4, R1), ADD(R4, GROUP), SKIP_IF(BPF_JGT, R4, R3, 0));
		jump(code, &single);
		PUT(code, SKIP_IF_BY(BPF_JGT, R1, WALK_BUCKETS - GROUP, 0));
		jump(code, &single);
		PUT(code, COPY(R5, R1), CALCULATE_BY(BPF_LSH, R5, 3), CALCULATE(BPF_ADD, R5, R6),
		    LOAD(BPF_DW, R2, R5, AREA(heads)));
		/* The end of a chain is odd, so all are empty if all are odd. */
		for (int k = 1; k < GROUP; k++)
			PUT(code, LOAD(BPF_DW, R0, R5, AREA(heads) + 8 * k), CALCULATE(BPF_AND, R2, R0));
		PUT(code, CALCULATE_BY(BPF_AND, R2, 1), SKIP_IF_BY(BPF_JEQ, R2, 0, 0));
		jump(code, &single);
		PUT(code, COPY(R1, R4));
	}
	land(code, &single);
	PUT(code, SKIP_IF(BPF_JGE, R1, R3, 0));
	jump(code, &ends);
	PUT(code, SKIP_IF_BY(BPF_JGE, R1, WALK_BUCKETS, 0));
	jump(code, &ends);
	PUT(code, COPY(R2, R1), CALCULATE_BY(BPF_LSH, R2, 3), CALCULATE(BPF_ADD, R2, R6),
	    LOAD(BPF_DW, R2, R2, AREA(heads)), ADD(R1, 1), STORE(BPF_DW, R6, AREA(node), R2),
	    STORE(BPF_DW, R6, AREA(at), R1), SET(R0, 0), RETURN);
	land(code, &ends);
	PUT(code, SET(R0, 1), RETURN);
}

/* Copies a range of the connection at R7, or at R8 on kernels without the cast. */
static void put_copy(struct insns *code, const struct plan *plan, const struct range *range)
{
	int size = (int)(range->to - range->from);

	if (plan->questions[CAST].answer == LAYOUT_NONE) {
		PUT(code, COPY(R1, R9), ADD(R1, range->at), SET(R2, size), COPY(R3, R8), ADD(R3, range->from),
		    CALL(BPF_FUNC_probe_read_kernel));
		return;
	}
	for (int i = 0; i < size; i += 8)
		PUT(code, LOAD(BPF_DW, R1, R7, (int)range->from + i), STORE(BPF_DW, R9, (int)range->at + i, R1));
}

/*
 * Helper calls dominate the cost of a copy (retpolines), while independent loads overlap. So if the kernel allows
 * casting an address to an array pointer, the program loads the words directly.
 */
static void put_cast(struct insns *code, const struct plan *plan)
{
	if (plan->questions[CAST].answer != LAYOUT_NONE)
		PUT(code, COPY(R1, R8), SET(R2, plan->questions[ARRAY].answer),
		    CALL_KERNEL(plan->questions[CAST].answer), COPY(R7, R0));
}

/* TO = the time since then, in ticks. */
static void put_age(struct insns *code, const struct sock_walk *walk, unsigned to, enum walk_field then)
{
	PUT(code, LOAD(BPF_W, to, R6, AREA(jiffies)), LOAD(BPF_W, R0, R9, walk->fields[then].at),
	    CALCULATE32(BPF_SUB, to, R0));
}

/* Whether two sequence numbers differ and that has held for wait_ticks, by the age in a register: it waits. */
static void put_waits(struct insns *code, const struct sock_walk *walk, enum walk_field end, enum walk_field begin,
		      unsigned age, struct jumps *waits)
{
	PUT(code, LOAD(BPF_W, R0, R9, walk->fields[end].at), LOAD(BPF_W, R1, R9, walk->fields[begin].at),
	    SKIP_IF(BPF_JEQ, R0, R1, 3), LOAD(BPF_DW, R0, R6, AREA(sieve.wait_ticks)), SKIP_IF(BPF_JLT, age, R0, 1),
	    SKIP(0));
	jump(code, waits);
}

/* Counts a connection of the class; goes on if its hash chooses it. */
static void put_class(struct insns *code, const struct sock_walk *walk, enum walk_class class, struct jumps *dropped)
{
	int count = AREA(sieve.classes) + (int)sizeof(uint64_t) * (int)class,
	    mask = AREA(sieve.masks) + (int)sizeof(uint64_t) * (int)class;

	PUT(code, LOAD(BPF_DW, R1, R6, count), ADD(R1, 1), STORE(BPF_DW, R6, count, R1));
	/* The kernel's hash counts ports up: multiplied, its upper bits are spread. */
	PUT(code, LOAD(BPF_W, R1, R9, walk->fields[WALK_HASH].at), CALCULATE32_BY(BPF_MUL, R1, 0x9e3779b1),
	    CALCULATE_BY(BPF_RSH, R1, WALK_HASH_SHIFT), LOAD(BPF_DW, R2, R6, mask), CALCULATE(BPF_AND, R1, R2),
	    SKIP_IF_BY(BPF_JNE, R1, 0, 0));
	jump(code, dropped);
}

/* States but the two in which a connection rests are copied. */
static void put_sieve(struct insns *code, const struct sock_walk *walk, const struct plan *plan, struct jumps *dropped)
{
	const struct walk_position *ca_state = &walk->fields[WALK_CA_STATE];
	struct jumps whole = {}, waits = {}, moves = {};

	PUT(code, LOAD(BPF_DW, R1, R6, AREA(sieve.on)), SKIP_IF_NULL(R1, 0));
	jump(code, &whole);
	PUT(code, LOAD(BPF_B, R1, R9, walk->fields[WALK_STATE].at), SKIP_IF_BY(BPF_JEQ, R1, SOCKET_ESTABLISHED, 1),
	    SKIP_IF_BY(BPF_JNE, R1, SOCKET_CLOSE_WAIT, 0));
	jump(code, &whole);
	for (size_t i = 1; i < plan->ranges.count; i++)
		if (plan->ranges.items[i].sieved)
			put_copy(code, plan, &plan->ranges.items[i]);
	put_age(code, walk, R3, WALK_LSNDTIME);
	put_age(code, walk, R4, WALK_LRCVTIME);
	put_age(code, walk, R5, WALK_RCV_TSTAMP);
	PUT(code, LOAD(BPF_B, R1, R9, walk->fields[WALK_RETRANSMITS].at), SKIP_IF_BY(BPF_JNE, R1, 0, 0));
	jump(code, &waits);
	PUT(code, LOAD(BPF_W, R1, R9, ca_state->at), CALCULATE_BY(BPF_RSH, R1, ca_state->shift),
	    CALCULATE_BY(BPF_AND, R1, ca_state->width ? (1 << ca_state->width) - 1 : 0xff),
	    SKIP_IF_BY(BPF_JGE, R1, WALK_CA_RECOVERY, 0));
	jump(code, &waits);
	put_waits(code, walk, WALK_WRITE_SEQ, WALK_SND_UNA, R5, &waits);
	put_waits(code, walk, WALK_RCV_NXT, WALK_COPIED_SEQ, R4, &waits);
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(sieve.move_ticks)), SKIP_IF(BPF_JLT, R3, R1, 1),
	    SKIP_IF(BPF_JGE, R4, R1, 0));
	jump(code, dropped);
	put_class(code, walk, WALK_MOVES, dropped);
	PUT(code, SKIP(0));
	jump(code, &moves);
	land(code, &waits);
	put_class(code, walk, WALK_WAITS, dropped);
	land(code, &moves);
	land(code, &whole);
}

/* One step of the walk: a connection, or the next bucket. R7 is the node, R8 the connection, R9 its record. */
static void put_step(struct insns *code, const struct sock_walk *walk, const struct plan *plan, int map)
{
	const struct walk_position *fields = walk->fields;
	size_t connection, full, other_net, waiting, request;
	struct jumps dropped = {};

	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map), LOAD(BPF_DW, R7, R6, AREA(node)), COPY(R1, R7),
	    CALCULATE_BY(BPF_AND, R1, 1), SKIP_IF_BY(BPF_JNE, R1, 0, 1), SKIP_IF_BY(BPF_JNE, R7, 0, 0));
	connection = insns_jump(code);
	put_next_bucket(code);
	insns_land(code, connection);
	PUT(code, LOAD(BPF_DW, R9, R6, AREA(count)), SKIP_IF_BY(BPF_JGE, R9, WALK_RECORDS, 0));
	full = insns_jump(code);
	PUT(code, CALCULATE_BY(BPF_MUL, R9, walk->record_size), CALCULATE(BPF_ADD, R9, R6), ADD(R9, AREA(records)),
	    COPY(R8, R7), ADD(R8, -(int)plan->questions[WALK_NEXT].answer));
	put_cast(code, plan);
	put_copy(code, plan, &plan->ranges.items[0]);
	PUT(code, LOAD(BPF_DW, R1, R9, fields[WALK_NEXT].at), STORE(BPF_DW, R6, AREA(node), R1));
	PUT(code, LOAD(BPF_DW, R1, R9, fields[WALK_NET].at), LOAD(BPF_DW, R2, R6, AREA(net)),
	    SKIP_IF(BPF_JNE, R1, R2, 0));
	other_net = insns_jump(code);
	PUT(code, LOAD(BPF_B, R1, R9, fields[WALK_STATE].at), SKIP_IF_BY(BPF_JEQ, R1, SOCKET_TIME_WAIT, 0));
	waiting = insns_jump(code);
	PUT(code, SKIP_IF_BY(BPF_JEQ, R1, REQUEST, 0));
	request = insns_jump(code);
	if (walk->with_tcp)
		put_sieve(code, walk, plan, &dropped);
	for (size_t i = 1; i < plan->ranges.count; i++)
		put_copy(code, plan, &plan->ranges.items[i]);
	if (plan->questions[WALK_INODE].answer == LAYOUT_NONE)
		PUT(code, LOAD(BPF_DW, R3, R9, fields[WALK_SOCKET].at),
		    ADD(R3, walk->places[WALK_SOCKET_INODE].at + walk->places[WALK_INODE_NUMBER].at), COPY(R1, R9),
		    ADD(R1, fields[WALK_INODE].at), SET(R2, sizeof(uint64_t)), CALL(BPF_FUNC_probe_read_kernel));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(first)), LOAD(BPF_DW, R2, R6, AREA(at)), CALCULATE(BPF_ADD, R1, R2),
	    ADD(R1, -1), STORE(BPF_DW, R9, 0, R1));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(count)), ADD(R1, 1), STORE(BPF_DW, R6, AREA(count), R1));
	insns_land(code, other_net);
	land(code, &dropped);
	PUT(code, SET(R0, 0), RETURN);
	insns_land(code, waiting);
	insns_land(code, request);
	PUT(code, SET(R2, 1), CALCULATE(BPF_LSH, R2, R1), LOAD(BPF_DW, R3, R6, AREA(others)), CALCULATE(BPF_OR, R3, R2),
	    STORE(BPF_DW, R6, AREA(others), R3), SET(R0, 0), RETURN);
	insns_land(code, full);
	PUT(code, SET(R1, 1), STORE(BPF_DW, R6, AREA(full), R1), SET(R0, 1), RETURN);
}

static int open_lane(const struct sock_walk *walk, struct program *lane, const struct plan *plan, struct why *why)
{
	_cleanup_close_ int map =
		program_share(lane, "nest_sockets", sizeof(struct walk_area) + WALK_RECORDS * walk->record_size, why);
	struct insns code = {};

	if (map < 0)
		return map;
	put_main(&code, walk, map);
	put_step(&code, walk, plan, map);
	return program_load(lane, "nest_sockets", &code, why);
}

int sock_walk_open(struct sock_walk **ret_walk, bool with_tcp, struct why *why)
{
	struct sock_walk *walk = xzalloc(sizeof(*walk));
	struct plan plan = {};
	int r;

	walk->with_tcp = with_tcp;
	for (unsigned i = 0; i < WALK_LANES; i++)
		walk->lanes[i].fd = -1;
	r = find_places(walk, &plan, why);
	for (unsigned i = 0; r == 0 && i < WALK_LANES; i++)
		r = open_lane(walk, &walk->lanes[i], &plan, why);
	vec_done(&plan.ranges);
	if (r < 0)
		sock_walk_close(walk);
	else
		*ret_walk = walk;
	return r;
}

void sock_walk_close(struct sock_walk *walk)
{
	if (!walk)
		return;
	for (unsigned i = 0; i < WALK_LANES; i++)
		program_done(&walk->lanes[i]);
	free(walk);
}

int sock_walk_run(struct sock_walk *walk, unsigned lane, uint64_t first, uint64_t count, const struct walk_sieve *sieve)
{
	struct walk_area *area = sock_walk_area(walk, lane);

	memset(area, 0, offsetof(struct walk_area, heads));
	area->first = first;
	area->buckets = count;
	area->node = 1; /* the end of a chain */
	if (sieve)
		area->sieve = *sieve;
	return program_run(&walk->lanes[lane]);
}

void sock_walk_peek(struct sock_walk *walk, unsigned lane, uint64_t address, uint64_t ret_bytes[2])
{
	struct walk_area *area = sock_walk_area(walk, lane);

	area->peek = address;
	memset(area->peeked, 0, sizeof(area->peeked));
	if (program_run(&walk->lanes[lane]) < 0)
		memset(area->peeked, 0, sizeof(area->peeked));
	memcpy(ret_bytes, area->peeked, sizeof(area->peeked));
	area->peek = 0;
}
