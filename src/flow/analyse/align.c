/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "flow/analyse/align.h"
#include "flow/analyse/profile.h"
#include "view/format.h"

static const struct enum_name side_names[] = {
	{ALIGN_PROXY, "proxy", "the proxy"},
	{ALIGN_NETWORK, "network", "between the two, including socket buffers"},
	{ALIGN_SERVER, "server", "the server behind the proxy"},
};
static struct enum_names align_side_names = {.items = side_names, .count = ARRAY_SIZE(side_names)};

static const struct field exchange_fields[] = {
	FIELD(struct align_exchange, exchange, ID, "number, in order of time"),
	FIELD(struct align_exchange, start_ns, TIME, "time when the proxy had the client's request"),
	FIELD(struct align_exchange, proxy_session, ID, "session in the proxy's trace", .zero_is_unknown = true),
	FIELD(struct align_exchange, server_session, ID, "session in the server's trace", .zero_is_unknown = true),
	FIELD(struct align_exchange, total_ns, DURATION, "from the client's request to its reply"),
	FIELD(struct align_exchange, proxy_ns, DURATION, "time in the proxy"),
	FIELD(struct align_exchange, network_ns, DURATION, "time between the two"),
	FIELD(struct align_exchange, server_ns, DURATION, "time in the server"),
	FIELD(struct align_exchange, rx_bytes, BYTES, "bytes received by the server"),
	FIELD(struct align_exchange, tx_bytes, BYTES, "bytes sent by the server"),
	FIELD(struct align_exchange, slowest, ENUM, "side with most of the time", .names = &align_side_names),
};
RECORD_TYPE(align_exchange_type, "flow_exchange", struct align_exchange, exchange_fields,
	    "a request that passed a proxy and its server");

static const struct field align_fields[] = {
	FIELD(struct align, answer, TEXT, "result in one sentence"),
	FIELD(struct align, connections, COUNT, "connections opened by the proxy"),
	FIELD(struct align, matched, COUNT, "of these, found in the server's trace"),
	FIELD(struct align, exchanges, COUNT, "requests that passed both"),
	FIELD(struct align, clock_offset_ns, DURATION, "offset of the server's clock from the proxy's"),
	FIELD(struct align, clock_drift, RATIO, "growth of the offset, in seconds per second"),
	FIELD(struct align, proxy_ns, DURATION, "time in the proxy, all exchanges"),
	FIELD(struct align, network_ns, DURATION, "time between the two"),
	FIELD(struct align, server_ns, DURATION, "time in the server"),
	FIELD(struct align, slowest, ENUM, "side with most of the time", .names = &align_side_names),
	FIELD(struct align, function, TEXT, "function in which that side spent most of its time"),
};
RECORD_TYPE(align_type, "flow_alignment", struct align, align_fields,
	    "traces of a proxy and its server on one timeline");

/* --- messages of each connection --- */

struct message {
	uint32_t socket; /* index in the demultiplexer */
	bool is_read;
	uint64_t start_ns, end_ns;
	uint64_t from, to; /* byte range within this direction */
};

typedef SPILL(struct message) messages;

static int by_socket_and_end(const void *a, const void *b)
{
	const struct message *one = a, *other = b;

	if (one->socket != other->socket)
		return one->socket < other->socket ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static void count_bytes(messages *all)
{
	uint64_t bytes[2] = {};

	for (size_t i = 0; i < all->count; i++) {
		struct message *m = &all->items[i];
		uint64_t n = m->to;

		if (i && all->items[i - 1].socket != m->socket)
			bytes[0] = bytes[1] = 0;
		m->from = bytes[m->is_read];
		m->to = bytes[m->is_read] += n;
		spill_trim_at(i);
	}
}

static void collect(const struct flow_sessions *s, messages *ret_all)
{
	for (size_t i = 0; i < s->trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;

		flow_cursor_begin(&cursor, s->trace, i);
		while (flow_cursor_next_notable(&cursor, &event)) {
			struct flow_operation op;
			uint32_t index;

			if (!flow_event_operation(&event, &op) || !demux_is_data(&op))
				continue;
			index = demux_socket_find(s->demux, op.socket);
			if (index != DEMUX_NONE)
				spill_push(ret_all, (struct message){
							    .socket = index,
							    .is_read = op.op == FLOW_OP_READ,
							    .start_ns = flow_ns(s->trace, op.start_ticks),
							    .end_ns = flow_ns(s->trace, op.end_ticks),
							    .to = (uint64_t)op.result,
						    });
		}
	}
	spill_sort(ret_all->items, ret_all->count, sizeof(*ret_all->items), by_socket_and_end);
	count_bytes(ret_all);
}

/* Messages of one socket. */
struct stretch {
	const struct message *items;
	size_t count;
};

static struct stretch stretch_of(const messages *all, uint32_t socket)
{
	size_t low = 0, high = all->count;
	struct stretch found = {};

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (all->items[middle].socket < socket)
			low = middle + 1;
		else
			high = middle;
	}
	found.items = vec_from(all, low);
	while (low + found.count < all->count && all->items[low + found.count].socket == socket)
		found.count++;
	return found;
}

