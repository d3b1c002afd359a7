/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source of sockets: sock_diag. */
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "base/worker.h"
#include "snapshot/core/scan.h"
#include "snapshot/socket/sock_fast.h"
#include "snapshot/socket/sock_known.h"
#include "snapshot/socket/socket_share.h"

#define EXT_TCP SOCK_ASK_TCP
/* Extensions for UDP, and for TCP if table "tcp" is not wanted. */
#define EXT_PLAIN SOCK_EXT(INET_DIAG_SKMEMINFO)
/* TOS costs a fourteenth of a dump and is rarely needed: not requested for very many sockets. */
#define EXT_SERVICE (SOCK_EXT(INET_DIAG_TOS) | SOCK_EXT(INET_DIAG_TCLASS))
#define ALL_STATES  ((1u << SOCKET_STATES) - 2)
/* Above this many sockets a walk with a sieve is cheaper than a dump. */
#define SIEVE_WORTH 1000
/* Between two dumps of a sample that follows a limited number of connections. */
#define FOLLOW_NS (900 * NSEC_PER_MSEC)
/* Half-open connections are seen at least that often: once in each window of the diagnosis, or less. */
#define DUMP_NS      (800 * NSEC_PER_MSEC)
#define DUMP_REST_NS (5 * NSEC_PER_SEC)
/* Approximate cost of a socket in a dump; and the share of this thread above which dividing does not pay. */
#define SOCKET_NS     1300
#define OWN_SHARE_MAX 0.85
/* States in which an application can be blocked. */
#define ACTIVE_STATES (ALL_STATES & ~(1u << SOCKET_TIME_WAIT | 1u << SOCKET_FIN_WAIT2 | 1u << SOCKET_CLOSE))

static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};

/* One part of a divided dump: its request and output. */
struct part {
	struct snapshot *snapshot;
	struct socket_parse context;
	uint16_t dividing_port; /* 0: not divided */
	bool second;            /* second of the two parts */
	uint8_t ext;
	uint32_t states;
	int result;
	struct why why;
	struct worker worker;
};

struct state {
	struct snapshot *other; /* buffers of the second thread; its tables stay empty */
	struct netns_states watches, known;
	struct sock_fast fast;
};

/*
 * Divides the sockets by port: the second part has a port at the upper end of the ephemeral range on exactly one side.
 * A server's connections differ in the remote port, a client's in the local one; either way a similar share matches.
 */
static void put_division(struct nlmsghdr *request, uint16_t port, bool second)
{
	unsigned char here = second ? INET_DIAG_BC_D_LE : INET_DIAG_BC_D_GE;
	unsigned char there = second ? INET_DIAG_BC_D_GE : INET_DIAG_BC_D_LE;
	/* inet_diag bytecode: code, yes offset, no offset, then the port. Jump to the end: accept; +4: reject. */
	struct inet_diag_bc_op program[] = {
		{INET_DIAG_BC_S_GE, 8, 20},
		{0, 0, port},
		{here, 8, 24},
		{0, 0, second ? port - 1 : port},
		{INET_DIAG_BC_JMP, 4, 12},
		{there, 8, 12},
		{0, 0, second ? port : port - 1},
	};

	mnl_attr_put(request, INET_DIAG_REQ_BYTECODE, sizeof(program), program);
}

static int ask(struct part *part, struct nlmsghdr *request)
{
	struct nl_question question = {
		.protocol = NETLINK_SOCK_DIAG,
		.request = request,
		.parse = socket_parse_message,
		.context = &part->context,
		.once = part->dividing_port,
	};

	if (part->dividing_port)
		put_division(request, part->dividing_port, part->second);
	return nl_ask(part->snapshot, &question, &part->why);
}

static int ask_family(struct part *part, uint8_t family)
{
	struct nl_request room;
	struct inet_diag_req_v2 *req;
	struct nlmsghdr *request =
		nl_request_begin(&room, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req), (void **)&req);

	req->sdiag_family = family;
	req->sdiag_protocol = part->context.proto;
	req->idiag_ext = part->ext;
	req->idiag_states = part->states;
	return ask(part, request);
}

/*
 * The legacy TCPDIAG_GETSOCK request has no family and dumps both in one walk through the hash table, which dominates
 * the cost on a host with few connections.
 */
