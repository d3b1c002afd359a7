/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that copies connections out of the kernel's table, and its loading. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "kernel/insn.h"
#include "kernel/layout.h"
#include "record/net_names.h"
#include "snapshot/sock_walk.h"

/* Ranges that are so near to each other are copied together with what is between. */
#define GAP_MAX  24
#define STEP_MAX (1 << 20)
/* Waits to become a connection: no whole socket. */
#define REQUEST 12

struct range {
	uint32_t from, to; /* in the kernel's structure, multiples of 8 */
	uint32_t at;       /* in the record */
};

/* The function that makes a pointer of a number, and a structure that is an array of 64-bit words (Linux 6.2 and later). */
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

/* The parts of a connection that are copied, and where each of its fields is then. */
static void make_ranges(struct sock_walk *walk, struct plan *plan)
{
	size_t kept = 0;
	uint32_t at = sizeof(uint64_t); /* behind the number of the bucket */

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
	/* Where the kernel does not keep it in the connection, the program follows the pointers and puts it at the end. */
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
			return why_set(why, -ERANGE, "%s.%s is too far away", answer->type, answer->member);
		walk->places[i] = (struct walk_position){(uint16_t)answer->answer, answer->shift, answer->width};
	}
	make_ranges(walk, plan);
	place_fields(walk, plan);
	return 0;
}

#define AREA(member) ((int)offsetof(struct walk_area, member))

/* A program under construction. Forward jumps are set right when the place that they lead to is reached. */
struct code {
	struct bpf_insn items[512];
	size_t count;
};

static void put(struct code *code, const struct bpf_insn *insns, size_t count)
{
	if (code->count + count > ARRAY_SIZE(code->items))
		abort();
	memcpy(code->items + code->count, insns, count * sizeof(*insns));
	code->count += count;
}

#define PUT(code, ...)                                                                                                 \
	put((code), (const struct bpf_insn[]){__VA_ARGS__},                                                            \
	    sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

static void land(struct code *code, size_t jump)
{
	code->items[jump].off = (int16_t)(code->count - jump - 1);
}

/* Follows a pointer: area->to = *(area->from + offset), of so many bytes. */
static void put_follow(struct code *code, int to, int from, uint32_t offset, int size)
{
	PUT(code, LOAD(BPF_DW, R3, R6, from), ADD(R3, offset), COPY(R1, R6), ADD(R1, to), SET(R2, size),
	    CALL(BPF_FUNC_probe_read_kernel));
}

/* Walks, or reads 16 bytes when there is an address to read. */
static void put_main(struct code *code, const struct sock_walk *walk, int map)
{
	size_t walks, too_many, callback;

	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(peek)), SKIP_IF_NULL(R1, 0));
	walks = code->count - 1;
	put_follow(code, AREA(peeked), AREA(peek), 0, sizeof(uint64_t[2]));
	PUT(code, SET(R0, 0), RETURN);
	land(code, walks);
	PUT(code, CALL(BPF_FUNC_jiffies64), STORE(BPF_DW, R6, AREA(jiffies), R0));
	PUT(code, CALL(BPF_FUNC_get_current_task), STORE(BPF_DW, R6, AREA(task), R0));
	put_follow(code, AREA(spaces), AREA(task), walk->places[WALK_TASK_SPACES].at, 8);
	put_follow(code, AREA(net), AREA(spaces), walk->places[WALK_SPACES_NET].at, 8);
	put_follow(code, AREA(tables), AREA(net), walk->places[WALK_NET_TABLES].at, 8);
	put_follow(code, AREA(table), AREA(tables), walk->places[WALK_TABLES_BUCKETS].at, 8);
	put_follow(code, AREA(mask), AREA(tables), walk->places[WALK_TABLES_MASK].at, 4);
	PUT(code, LOAD(BPF_DW, R2, R6, AREA(buckets)), SKIP_IF_BY(BPF_JGT, R2, WALK_BUCKETS, 0));
	too_many = code->count - 1;
	PUT(code, CALCULATE_BY(BPF_LSH, R2, 3), LOAD(BPF_DW, R3, R6, AREA(first)), CALCULATE_BY(BPF_LSH, R3, 3),
	    LOAD(BPF_DW, R1, R6, AREA(table)), CALCULATE(BPF_ADD, R3, R1), COPY(R1, R6), ADD(R1, AREA(heads)),
	    CALL(BPF_FUNC_probe_read_kernel));
	callback = code->count + 1;
	PUT(code, SET(R1, STEP_MAX), ADDRESS(BPF_PSEUDO_FUNC, R2, 0), SET(R3, 0), SET(R4, 0), CALL(BPF_FUNC_loop));
	land(code, too_many);
	PUT(code, SET(R0, 0), RETURN);
	code->items[callback].imm = (int)(code->count - callback - 1);
}