/* The message of that direction that contains the byte; NULL: not seen. */
static const struct message *with_byte(struct stretch s, bool is_read, uint64_t byte)
{
	const struct message *m = s.items;

	for (size_t left = s.count; left > 0; left--, m++)
		if (m->is_read == is_read && m->from <= byte && byte < m->to)
			return m;
	return NULL;
}

/* --- matching connections --- */

struct ends {
	struct addr server, proxy;
	uint16_t server_port, proxy_port;
};

static struct ends ends_of(const struct endpoint *server, const struct endpoint *proxy)
{
	struct ends ends;

	memset(&ends, 0, sizeof(ends));
	ends.server = server->addr;
	ends.proxy = proxy->addr;
	ends.server_port = server->port;
	ends.proxy_port = proxy->port;
	return ends;
}

/* By socket index: session number; 0: none. */
typedef SPILL(uint32_t) session_numbers;

struct aligner {
	struct align *a;
	struct flow_sessions *proxy, *server;
	messages at_proxy, at_server;
	session_numbers proxy_session, server_session;
};

static session_numbers sessions_by_socket(const struct flow_sessions *s)
{
	session_numbers of = {};

	spill_fill(&of, s->demux->sockets.count);
	for (size_t i = 0; i < s->list.count; i++) {
		uint32_t socket = s->demux->sessions.items[s->list.items[i].id].socket;

		if (socket != DEMUX_NONE)
			of.items[socket] = (uint32_t)i + 1;
		spill_trim_at(i);
	}
	return of;
}

/* Client side of an exchange: the last read before the request was forwarded, the first write after the reply. */
static void find_client(struct align_exchange *x, struct stretch client)
{
	uint64_t came = 0, went = 0;

	for (size_t i = 0; i < client.count; i++) {
		const struct message *m = &client.items[i];

		if (m->is_read && m->end_ns <= x->sent_ns)
			came = m->end_ns;
		if (!m->is_read && !went && m->start_ns >= x->returned_ns)
			went = m->start_ns;
	}
	x->proxy_ns = came && went ? x->sent_ns - came + (went - x->returned_ns) : UINT64_MAX;
	x->start_ns = came ? came : x->sent_ns;
	x->total_ns = (went ? went : x->returned_ns) - x->start_ns;
}

/* Reads, then writes: one exchange as seen by the server. */
static void add_exchange(struct aligner *al, uint32_t proxy_socket, uint32_t server_socket,
			 const struct message *last_read, const struct message *last_write)
{
	struct stretch up = stretch_of(&al->at_proxy, proxy_socket), client = {};
	const struct message *sent = with_byte(up, false, last_read->to - 1);
	const struct message *back = with_byte(up, true, last_write->to - 1);
	uint32_t owner = al->proxy->demux->sockets.items[proxy_socket].owner;
	struct align_exchange *x;

	if (!sent || !back)
		return;
	x = vec_add(&al->a->list);
	*x = (struct align_exchange){
		.sent_ns = sent->start_ns,
		.received_ns = last_read->end_ns,
		.read_start_ns = last_read->start_ns,
		.answered_ns = last_write->start_ns,
		.returned_ns = back->end_ns,
		.back_start_ns = back->start_ns,
		.server_session = al->server_session.items[server_socket],
		.proxy_session = al->proxy_session.items[owner],
	};
	if (owner != proxy_socket)
		client = stretch_of(&al->at_proxy, owner);
	find_client(x, client);
}