static void ask_tcp(void *data)
{
	struct part *part = data;
	struct nl_request room;
	struct inet_diag_req *req;
	struct nlmsghdr *request = nl_request_begin(&room, TCPDIAG_GETSOCK, NLM_F_DUMP, sizeof(*req), (void **)&req);

	req->idiag_family = AF_UNSPEC;
	req->idiag_ext = part->ext;
	req->idiag_states = part->states;
	part->result = ask(part, request);
	if (part->result == 0 || part->dividing_port)
		return;
	part->result = ask_family(part, AF_INET);
	if (part->result == 0)
		part->result = ask_family(part, AF_INET6);
}

static void ask_udp(struct part *part)
{
	int r6;

	part->context.proto = IPPROTO_UDP;
	part->ext = EXT_PLAIN | EXT_SERVICE;
	part->result = ask_family(part, AF_INET);
	r6 = ask_family(part, AF_INET6);
	/* Kernel without IPv6: no gap. */
	if (part->result == 0 && r6 != -ENOENT)
		part->result = r6;
}

/* The number after WORD in the line that starts with LINE: "TCP: inuse 5 orphan 0 tw 3 alloc 7 mem 2". */
static uint64_t figure_of(const char *text, const char *line, const char *word)
{
	const char *at = strstr(text, line), *key;
	uint64_t value = 0;
	size_t n;

	if (!at)
		return 0;
	at += strlen(line);
	while (scan_word(&at, &key, &n))
		if (n == strlen(word) && memcmp(key, word, n) == 0)
			return scan_u64(&at, &value) ? value : 0;
	return 0;
}

uint64_t socket_count_tcp(struct snapshot *snapshot)
{
	uint64_t count;

	if (snapshot_read(snapshot, "/proc/thread-self/net/sockstat") < 0)
		return 0;
	count = figure_of(buf_text(&snapshot->text), "\nTCP:", "inuse") +
		figure_of(buf_text(&snapshot->text), "\nTCP:", "tw");
	if (snapshot_read(snapshot, "/proc/thread-self/net/sockstat6") == 0)
		count += figure_of(buf_text(&snapshot->text), "TCP6:", "inuse");
	return count;
}

/* The kernel counts allocated sockets of all namespaces together. */
uint64_t socket_count_tcp_of_host(struct snapshot *snapshot)
{
	if (snapshot_read(snapshot, "/proc/thread-self/net/sockstat") < 0)
		return 0;
	return figure_of(buf_text(&snapshot->text), "\nTCP:", "alloc");
}

static struct part part_of(struct snapshot *snapshot, const struct snapshot_request *request)
{
	bool with_tcp = request->active_only || snapshot_wants(snapshot, &tcp_type);

	return (struct part){
		.snapshot = snapshot,
		.context =
			{
				.proto = IPPROTO_TCP,
				.sockets = snapshot_table(snapshot, &socket_type),
				.tcps = snapshot_table(snapshot, &tcp_type),
			},
		.ext = (with_tcp ? EXT_TCP : EXT_PLAIN) | EXT_SERVICE,
		.states = ALL_STATES,
	};
}

/*
 * The port that divides the sockets so that both threads finish together; the second may have other work first. 0: not
 * worth dividing, because both threads walk the whole hash table.
 */
static uint16_t dividing_port(struct snapshot *snapshot, uint64_t expected)
{
	double cost = (double)expected * SOCKET_NS, own = 0.5 + (double)worker_delay_ns() / cost / 2;
	uint64_t low = 0, high = 0;
	const char *at;

	if (worker_cpus() < 2 || own > OWN_SHARE_MAX)
		return 0;
	if (snapshot_read_setting(snapshot, "/proc/sys/net/ipv4/ip_local_port_range") == 0) {
		at = buf_text(&snapshot->text);
		if (scan_u64(&at, &low))
			(void)scan_u64(&at, &high);
	}
	if (low == 0 || low > high || high > UINT16_MAX)
		return 0;
	return (uint16_t)((double)low + own * (double)(high - low));
}

