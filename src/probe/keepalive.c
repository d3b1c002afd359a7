/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/object.h"
#include "probe/keepalive.bpf.h"
#include "probe/keepalive.h"
#include "snapshot/core/netns_state.h"
#include "snapshot/socket/socket.h"

#define K struct keepalive_record
static const struct field keepalive_fields[] = {
	FIELD(K, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(K, cookie, ID, "socket cookie", .hidden = true),
	FIELD(K, raddr, ADDR, "remote address"),
	FIELD(K, rport, ID, "remote port"),
	FIELD(K, lport, ID, "local port"),
	FIELD(K, asked, COUNT, "keep-alive segments sent"),
	FIELD(K, unanswered, COUNT, "keep-alive segments without a reply"),
	FIELD(K, forbidden, COUNT, "keep-alive segments dropped by a filter of this host"),
	FIELD(K, answered, BOOL, "a segment was received since"),
	FIELD(K, missing_bytes, BYTES,
	      "bytes that the peer has sent and that have not arrived, by the sequence number of its reply"),
};
#undef K
RECORD_TYPE(keepalive_type, "keepalive", struct keepalive_record, keepalive_fields,
	    "keep-alive segments to peers of silent and of stuck connections");

/* Candidates: a connection that carried this much data and has been silent between these times. */
#define STREAM_BYTES (64 << 10)
#define SILENT_NS    (500 * NSEC_PER_MSEC)
#define FORGOTTEN_NS (60 * NSEC_PER_SEC)
/* Retransmission timeouts in a row after which the next is further away than a second. */
#define BACKOFF_LEAST 2
/* Reply timeout: this or four RTTs. Linux rate-limits replies to one per 0.5 s (tcp_invalid_ratelimit). */
#define ANSWER_NS (400 * NSEC_PER_MSEC)
#define AGAIN_NS  (600 * NSEC_PER_MSEC)
#define ASK_MAX   3
/* Limits on a host with very many silent connections. */
#define ASKED_MAX 64
#define AT_ONCE   4

struct asked {
	struct keepalive_record record;
	uint64_t received; /* bytes received at that time: more ends the silence */
	uint32_t segs_in;
	uint64_t answer_ns, asked_ns[ASK_MAX];
	uint64_t tried_ns; /* also when nothing could be sent */
	bool is_there;     /* in the current sample */
};

struct asking {
	struct netns_state of;
	int fd[2]; /* send-only raw sockets, IPv4 and IPv6; -1: not open */
	unsigned count;
	struct asked asked[ASKED_MAX];
};

struct state {
	struct netns_states namespaces;
	struct kernel_object *object;
	struct keepalive_question *question;
	struct keepalive_answer *answer;
	int program;
	bool failed;
};

static void release_asking(struct netns_state *state)
{
	struct asking *asking = (struct asking *)state;

	for (unsigned i = 0; i < ARRAY_SIZE(asking->fd); i++)
		if (asking->fd[i] >= 0)
			close(asking->fd[i]);
}

static struct asking *asking_in(struct state *state, const struct snapshot *snapshot)
{
	bool is_new;
	struct asking *asking =
		netns_state_find(&state->namespaces, snapshot, sizeof(*asking), release_asking, &is_new);

	if (is_new)
		asking->fd[0] = asking->fd[1] = -1;
	return asking;
}

/* --- the segment --- */

static uint32_t add_words(uint32_t sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i + 1 < size; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static size_t write_tcp(const struct socket_record *s, const struct keepalive_answer *known, uint8_t *at)
{
	uint32_t window = min_of(known->rcv_wnd >> min_of(known->rcv_wscale, 14U), (uint32_t)UINT16_MAX);
	struct tcphdr header = {
		.source = htobe16(s->lport),
		.dest = htobe16(s->rport),
		.seq = htobe32(known->snd_una - 1),
		.ack_seq = htobe32(known->rcv_nxt),
		.doff = known->has_times ? 8 : 5,
		.ack = 1,
		.window = htobe16((uint16_t)window),
	};
	const uint8_t times[] = {TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP, TCPOLEN_TIMESTAMP};
	uint32_t values[] = {htobe32(known->tsval), htobe32(known->tsecr)};

	memcpy(at, &header, sizeof(header));
	if (!known->has_times)
		return sizeof(header);
	memcpy(at + sizeof(header), times, sizeof(times));
	memcpy(at + sizeof(header) + sizeof(times), values, sizeof(values));
	return sizeof(header) + sizeof(times) + sizeof(values);
}

/* The kernel fills in the IPv4 header checksum, not the TCP checksum. */
size_t keepalive_segment(const struct socket_record *s, const struct keepalive_answer *known, uint8_t *segment)
{
	bool v4 = s->raddr.family == ADDR_V4;
	size_t head = v4 ? sizeof(struct iphdr) : sizeof(struct ip6_hdr), tcp_size, width = v4 ? 4 : 16;
	const uint8_t *laddr = s->laddr.bytes + 16 - width, *raddr = s->raddr.bytes + 16 - width;
	uint32_t sum;

	tcp_size = write_tcp(s, known, segment + head);
	sum = add_words(IPPROTO_TCP + (uint32_t)tcp_size, laddr, width);
	sum = add_words(add_words(sum, raddr, width), segment + head, tcp_size);
	*(uint16_t *)(void *)(segment + head + offsetof(struct tcphdr, check)) = htobe16(fold(sum));
	if (v4) {
		struct iphdr ip = {.ihl = 5,
				   .version = 4,
				   .tos = s->tos == UINT8_MAX ? 0 : s->tos,
				   .tot_len = htobe16((uint16_t)(head + tcp_size)),
				   .frag_off = htobe16(IP_DF),
				   .ttl = 64,
				   .protocol = IPPROTO_TCP};

		memcpy(&ip.saddr, laddr, width);
		memcpy(&ip.daddr, raddr, width);
		memcpy(segment, &ip, sizeof(ip));
	} else {
		struct ip6_hdr ip = {};

		ip.ip6_flow = htobe32(6U << 28);
		ip.ip6_plen = htobe16((uint16_t)tcp_size);
		ip.ip6_nxt = IPPROTO_TCP;
		ip.ip6_hlim = 64;
		memcpy(&ip.ip6_src, laddr, width);
		memcpy(&ip.ip6_dst, raddr, width);
		memcpy(segment, &ip, sizeof(ip));
	}
	return head + tcp_size;
}

/* --- probing --- */

static int load(struct state *state, struct why *why)
{
	int r;

	if (state->object)
		return 0;
	r = kernel_object_find("keepalive.bpf.o", &state->object, why);
	if (r == 0)
		r = kernel_object_choose(state->object, "keepalive_find", why);
	if (r == 0)
		r = kernel_object_open_chosen(state->object, why);
	if (r == 0)
		r = kernel_object_load(state->object, why);
	if (r == 0)
		r = kernel_object_variable(state->object, "question", sizeof(*state->question),
					   (void **)&state->question);
	if (r == 0)
		r = kernel_object_variable(state->object, "answer", sizeof(*state->answer), (void **)&state->answer);
	if (r == 0)
		state->program = bpf_program__fd(kernel_object_program(state->object, "keepalive_find"));
	return r;
}

static void set_tuple(const struct socket_record *s, struct keepalive_question *question)
{
	struct bpf_sock_tuple *tuple = &question->tuple;

	memset(question, 0, sizeof(*question));
	if (s->raddr.family == ADDR_V4) {
		question->size = sizeof(tuple->ipv4);
		memcpy(&tuple->ipv4.saddr, s->raddr.bytes + 12, 4);
		memcpy(&tuple->ipv4.daddr, s->laddr.bytes + 12, 4);
		tuple->ipv4.sport = htobe16(s->rport);
		tuple->ipv4.dport = htobe16(s->lport);
	} else {
		question->size = sizeof(tuple->ipv6);
		memcpy(tuple->ipv6.saddr, s->raddr.bytes, 16);
		memcpy(tuple->ipv6.daddr, s->laddr.bytes, 16);
		tuple->ipv6.sport = htobe16(s->rport);
		tuple->ipv6.dport = htobe16(s->lport);
	}
}

static int look_up(struct state *state, const struct socket_record *s)
{
	uint8_t frame[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame), .repeat = 1);
	int r;

	set_tuple(s, state->question);
	r = bpf_prog_test_run_opts(state->program, &run);
	if (r < 0)
		return r;
	return __atomic_load_n(&state->answer->found, __ATOMIC_ACQUIRE) ? 0 : -ENOENT;
}

/* A send-only socket with the mark and device of the connection, so that the segment takes the same route. */
static int raw_socket(struct asking *asking, const struct socket_record *s)
{
	bool v6 = s->raddr.family != ADDR_V4;
	int on = 1, ifindex = s->ifindex == UINT32_MAX ? 0 : (int)s->ifindex;
	uint32_t mark = s->mark == UINT32_MAX ? 0 : s->mark;
	int *fd = &asking->fd[v6];

	if (*fd < 0)
		*fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (*fd < 0 || (v6 && setsockopt(*fd, IPPROTO_IPV6, IPV6_HDRINCL, &on, sizeof(on)) < 0) ||
	    setsockopt(*fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) < 0 ||
	    setsockopt(*fd, SOL_SOCKET, SO_BINDTOIFINDEX, &ifindex, sizeof(ifindex)) < 0)
		return -errno;
	return *fd;
}

/* 1: dropped by a filter of this host; -EHOSTUNREACH: there is no way to the peer, which other sources report. */
static int ask(struct state *state, struct asking *asking, const struct socket_record *s)
{
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6};
	struct sockaddr_in to4 = {.sin_family = AF_INET};
	uint8_t segment[KEEPALIVE_MAX];
	bool v4 = s->raddr.family == ADDR_V4;
	int fd = raw_socket(asking, s), r;
	size_t size;

	if (fd < 0)
		return fd;
	r = look_up(state, s);
	if (r < 0)
		return r;
	memcpy(&to4.sin_addr, s->raddr.bytes + 12, 4);
	memcpy(&to6.sin6_addr, s->raddr.bytes, 16);
	to6.sin6_scope_id = s->ifindex == UINT32_MAX ? 0 : s->ifindex;
	size = keepalive_segment(s, state->answer, segment);
	if (sendto(fd, segment, size, MSG_NOSIGNAL, v4 ? (struct sockaddr *)&to4 : (struct sockaddr *)&to6,
		   v4 ? sizeof(to4) : sizeof(to6)) < 0)
		return errno == EPERM ? 1 : -EHOSTUNREACH;
	return 0;
}