static void pair_up(struct aligner *al, uint32_t proxy_socket, uint32_t server_socket)
{
	struct stretch at_server = stretch_of(&al->at_server, server_socket);
	const struct message *last_read = NULL, *last_write = NULL;
	uint64_t rx = 0, tx = 0;

	for (size_t i = 0; i <= at_server.count; i++) {
		const struct message *m = i < at_server.count ? &at_server.items[i] : NULL;

		if (last_read && last_write && (!m || m->is_read)) {
			size_t before = al->a->list.count;

			add_exchange(al, proxy_socket, server_socket, last_read, last_write);
			if (al->a->list.count > before) {
				al->a->list.items[before].rx_bytes = last_read->to - rx;
				al->a->list.items[before].tx_bytes = last_write->to - tx;
			}
			rx = last_read->to;
			tx = last_write->to;
			last_read = last_write = NULL;
		}
		if (m && m->is_read)
			last_read = m;
		else if (m)
			last_write = m;
	}
}

/* Port numbers are reused: the N-th connection with these endpoints is the N-th on the other side as well. */
static void match(struct aligner *al)
{
	struct map open = MAP_INIT(sizeof(struct ends), sizeof(uint32_t), 0);
	uint32_t server_count = (uint32_t)al->server->demux->sockets.count, *next;

	/* Chains the server's sockets with the same endpoints, oldest first. */
	next = xzalloc(max_of(server_count, 1u) * sizeof(*next));
	for (uint32_t i = server_count; i-- > 0;) {
		const struct demux_socket *s = &al->server->demux->sockets.items[i];
		struct endpoint local = demux_local(al->server->demux, s), remote = demux_remote(al->server->demux, s);
		struct ends ends = ends_of(&local, &remote);
		uint32_t *first;

		if (s->role != DEMUX_SERVED || !s->rport)
			continue;
		first = map_put(&open, &ends, NULL);
		next[i] = *first;
		*first = i + 1;
	}
	for (uint32_t i = 0; i < al->proxy->demux->sockets.count; i++) {
		const struct demux_socket *s = &al->proxy->demux->sockets.items[i];
		struct endpoint local = demux_local(al->proxy->demux, s), remote = demux_remote(al->proxy->demux, s);
		struct ends ends = ends_of(&remote, &local);
		uint32_t *first = map_get(&open, &ends);

		al->a->connections += s->role == DEMUX_MADE;
		if (!first || !*first || s->is_joined)
			continue;
		al->a->connections += s->role != DEMUX_MADE;
		al->a->matched++;
		pair_up(al, i, *first - 1);
		*first = next[*first - 1];
	}
	free(next);
	map_done(&open);
}

/* --- clocks --- */

/* Bounds of the server's clock offset from each exchange: nothing is received before it is sent, in both directions. */
static void fit_clocks(struct align *a)
{
	int64_t least = INT64_MIN, most = INT64_MAX;
	double n = 0, st = 0, so = 0, stt = 0, sto = 0, t0 = a->list.count ? (double)a->list.items[0].sent_ns : 0;

	vec_each(&a->list, x) {
		int64_t high = (int64_t)(x->received_ns - x->sent_ns), low = (int64_t)(x->answered_ns - x->returned_ns);
		double t = (double)x->sent_ns - t0, o = ((double)high + (double)low) / 2;

		most = min_of(most, high);
		least = max_of(least, low);
		n++;
		st += t;
		so += o;
		stt += t * t;
		sto += t * o;
	}
	/*
	 * Same clock: offset 0. Clocks at the same rate: middle of the range. Otherwise a line through the midpoints.
	 */
	if (least <= 0 && most >= 0)
		return;
	if (least <= most) {
		a->clock_offset_ns = least + (most - least) / 2;
		return;
	}
	a->clock_drift = n * stt - st * st > 0 ? (n * sto - st * so) / (n * stt - st * st) : 0;
	a->clock_offset_ns = (int64_t)((so - a->clock_drift * st) / n);
}

uint64_t align_proxy_ns(const struct align *a, uint64_t server_ns)
{
	/* Clamp at zero. */
	bool early = a->clock_offset_ns > 0 && (uint64_t)a->clock_offset_ns > server_ns;
	uint64_t about = early ? 0 : server_ns - (uint64_t)a->clock_offset_ns;

	return about - (uint64_t)(int64_t)(a->clock_drift * ((double)about - (double)a->list.items[0].sent_ns));
}

/* Residuals of the fit must not put a reply before its request. */
static void set_clocks(struct align *a)
{
	fit_clocks(a);
	vec_each(&a->list, x) {
		x->received_ns = max_of(align_proxy_ns(a, x->received_ns), x->sent_ns);
		x->received_ns = min_of(x->received_ns, x->returned_ns);
		x->read_start_ns = align_proxy_ns(a, x->read_start_ns);
		x->answered_ns = max_of(align_proxy_ns(a, x->answered_ns), x->received_ns);
		x->answered_ns = min_of(x->answered_ns, x->returned_ns);
	}
}