/* Two threads dump one part each into the same tables. */
static int collect_divided(struct snapshot *snapshot, const struct part *whole, size_t expected)
{
	struct state *state = snapshot_state(snapshot);
	struct socket_share share;
	struct part parts[2];
	int r;

	if (!state->other)
		state->other = snapshot_new();
	snapshot_clear(state->other);
	state->other->netns = snapshot->netns;
	state->other->source = snapshot->source;
	socket_share_begin(&share, &whole->context, expected);
	for (unsigned i = 0; i < 2; i++) {
		parts[i] = *whole;
		parts[i].snapshot = i ? state->other : snapshot;
		parts[i].second = i;
		parts[i].context = share.sides[i].context;
	}
	worker_start(&parts[1].worker, ask_tcp, &parts[1], expected * SOCKET_NS / 2);
	ask_tcp(&parts[0]);
	worker_join(&parts[1].worker);
	r = parts[0].result < 0 ? parts[0].result : parts[1].result;
	if (r == 0)
		r = socket_share_end(&share);
	if (r < 0)
		return r;
	snapshot_each(state->other, gap_type, const struct gap_record, gap)
		snapshot_gap(snapshot, gap->lost, "%s", gap->why);
	return 0;
}

/* Reads the kernel's hash table by BPF if possible; sock_diag for the rest. */
static int collect_fast(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request,
			size_t expected, struct sock_sieve *sieve)
{
	struct state *state = snapshot_state(snapshot);
	struct sock_fast_request wanted = {
		.context = &whole->context,
		.states = whole->states,
		.expected = expected,
		.with_tcp = whole->ext & SOCK_EXT(INET_DIAG_INFO),
		.sieve = sieve,
	};
	size_t sockets = whole->context.sockets->count, tcps = whole->context.tcps->count;
	uint32_t states = whole->states;
	int r;

	if (request->no_bpf)
		return -EOPNOTSUPP;
	r = sock_fast_collect(&state->fast, snapshot, &wanted, &whole->why);
	if (r < 0 || !wanted.rest)
		return r;
	whole->states = wanted.rest;
	ask_tcp(whole);
	whole->states = states;
	if (whole->result < 0) {
		whole->context.sockets->count = sockets;
		whole->context.tcps->count = tcps;
	}
	return whole->result;
}

static int collect_tcp(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request)
{
	uint64_t expected = socket_count_tcp(snapshot);

	if (expected >= WORKER_WORTH) {
		whole->ext &= (uint8_t)~EXT_SERVICE;
		if (collect_fast(snapshot, whole, request, expected, NULL) == 0)
			return 0;
		whole->dividing_port = dividing_port(snapshot, expected);
		/* Fallback: one thread dumps everything. */
		if (whole->dividing_port && collect_divided(snapshot, whole, expected) == 0)
			return 0;
		whole->dividing_port = 0;
		snapshot_table_reserve(whole->context.sockets, whole->context.sockets->count + expected);
		snapshot_table_reserve(whole->context.tcps, whole->context.tcps->count + expected);
	}
	ask_tcp(whole);
	return whole->result;
}

static void release_watch(struct netns_state *watch)
{
	vec_done(&((struct sock_watch *)watch)->active);
}

/* Of very many connections the kernel passes over those that rest; of fewer this program does. */
static int collect_followed(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request,
			    struct sock_sieve *sieve, bool is_new)
{
	size_t from = whole->context.sockets->count;
	uint64_t expected = socket_count_tcp(snapshot);
	int r;

	if (is_new)
		sock_sieve_begin(sieve, expected, request);
	r = expected >= SIEVE_WORTH ? collect_fast(snapshot, whole, request, expected, sieve) : -EOPNOTSUPP;
	if (r < 0) {
		r = collect_tcp(snapshot, whole, request);
		if (r < 0)
			return r;
		sock_watch_sift(snapshot, from, sieve);
	}
	sock_sieve_adapt(sieve, request);
	return 0;
}

static void note_unfollowed(struct snapshot *snapshot, const struct sock_sieve *sieve)
{
	static const char *const classes[WALK_CLASSES] = {[WALK_WAITS] = "wait", [WALK_MOVES] = "move"};

	for (unsigned i = 0; i < WALK_CLASSES; i++) {
		char lost[80];

		if (!sieve->masks[i])
			continue;
		snprintf(lost, sizeof(lost), "%" PRIu64 " of %" PRIu64 " TCP connections that %s", sieve->masks[i],
			 sieve->masks[i] + 1, classes[i]);
		snapshot_gap(snapshot, lost, "too many to follow each of them");
	}
}