static struct asked *find(struct asking *asking, uint64_t cookie)
{
	for (unsigned i = 0; i < asking->count; i++)
		if (asking->asked[i].record.cookie == cookie)
			return &asking->asked[i];
	return NULL;
}

/* Many programs have closed by then; their data is still unacknowledged. A server that never accepted sent nothing. */
static bool is_left(const struct socket_record *s, const struct tcp_record *t)
{
	return s->state == SOCKET_FIN_WAIT1 && t->bytes_received != UINT64_MAX && t->bytes_received > 0;
}

/*
 * Its retransmissions are seconds apart by now: what drops them, here or on the way, may not show in a run. A segment
 * that the peer has acknowledged before is answered at once, and leaves the connection as it is.
 */
static bool is_backed_off(const struct socket_record *s, const struct tcp_record *t)
{
	return s->proto == 6 && (s->state == SOCKET_ESTABLISHED || is_left(s, t)) && t->unacked > 0 &&
	       t->backoff >= BACKOFF_LEAST && t->backoff != UINT8_MAX && t->last_ack_ns != UINT64_MAX &&
	       t->last_ack_ns > SILENT_NS;
}

/* Nothing in flight in either direction, and silent for the required time. */
static bool is_silent(const struct socket_record *s, const struct tcp_record *t)
{
	uint64_t heard_ns;

	if (s->proto != 6 || s->state != SOCKET_ESTABLISHED || s->recvq_bytes || s->sendq_bytes || t->unacked ||
	    t->bytes_received == UINT64_MAX || t->bytes_received < STREAM_BYTES || t->last_received_ns == UINT64_MAX ||
	    t->last_ack_ns == UINT64_MAX)
		return false;
	heard_ns = min_of(t->last_received_ns, t->last_ack_ns);
	return heard_ns > SILENT_NS && t->last_received_ns < FORGOTTEN_NS;
}