/* --- attribution of time --- */

/*
 * Data waiting in a socket for a late reader is the reader's time: anything beyond the fastest passage, while the
 * reader had not yet started to read.
 */
static uint64_t reader_delay(uint64_t sent, uint64_t read_start, uint64_t passage, uint64_t quickest)
{
	uint64_t before = read_start > sent ? read_start - sent : 0;

	return min_of(before, passage - min_of(passage, quickest));
}

static void split(struct align *a)
{
	uint64_t quickest[2] = {UINT64_MAX, UINT64_MAX};

	vec_each(&a->list, x) {
		quickest[0] = min_of(quickest[0], x->received_ns - x->sent_ns);
		quickest[1] = min_of(quickest[1], x->returned_ns - x->answered_ns);
	}
	vec_each(&a->list, x) {
		uint64_t there = x->received_ns - x->sent_ns, back = x->returned_ns - x->answered_ns;
		uint64_t server_late = reader_delay(x->sent_ns, x->read_start_ns, there, quickest[0]);
		uint64_t proxy_late = reader_delay(x->answered_ns, x->back_start_ns, back, quickest[1]);
		uint64_t in_proxy;

		x->server_ns = (x->answered_ns > x->received_ns ? x->answered_ns - x->received_ns : 0) + server_late;
		x->network_ns = there - server_late + back - proxy_late;
		if (x->proxy_ns != UINT64_MAX)
			x->proxy_ns += proxy_late;
		in_proxy = x->proxy_ns == UINT64_MAX ? 0 : x->proxy_ns;
		x->slowest = x->server_ns >= x->network_ns && x->server_ns >= in_proxy ? ALIGN_SERVER
			     : x->network_ns >= in_proxy                               ? ALIGN_NETWORK
										       : ALIGN_PROXY;
		a->proxy_ns += in_proxy;
		a->network_ns += x->network_ns;
		a->server_ns += x->server_ns;
	}
	a->slowest = a->server_ns >= a->network_ns && a->server_ns >= a->proxy_ns ? ALIGN_SERVER
		     : a->network_ns >= a->proxy_ns                               ? ALIGN_NETWORK
										  : ALIGN_PROXY;
}

/* The innermost function with most of a program's time, callees included. */
static const char *busiest(struct flow_sessions *s)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new(s, NULL, 2);
	struct profile_sums sums;
	uint32_t at = 0, best;

	profile_sum(profile, &sums);
	for (;;) {
		best = 0;
		for (uint32_t c = profile->places.items[at].first_child; c; c = profile->places.items[c].next)
			if (!best || sums.ticks[0][c] > sums.ticks[0][best])
				best = c;
		if (!best || sums.ticks[0][best] * 2 < sums.ticks[0][at])
			break;
		at = best;
	}
	profile_sums_done(&sums);
	return at ? s->trace->functions[profile->places.items[at].fn].name : NULL;
}