/* The next bucket, or the end; and whether the chain that ended was the one that was begun. */
static void put_next_bucket(struct code *code)
{
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(at)), SKIP_IF_NULL(R1, 8));
	PUT(code, CALCULATE_BY(BPF_RSH, R7, 1), LOAD(BPF_DW, R2, R6, AREA(first)), CALCULATE(BPF_ADD, R2, R1),
	    ADD(R2, -1), SKIP_IF(BPF_JEQ, R7, R2, 3));
	PUT(code, LOAD(BPF_DW, R2, R6, AREA(strayed)), ADD(R2, 1), STORE(BPF_DW, R6, AREA(strayed), R2));
	PUT(code, LOAD(BPF_DW, R2, R6, AREA(buckets)), SKIP_IF(BPF_JGE, R1, R2, 9),
	    SKIP_IF_BY(BPF_JGE, R1, WALK_BUCKETS, 8));
	PUT(code, COPY(R2, R1), CALCULATE_BY(BPF_LSH, R2, 3), CALCULATE(BPF_ADD, R2, R6),
	    LOAD(BPF_DW, R2, R2, AREA(heads)), STORE(BPF_DW, R6, AREA(node), R2), ADD(R1, 1),
	    STORE(BPF_DW, R6, AREA(at), R1), SKIP(2));
	PUT(code, SET(R0, 1), RETURN);
	PUT(code, SET(R0, 0), RETURN);
}

/* A range of the connection, which R7 points to, or R8 where the kernel does not know such pointers. */
static void put_copy(struct code *code, const struct plan *plan, const struct range *range)
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
 * Calls are what a copy costs most (returning from one is slow where processors have to be kept from guessing), and loads of which
 * none waits for another overlap. So where the kernel lets an address be taken for a pointer to an array, the words are loaded
 * one by one.
 */
static void put_cast(struct code *code, const struct plan *plan)
{
	if (plan->questions[CAST].answer != LAYOUT_NONE)
		PUT(code, COPY(R1, R8), SET(R2, plan->questions[ARRAY].answer),
		    insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int)plan->questions[CAST].answer),
		    COPY(R7, R0));
}

/* One step of the walk: a connection, or the next bucket. R7 is the node, R8 the connection, R9 its record. */
static void put_step(struct code *code, const struct sock_walk *walk, const struct plan *plan, int map)
{
	const struct walk_position *fields = walk->fields;
	size_t connection, full, other_net, waiting, request;

	PUT(code, ADDRESS(BPF_PSEUDO_MAP_VALUE, R6, map), LOAD(BPF_DW, R7, R6, AREA(node)), COPY(R1, R7),
	    CALCULATE_BY(BPF_AND, R1, 1), SKIP_IF_BY(BPF_JNE, R1, 0, 1), SKIP_IF_BY(BPF_JNE, R7, 0, 0));
	connection = code->count - 1;
	put_next_bucket(code);
	land(code, connection);
	PUT(code, LOAD(BPF_DW, R9, R6, AREA(count)), SKIP_IF_BY(BPF_JGE, R9, WALK_RECORDS, 0));
	full = code->count - 1;
	PUT(code, CALCULATE_BY(BPF_MUL, R9, walk->record_size), CALCULATE(BPF_ADD, R9, R6), ADD(R9, AREA(records)),
	    COPY(R8, R7), ADD(R8, -(int)plan->questions[WALK_NEXT].answer));
	put_cast(code, plan);
	put_copy(code, plan, &plan->ranges.items[0]);
	PUT(code, LOAD(BPF_DW, R1, R9, fields[WALK_NEXT].at), STORE(BPF_DW, R6, AREA(node), R1));
	PUT(code, LOAD(BPF_DW, R1, R9, fields[WALK_NET].at), LOAD(BPF_DW, R2, R6, AREA(net)),
	    SKIP_IF(BPF_JNE, R1, R2, 0));
	other_net = code->count - 1;
	PUT(code, LOAD(BPF_B, R1, R9, fields[WALK_STATE].at), SKIP_IF_BY(BPF_JEQ, R1, SOCKET_TIME_WAIT, 0));
	waiting = code->count - 1;
	PUT(code, SKIP_IF_BY(BPF_JEQ, R1, REQUEST, 0));
	request = code->count - 1;
	for (size_t i = 1; i < plan->ranges.count; i++)
		put_copy(code, plan, &plan->ranges.items[i]);
	if (plan->questions[WALK_INODE].answer == LAYOUT_NONE)
		PUT(code, LOAD(BPF_DW, R3, R9, fields[WALK_SOCKET].at),
		    ADD(R3, walk->places[WALK_SOCKET_INODE].at + walk->places[WALK_INODE_NUMBER].at), COPY(R1, R9),
		    ADD(R1, fields[WALK_INODE].at), SET(R2, sizeof(uint64_t)), CALL(BPF_FUNC_probe_read_kernel));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(first)), LOAD(BPF_DW, R2, R6, AREA(at)), CALCULATE(BPF_ADD, R1, R2),
	    ADD(R1, -1), STORE(BPF_DW, R9, 0, R1));
	PUT(code, LOAD(BPF_DW, R1, R6, AREA(count)), ADD(R1, 1), STORE(BPF_DW, R6, AREA(count), R1));
	land(code, other_net);
	PUT(code, SET(R0, 0), RETURN);
	land(code, waiting);
	land(code, request);
	PUT(code, SET(R2, 1), CALCULATE(BPF_LSH, R2, R1), LOAD(BPF_DW, R3, R6, AREA(others)), CALCULATE(BPF_OR, R3, R2),
	    STORE(BPF_DW, R6, AREA(others), R3), SET(R0, 0), RETURN);
	land(code, full);
	PUT(code, SET(R1, 1), STORE(BPF_DW, R6, AREA(full), R1), SET(R0, 1), RETURN);
}