/*
 * The sequence number of a reply is the next the peer will send: beyond rcv_nxt if data is missing. The kernel keeps it
 * with the window update.
 */
static uint32_t missing_bytes(struct state *state, const struct socket_record *s)
{
	int32_t ahead;

	if (look_up(state, s) < 0)
		return UINT32_MAX;
	ahead = (int32_t)(state->answer->heard - state->answer->rcv_nxt);
	return ahead > 0 ? (uint32_t)ahead : 0;
}

/* Checks probed connections for replies; received data ends the silence. */
static void check_replies(const struct snapshot *snapshot, struct state *state, struct asking *asking, bool all)
{
	uint64_t now_ns = clock_monotonic_ns();
	unsigned kept = 0;

	for (unsigned i = 0; i < asking->count; i++)
		asking->asked[i].is_there = !all;
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct asked *asked =
			s->proto == 6 && s->netns == asking->of.netns && t ? find(asking, s->cookie) : NULL;

		if (!asked)
			continue;
		if (!asked->record.answered && t->segs_in != asked->segs_in) {
			asked->record.answered = true;
			asked->record.missing_bytes = missing_bytes(state, s);
		}
		/* Drop an answered connection that has been idle for a while. */
		asked->is_there = t->bytes_received == asked->received &&
				  !(asked->record.answered && !t->unacked && t->last_received_ns > FORGOTTEN_NS);
	}
	for (unsigned i = 0; i < asking->count; i++) {
		struct asked *asked = &asking->asked[i];

		if (!asked->is_there)
			continue;
		asked->record.unanswered = 0;
		for (unsigned n = 0; !asked->record.answered && n < asked->record.asked; n++)
			asked->record.unanswered += now_ns - asked->asked_ns[n] > asked->answer_ns;
		asking->asked[kept++] = *asked;
	}
	asking->count = kept;
}