/* Time of a session's first request, on the trace's clock; before that it connects and negotiates TLS. */
static uint64_t *first_requests(const struct align *a, const struct flow_sessions *s, uint64_t *ret_count)
{
	uint64_t *since = xzalloc((s->list.count + 1) * sizeof(*since));

	for (size_t i = 0; i < s->list.count; i++)
		since[i] = UINT64_MAX;
	vec_each(&a->list, x) {
		uint32_t session = a->slowest == ALIGN_PROXY ? x->proxy_session : x->server_session;

		if (!session || session > s->list.count)
			continue;
		ret_count[session - 1]++;
		/* The server has another clock, and its side of the connection is as old as the request. */
		since[session - 1] = min_of(since[session - 1], a->slowest == ALIGN_PROXY ? x->start_ns : 0);
	}
	return since;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* Median self time at a place per request, over sessions with requests. */
static uint64_t usual_ticks(const struct profile_cells *cells, size_t *at, const uint64_t *requests, uint64_t *room)
{
	uint32_t place = cells->list.items[*at].place;
	size_t count = 0, all = 0;

	for (; *at < cells->list.count && cells->list.items[*at].place == place; ++*at) {
		const struct profile_cell *cell = &cells->list.items[*at];
		uint64_t n = requests[cells->session_of[cell->slot]];

		if (n)
			room[count++] = cell->ticks[PROFILE_OWN] / n;
	}
	for (uint32_t i = 0; i < cells->slots; i++)
		all += requests[cells->session_of[i]] > 0;
	/* Sessions that were not there took none. */
	qsort(room, count, sizeof(*room), by_number);
	return count * 2 > all ? room[all / 2 - (all - count)] : 0;
}

/*
 * Function with the most self time per request in the median session: what a busy machine adds at random is not
 * typical. NULL: none, the time passes between calls.
 */
static const char *usual(const struct align *a, struct flow_sessions *s)
{
	struct profile *profile = xzalloc(sizeof(*profile));
	_cleanup_free_ uint64_t *requests = xzalloc((s->list.count + 1) * sizeof(*requests)),
				*since = first_requests(a, s, requests);
	_cleanup_free_ uint64_t *room = xzalloc((PROFILE_SLOTS + 1) * sizeof(*room));
	struct profile_cells cells;
	uint64_t most = 0;
	uint32_t best = 0;
	const char *name;

	profile->trace = s->trace;
	profile_init(profile);
	profile_cells_fill(&cells, profile, &(struct profile_view){.sessions = s, .since_ns = since});
	for (size_t at = 0; at < cells.list.count;) {
		uint32_t place = cells.list.items[at].place;
		uint64_t ticks = usual_ticks(&cells, &at, requests, room);

		if (ticks > most && !profile->places.items[place].is_dispatcher) {
			most = ticks;
			best = place;
		}
	}
	/* Between calls, or waiting for something else. */
	if (flow_span_ns(s->trace, most) * 5 <
	    (a->slowest == ALIGN_PROXY ? a->proxy_ns : a->server_ns) / max_of(a->exchanges, 1u))
		best = 0;
	name = best ? s->trace->functions[profile->places.items[best].fn].name : NULL;
	profile_cells_done(&cells);
	profile_free(profile);
	return name;
}

static void answer(struct align *a)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1024);
	uint64_t all = a->proxy_ns + a->network_ns + a->server_ns;
	uint64_t most = a->slowest == ALIGN_SERVER  ? a->server_ns
			: a->slowest == ALIGN_PROXY ? a->proxy_ns
						    : a->network_ns;

	buf_add_format(&text, "the %s takes ", enum_name_find(&align_side_names, a->slowest));
	format_add_share(&text, all ? (double)most / (double)all : 0);
	buf_add_text(&text, " of the time: ");
	format_add_duration(&text, (int64_t)(most / a->exchanges));
	buf_add_text(&text, " of ");
	format_add_duration(&text, (int64_t)(all / a->exchanges));
	buf_add_format(&text, " per request, over %u request%s", a->exchanges, a->exchanges == 1 ? "" : "s");
	if (a->function)
		buf_add_format(&text, "; mostly in %s", a->function);
	a->answer = a->answer_text = xstrdup(buf_text(&text));
}

static int by_start(const void *a, const void *b)
{
	const struct align_exchange *one = a, *other = b;

	if (one->sent_ns != other->sent_ns)
		return one->sent_ns < other->sent_ns ? -1 : 1;
	return one->server_session < other->server_session ? -1 : one->server_session > other->server_session;
}

int align_new(struct flow_sessions *proxy, struct flow_sessions *server, struct align **ret_align, struct why *why)
{
	_cleanup_(align_freep) struct align *a = xzalloc(sizeof(*a));
	struct aligner al = {.a = a, .proxy = proxy, .server = server};

	collect(proxy, &al.at_proxy);
	collect(server, &al.at_server);
	al.proxy_session = sessions_by_socket(proxy);
	al.server_session = sessions_by_socket(server);
	match(&al);
	spill_done(&al.proxy_session);
	spill_done(&al.server_session);
	spill_done(&al.at_proxy);
	spill_done(&al.at_server);
	if (!a->list.count && !a->connections)
		return why_set(why, -ENODATA,
			       "the first trace has no outgoing connections: give the proxy's trace first");
	if (!a->list.count)
		return why_set(why, -ENODATA,
			       "no request found in both traces: %u of %u connections of the first are in the second",
			       a->matched, a->connections);
	vec_sort(&a->list, by_start);
	set_clocks(a);
	split(a);
	a->exchanges = (uint32_t)a->list.count;
	for (uint32_t i = 0; i < a->exchanges; i++)
		a->list.items[i].exchange = i + 1;
	if (a->slowest != ALIGN_NETWORK) {
		struct flow_sessions *slow = a->slowest == ALIGN_PROXY ? proxy : server;

		a->function = usual(a, slow);
		if (!a->function)
			a->function = busiest(slow);
	}
	answer(a);
	*ret_align = take_ptr(a);
	return 0;
}

void align_free(struct align *a)
{
	if (!a)
		return;
	vec_done(&a->list);
	free(a->answer_text);
	free(a);
}
