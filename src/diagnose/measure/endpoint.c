/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listeners and their accept queues; UDP sockets, their receive buffers and drops. */
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/endpoint.h"
#include "snapshot/core/delta.h"
#include "snapshot/socket/socket.h"

static const struct field listener_fields[] = {
	FIELD(struct listener_measures, laddr, ADDR, "local address"),
	FIELD(struct listener_measures, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct listener_measures, samples, COUNT, "samples of the window"),
	FIELD(struct listener_measures, backlog, COUNT, "length of the accept queue, at the end"),
	FIELD(struct listener_measures, backlog_min, COUNT, "shortest accept queue of any sample"),
	FIELD(struct listener_measures, backlog_peak, COUNT, "longest accept queue of any sample"),
	FIELD(struct listener_measures, backlog_max, COUNT, "limit of the accept queue (backlog)"),
	FIELD(struct listener_measures, backlog_share, RATIO,
	      "samples of the last three windows with connections in the accept queue", .unit = "%"),
	FIELD(struct listener_measures, full_share, RATIO, "samples with a full accept queue", .unit = "%"),
	FIELD(struct listener_measures, drops_count, COUNT, "SYNs and handshakes dropped by the listener"),
};
RECORD_TYPE(listener_measures_type, "measure.listener", struct listener_measures, listener_fields,
	    "measures of a listening socket in a window");

static const struct field udp_fields[] = {
	FIELD(struct udp_measures, laddr, ADDR, "local address"),
	FIELD(struct udp_measures, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct udp_measures, raddr, ADDR, "remote address, if it is connected"),
	FIELD(struct udp_measures, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct udp_measures, samples, COUNT, "samples of the window"),
	FIELD(struct udp_measures, recvq_min_bytes, BYTES, "smallest receive queue"),
	FIELD(struct udp_measures, recvq_max_bytes, BYTES, "largest receive queue"),
	FIELD(struct udp_measures, sendq_max_bytes, BYTES, "largest send queue"),
	FIELD(struct udp_measures, rcvbuf, BYTES, "receive buffer"),
	FIELD(struct udp_measures, recvq_share, RATIO, "samples with data that the application had not read",
	      .unit = "%"),
	FIELD(struct udp_measures, recvq_fill_max, RATIO, "largest share of the receive buffer in use", .unit = "%"),
	FIELD(struct udp_measures, unread_recent_ns, DURATION,
	      "longest time with datagrams in its receive queue and no read, in this window and the two before"),
	FIELD(struct udp_measures, recvq_read, BOOL, "its receive queue has shrunk in this run: a program reads"),
	FIELD(struct udp_measures, recvq_emptied, BOOL, "its receive queue was empty in an earlier sample of this run"),
	FIELD(struct udp_measures, drops_count, COUNT, "datagrams dropped because the receive buffer was full"),
};
RECORD_TYPE(udp_measures_type, "measure.udp", struct udp_measures, udp_fields, "measures of a UDP socket in a window");

/* Windows that an accept queue is judged over: it fills for moments. */
#define RECENT 3

struct socket_track {
	struct track track;
	bool has_base;
	struct socket_record socket;
	uint32_t base_drops;
	unsigned samples, full, recvq;
	unsigned seen[RECENT], queued[RECENT]; /* samples of a listener in the last windows, newest first */
	uint64_t backlog_min, backlog_peak, recvq_min, recvq_max, sendq_max;
	double fill_max;
	bool read;                  /* its queue shrank at some time */
	bool emptied;               /* or was empty */
	uint64_t unread_since_ns;   /* nothing was read since; 0: its queue is empty */
	uint64_t unread_ns[RECENT]; /* longest such time in the last windows, newest first */
};

struct state {
	struct map tracks; /* cookie -> struct socket_track */
};

static const struct state initial = {MAP_INIT(sizeof(uint64_t), sizeof(struct socket_track), 200000)};

static bool is_listener(const struct socket_record *s)
{
	return s->proto == 6 && s->state == SOCKET_LISTEN;
}