/* Prefers the receiver's RTT estimate: the SRTT may be that of the handshake. */
static uint64_t round_trip_ns(const struct tcp_record *t)
{
	return t->rcv_rtt_ns > 0 ? min_of(t->srtt_ns, t->rcv_rtt_ns) : t->srtt_ns;
}

static struct asked *add(struct asking *asking, const struct socket_record *s, const struct tcp_record *t)
{
	struct asked *asked = &asking->asked[asking->count++];

	*asked = (struct asked){
		.record = {.netns = asking->of.netns,
			   .cookie = s->cookie,
			   .raddr = s->raddr,
			   .lport = s->lport,
			   .rport = s->rport,
			   .missing_bytes = UINT32_MAX},
		.received = t->bytes_received,
		.segs_in = t->segs_in,
		.answer_ns = max_of(ANSWER_NS, 4 * round_trip_ns(t)),
	};
	return asked;
}

static int ask_silent(struct snapshot *snapshot, struct state *state, struct asking *asking, struct why *why)
{
	uint64_t now_ns = clock_monotonic_ns();
	unsigned left = AT_ONCE;

	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct asked *asked;
		int r;

		if (left == 0)
			break;
		if (!t || s->netns != asking->of.netns || !(is_silent(s, t) || is_backed_off(s, t)))
			continue;
		asked = find(asking, s->cookie);
		if (asked ? asked->record.answered || asked->record.asked == ASK_MAX ||
				    now_ns - asked->tried_ns < max_of(AGAIN_NS, asked->answer_ns)
			  : asking->count == ASKED_MAX)
			continue;
		r = load(state, why);
		if (r < 0)
			return r;
		/* The connection may have ended meanwhile. */
		r = ask(state, asking, s);
		if (r == -EPERM || r == -EACCES)
			return why_set(why, r, "cannot send a keep-alive segment: %s (needs CAP_NET_RAW and CAP_BPF)",
				       strerror(-r));
		if (!asked)
			asked = add(asking, s, t);
		asked->tried_ns = now_ns;
		if (r < 0)
			continue;
		asked->asked_ns[asked->record.asked++] = now_ns;
		asked->record.forbidden += r == 1;
		left--;
	}
	return 0;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	struct asking *asking;
	int r;

	/* A single sample cannot see a reply. */
	if (!request->repeated || request->passive || request->no_bpf || state->failed)
		return 0;
	asking = asking_in(state, snapshot);
	check_replies(snapshot, state, asking, !request->active_only);
	r = ask_silent(snapshot, state, asking, why);
	state->failed = r < 0;
	for (unsigned i = 0; i < asking->count; i++) {
		struct keepalive_record *record = snapshot_table_add(snapshot_table(snapshot, &keepalive_type));

		if (record)
			*record = asking->asked[i].record;
	}
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	netns_states_done(&state->namespaces, release_asking);
	kernel_object_close(state->object);
}

static const struct record_type *const types[] = {&keepalive_type, NULL};
static const struct record_type *const needs[] = {&socket_type, &tcp_type, NULL};

static const struct snapshot_source keepalive_source = {
	.name = "keepalive",
	.lost = "whether silent peers are reachable",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(keepalive_source);