static int collect_all_active(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request)
{
	size_t from = whole->context.sockets->count;
	int r = collect_tcp(snapshot, whole, request);

	if (r == 0)
		sock_watch_sift(snapshot, from, NULL);
	return r;
}

/* Active connections: a full dump when due, otherwise the known active ones and the listeners. */
static int collect_active(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request)
{
	struct state *state = snapshot_state(snapshot);
	bool is_new;
	struct sock_watch *watch = netns_state_find(&state->watches, snapshot, sizeof(*watch), release_watch, &is_new);
	size_t from = whole->context.sockets->count;
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int r;

	if (sock_watch_due(watch, request->followed_max ? FOLLOW_NS : 0)) {
		whole->states = ACTIVE_STATES;
		r = request->followed_max ? collect_followed(snapshot, whole, request, &watch->sieve, is_new)
					  : collect_all_active(snapshot, whole, request);
		if (r < 0)
			return r;
		sock_watch_remember(watch, snapshot, from, EXT_TCP);
		watch->ended_ns = clock_monotonic_ns();
		watch->took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	} else {
		r = sock_ask(&watch->active, snapshot, &whole->context, &whole->why);
		if (r < 0)
			return r;
		whole->states = 1u << SOCKET_LISTEN;
		ask_tcp(whole);
		r = whole->result;
	}
	whole->states = ALL_STATES;
	note_unfollowed(snapshot, &watch->sieve);
	return r;
}

static void release_known(struct netns_state *known)
{
	vec_done(&((struct sock_known *)known)->questions);
}

/* The listeners, then the known connections: the order of a dump. */
static int ask_known(struct sock_known *known, struct snapshot *snapshot, struct part *whole)
{
	size_t sockets = whole->context.sockets->count, tcps = whole->context.tcps->count;
	int r;

	whole->states = 1u << SOCKET_LISTEN;
	ask_tcp(whole);
	r = whole->result;
	if (r == 0)
		r = sock_ask(&known->questions, snapshot, &whole->context, &whole->why);
	whole->states = ALL_STATES;
	if (r < 0) {
		whole->context.sockets->count = sockets;
		whole->context.tcps->count = tcps;
	}
	return r;
}

static int collect_known(struct snapshot *snapshot, struct part *whole, const struct snapshot_request *request)
{
	struct state *state = snapshot_state(snapshot);
	uint64_t opens = sock_known_opens(snapshot), now_ns = snapshot->sockets_boot_ns;
	size_t from = whole->context.sockets->count;
	bool is_new;
	struct sock_known *known = netns_state_find(&state->known, snapshot, sizeof(*known), release_known, &is_new);
	int r;

	if (sock_known_suffices(known, opens, now_ns, request->followed_max ? DUMP_REST_NS : DUMP_NS) &&
	    ask_known(known, snapshot, whole) == 0)
		return 0;
	r = collect_tcp(snapshot, whole, request);
	if (r == 0)
		sock_known_remember(known, snapshot, from, whole->ext, opens, now_ns);
	return r;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct part whole = part_of(snapshot, request);
	int r;

	snapshot->sockets_boot_ns = clock_ns(CLOCK_BOOTTIME);
	/* Few are all followed. */
	if (request->active_only && request->repeated &&
	    (!request->followed_max ||
	     socket_count_tcp(snapshot) > min_of(request->followed_max, (size_t)SOCK_KNOWN_MAX)))
		r = collect_active(snapshot, &whole, request);
	else if (request->repeated)
		r = collect_known(snapshot, &whole, request);
	else
		r = collect_tcp(snapshot, &whole, request);
	if (r == 0) {
		ask_udp(&whole);
		r = whole.result;
	}
	*why = whole.why;
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	snapshot_free(state->other);
	netns_states_done(&state->watches, release_watch);
	netns_states_done(&state->known, release_known);
	sock_fast_done(&state->fast);
}

static const struct snapshot_source sock_diag_source = {
	.name = "sock_diag",
	.lost = "sockets",
	.types = types,
	.stage = STAGE_SOCKETS,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(sock_diag_source);