static bool is_udp(const struct socket_record *s)
{
	return s->proto == 17;
}

static void sample_reading(struct socket_track *t, const struct socket_record *s, uint64_t now_ns)
{
	bool shrank = t->socket.proto == s->proto && s->recvq_bytes < t->socket.recvq_bytes;

	t->read |= shrank;
	t->emptied |= s->recvq_bytes == 0;
	if (s->recvq_bytes == 0)
		t->unread_since_ns = 0;
	else if (shrank || !t->unread_since_ns)
		t->unread_since_ns = now_ns;
	if (t->unread_since_ns)
		t->unread_ns[0] = max_of(t->unread_ns[0], now_ns - t->unread_since_ns);
}

static void sample_socket(struct window *window, struct state *state, const struct socket_record *s, uint64_t now_ns)
{
	struct socket_track *t = map_put(&state->tracks, &s->cookie, NULL);

	if (!t) {
		window->lost++;
		return;
	}
	if (track_see(window, &t->track)) {
		uint32_t base = t->has_base ? t->socket.drops : s->drops;
		struct socket_track before = *t;

		*t = (struct socket_track){.track = before.track,
					   .socket = before.socket,
					   .read = before.read,
					   .emptied = before.emptied,
					   .unread_since_ns = before.unread_since_ns,
					   .has_base = true,
					   .base_drops = base,
					   .backlog_min = UINT64_MAX,
					   .recvq_min = UINT64_MAX};
		memcpy(&t->seen[1], &before.seen[0], sizeof(t->seen) - sizeof(t->seen[0]));
		memcpy(&t->queued[1], &before.queued[0], sizeof(t->queued) - sizeof(t->queued[0]));
		memcpy(&t->unread_ns[1], &before.unread_ns[0], sizeof(t->unread_ns) - sizeof(t->unread_ns[0]));
	}
	if (is_udp(s))
		sample_reading(t, s, now_ns);
	t->socket = *s;
	t->samples++;
	if (is_listener(s)) {
		t->backlog_min = min_of(t->backlog_min, s->backlog);
		t->seen[0]++;
		t->queued[0] += s->backlog > 0 && s->backlog != UINT32_MAX;
		t->backlog_peak = max_of(t->backlog_peak, s->backlog);
		/* The kernel lets one more in than the limit says. */
		t->full += s->backlog_max != UINT32_MAX && s->backlog > s->backlog_max;
		return;
	}
	t->recvq += s->recvq_bytes > 0;
	t->recvq_min = min_of(t->recvq_min, s->recvq_bytes);
	t->recvq_max = max_of(t->recvq_max, s->recvq_bytes);
	t->sendq_max = max_of(t->sendq_max, s->sendq_bytes);
	if (s->rcvbuf != UINT32_MAX && s->rcvbuf > 0 && s->rmem_bytes != UINT32_MAX)
		t->fill_max = fmax(t->fill_max, (double)s->rmem_bytes / s->rcvbuf);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (s->cookie != UINT64_MAX && (is_listener(s) || is_udp(s)))
			sample_socket(window, state, s, snapshot->begin_boot_ns);
}

static double queued_share(const struct socket_track *t)
{
	unsigned seen = 0, queued = 0;

	for (unsigned i = 0; i < RECENT; i++) {
		seen += t->seen[i];
		queued += t->queued[i];
	}
	return t->socket.backlog == UINT32_MAX || seen == 0 ? NAN : (double)queued / seen;
}

static void add_listener(const struct socket_track *t, const char *id, const char *name, struct graph *graph)
{
	struct module *module = graph_module(graph, MODULE_LISTENER, id, name);
	struct listener_measures *m = graph_alloc(graph, sizeof(*m));

	*m = (struct listener_measures){
		.laddr = t->socket.laddr,
		.lport = t->socket.lport,
		.samples = t->samples,
		.backlog = t->socket.backlog == UINT32_MAX ? UINT64_MAX : t->socket.backlog,
		.backlog_max = t->socket.backlog_max == UINT32_MAX ? UINT64_MAX : t->socket.backlog_max,
		.backlog_min = t->backlog_min,
		.backlog_peak = t->backlog_peak,
		.full_share = (double)t->full / t->samples,
		.backlog_share = queued_share(t),
		.drops_count = delta_between32(t->base_drops, t->socket.drops),
	};
	module->inode = t->socket.inode;
	module->measures.listener = m;
	module->activity = t->backlog_min > 0 ? ACTIVITY_WAITING : ACTIVITY_IDLE;
}