/* The verifier wants to know that what is called back is a function of this program. */
static int load_types(uint32_t *ret_main, uint32_t *ret_step)
{
	struct btf *btf = btf__new_empty();
	int integer, proto, fd;
	const void *bytes;
	uint32_t len;

	if (!btf)
		return -errno;
	integer = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	proto = btf__add_func_proto(btf, integer);
	(void)btf__add_func_param(btf, "context", integer);
	*ret_main = (uint32_t)btf__add_func(btf, "walk", BTF_FUNC_GLOBAL, proto);
	proto = btf__add_func_proto(btf, integer);
	(void)btf__add_func_param(btf, "index", integer);
	(void)btf__add_func_param(btf, "context", integer);
	*ret_step = (uint32_t)btf__add_func(btf, "step", BTF_FUNC_STATIC, proto);
	bytes = btf__raw_data(btf, &len);
	fd = bytes ? bpf_btf_load(bytes, len, NULL) : -ENOMEM;
	btf__free(btf);
	return fd;
}

static int load_program(const struct sock_walk *walk, const struct plan *plan, int map, struct why *why)
{
	struct bpf_func_info functions[2] = {};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .func_info = functions, .func_info_cnt = 2,
		    .func_info_rec_size = sizeof(functions[0]));
	struct code code = {};
	_cleanup_close_ int types = load_types(&functions[0].type_id, &functions[1].type_id);
	int fd;

	if (types < 0)
		return why_set(why, types, "cannot load the types of a program: %s", strerror(-types));
	options.prog_btf_fd = (uint32_t)types;
	put_main(&code, walk, map);
	functions[1].insn_off = (uint32_t)code.count;
	put_step(&code, walk, plan, map);
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nest_sockets", "GPL", code.items, code.count, &options);
	if (fd < 0)
		return why_set(why, fd, "cannot load the program that reads sockets: %s", strerror(-fd));
	return fd;
}

static int open_lane(struct sock_walk *walk, struct walk_lane *lane, const struct plan *plan, struct why *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t size = sizeof(struct walk_area) + WALK_RECORDS * walk->record_size, page = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_close_ int map =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "nest_sockets", sizeof(uint32_t), (uint32_t)size, 1, &options);
	void *area;

	if (map < 0)
		return why_set(why, map, "cannot make a map: %s", strerror(-map));
	size = (size + page - 1) & ~(page - 1);
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (area == MAP_FAILED)
		return why_set(why, -errno, "cannot map a map: %s", strerror(errno));
	lane->area = area;
	lane->area_size = size;
	lane->program = load_program(walk, plan, map, why);
	return min_of(lane->program, 0);
}

int sock_walk_open(struct sock_walk **ret_walk, bool with_tcp, struct why *why)
{
	struct sock_walk *walk = xzalloc(sizeof(*walk));
	struct plan plan = {};
	int r;

	walk->with_tcp = with_tcp;
	for (unsigned i = 0; i < WALK_LANES; i++)
		walk->lanes[i].program = -1;
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
	for (unsigned i = 0; i < WALK_LANES; i++) {
		closep(&walk->lanes[i].program);
		if (walk->lanes[i].area)
			(void)munmap(walk->lanes[i].area, walk->lanes[i].area_size);
	}
	free(walk);
}

static int run(struct walk_lane *lane)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(lane->program, &options);
}

int sock_walk_run(struct sock_walk *walk, unsigned lane, uint64_t first, uint64_t count)
{
	struct walk_area *area = walk->lanes[lane].area;

	memset(area, 0, offsetof(struct walk_area, heads));
	area->first = first;
	area->buckets = count;
	area->node = 1; /* the end of a chain */
	return run(&walk->lanes[lane]);
}

void sock_walk_peek(struct sock_walk *walk, unsigned lane, uint64_t address, uint64_t ret_bytes[2])
{
	struct walk_area *area = walk->lanes[lane].area;

	area->peek = address;
	memset(area->peeked, 0, sizeof(area->peeked));
	if (run(&walk->lanes[lane]) < 0)
		memset(area->peeked, 0, sizeof(area->peeked));
	memcpy(ret_bytes, area->peeked, sizeof(area->peeked));
	area->peek = 0;
}