static uint64_t longest_unread(const struct socket_track *t)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < RECENT; i++)
		longest = max_of(longest, t->unread_ns[i]);
	return longest;
}

static void add_udp(const struct socket_track *t, const char *id, const char *name, struct graph *graph)
{
	struct module *module = graph_module(graph, MODULE_UDP, id, name);
	struct udp_measures *m = graph_alloc(graph, sizeof(*m));

	*m = (struct udp_measures){
		.laddr = t->socket.laddr,
		.lport = t->socket.lport,
		.raddr = t->socket.raddr,
		.rport = t->socket.rport,
		.samples = t->samples,
		.recvq_min_bytes = t->recvq_min,
		.recvq_max_bytes = t->recvq_max,
		.sendq_max_bytes = t->sendq_max,
		.rcvbuf = t->socket.rcvbuf == UINT32_MAX ? UINT64_MAX : t->socket.rcvbuf,
		.recvq_share = (double)t->recvq / t->samples,
		.recvq_fill_max = t->fill_max,
		.recvq_read = t->read,
		.recvq_emptied = t->emptied,
		.unread_recent_ns = longest_unread(t),
		.drops_count = delta_between32(t->base_drops, t->socket.drops),
	};
	module->inode = t->socket.inode;
	module->measures.udp = m;
	module->activity = t->recvq == t->samples ? ACTIVITY_WAITING : ACTIVITY_UNKNOWN;
}

/* Workers may share a port (SO_REUSEPORT), each with a socket and a queue of its own. */
struct shared_key {
	struct endpoint local;
	bool udp;
};

static struct shared_key shared_key_of(const struct socket_track *t)
{
	struct shared_key key;

	memset(&key, 0, sizeof(key));
	key.local.addr = t->socket.laddr;
	key.local.port = t->socket.lport;
	key.udp = is_udp(&t->socket);
	return key;
}

static void count_shared(const struct window *window, struct state *state, struct map *shared)
{
	track_each(window, &state->tracks, const struct socket_track, t)
	{
		struct shared_key key = shared_key_of(t);
		unsigned *count = map_put(shared, &key, NULL);

		if (count)
			(*count)++;
	}
}

/* "udp:0.0.0.0:53"; where several sockets share that, "udp:0.0.0.0:53#INODE". */
static void add_module(const struct socket_track *t, unsigned sharing, struct graph *graph)
{
	_cleanup_buf_ struct buf id = BUF_INIT(256), name = BUF_INIT(256);
	struct endpoint local = {t->socket.laddr, t->socket.lport};

	addr_format_endpoint(&local, &name);
	buf_add_format(&id, "%s:%s", is_udp(&t->socket) ? "udp" : "listener", buf_text(&name));
	if (sharing > 1)
		buf_add_format(&id, "#%u", t->socket.inode);
	if (is_udp(&t->socket))
		add_udp(t, buf_text(&id), buf_text(&name), graph);
	else
		add_listener(t, buf_text(&id), buf_text(&name), graph);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	struct map shared = MAP_INIT(sizeof(struct shared_key), sizeof(unsigned), 100000);

	count_shared(window, state, &shared);
	track_each(window, &state->tracks, const struct socket_track, t)
	{
		struct shared_key key = shared_key_of(t);
		const unsigned *count = map_get(&shared, &key);

		add_module(t, count ? *count : 1, graph);
	}
	map_done(&shared);
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
}

static const struct measurer endpoint_measurer = {
	.name = "endpoint",
	.stage = MEASURE_CONN,
	.needs = MEASURER_NEEDS(&socket_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(endpoint_measurer);
