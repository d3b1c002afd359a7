/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/gap_track.h"

#include "base/clock.h"
#include "snapshot/socket/socket.h"

/* Shorter pauses are what delayed ACKs and schedulers make. */
#define UNACKED_LEAST_NS (200 * NSEC_PER_MSEC)
#define WINDOW_LEAST_NS  (150 * NSEC_PER_MSEC)
#define SILENT_LEAST_NS  (300 * NSEC_PER_MSEC)
/* Intervals between samples in a row in which a stream must have arrived to be called one. */
#define STREAK 4
/* Streams that stop together stop within this time. */
#define TOGETHER_NS (60 * NSEC_PER_MSEC)
/* TCP_CA_Recovery, TCP_CA_Loss: from duplicate ACKs, from a retransmission timeout. */
#define CA_RECOVERY 3
#define CA_LOSS     4
/* Without anything outstanding, a longer pause is no interruption. */
#define REST_NS (10 * NSEC_PER_SEC)
/* What was under way when everything stopped still arrives. */
#define UNDER_WAY_NS (50 * NSEC_PER_MSEC)

static bool is_followed(const struct socket_record *s)
{
	return s->proto == 6 && s->cookie != UINT64_MAX && s->state != SOCKET_LISTEN && s->state != SOCKET_TIME_WAIT &&
	       s->state != SOCKET_CLOSE && s->state != SOCKET_NEW_SYN_RECV && s->state != SOCKET_SYN_SENT &&
	       s->state != SOCKET_SYN_RECV;
}

bool gap_is_at_rest(const struct tcp_record *t)
{
	return t->unacked == 0 && t->notsent_bytes == 0 && t->last_sent_ns > REST_NS && t->last_received_ns > REST_NS &&
	       t->last_ack_ns > REST_NS;
}

/* The moment of something of that age, which happened after the sample before. */
static uint64_t moment_of(uint64_t age_ns, uint64_t before_ns, uint64_t now_ns)
{
	uint64_t at_ns = age_ns == UINT64_MAX || age_ns > now_ns ? now_ns : now_ns - age_ns;

	return max_of(at_ns, before_ns);
}

static uint32_t grown(uint32_t before, uint32_t now)
{
	return before == UINT32_MAX || now == UINT32_MAX || now < before ? 0 : now - before;
}

static uint32_t timeouts_of(const struct gap_conn *c, const struct tcp_record *t)
{
	uint32_t counted = t->total_rto == UINT16_MAX || c->rto_before == UINT16_MAX
				   ? 0
				   : (uint16_t)(t->total_rto - c->rto_before);
	uint32_t backoff = t->backoff == UINT8_MAX ? 0 : t->backoff;

	return max_of(counted, backoff);
}

static enum gap_kind outstanding_of(const struct tcp_record *t)
{
	bool unsent = t->notsent_bytes != UINT32_MAX && t->notsent_bytes > 0;

	if (t->unacked > 0 && t->unacked != UINT32_MAX)
		return GAP_UNACKED;
	return unsent && t->snd_wnd != UINT32_MAX && t->snd_wnd < t->snd_mss ? GAP_ZERO_WINDOW : GAP_NONE;
}

static void end_gap(struct gap_tracks *tracks, struct gap_conn *c, uint64_t end_ns)
{
	struct gap_ended ended = {c->cookie, c->past_count};

	c->now.end_ns = end_ns;
	c->past[c->past_count++ % GAPS_KEPT] = c->now;
	c->now = (struct gap){};
	c->recovers = true;
	vec_push(&tracks->ended, ended);
}

static void begin_gap(struct gap_conn *c, enum gap_kind kind, uint64_t begin_ns, uint64_t now_ns)
{
	c->now = (struct gap){.kind = (uint8_t)kind, .begin_ns = begin_ns, .since_ns = now_ns, .known_ns = now_ns};
}

/* What was outstanding when the last sample was taken has been since the last progress, or since that sample. */
static uint64_t waiting_since(const struct gap_conn *c)
{
	return max_of(c->acked_ns, c->idle_ns);
}

/* Samples are too far apart for an RTT near the timeout: without one, the age of the last segment sent counts. */
static bool is_overdue(const struct gap_conn *c, const struct tcp_record *t, uint64_t waited_ns)
{
	return waited_ns >= UNACKED_LEAST_NS &&
	       (timeouts_of(c, t) > 0 || (t->rto_ns > 0 && min_of(waited_ns, t->last_sent_ns) >= t->rto_ns));
}

static void recognize(struct gap_conn *c, const struct socket_record *s, const struct tcp_record *t, uint64_t now_ns)
{
	enum gap_kind kind = outstanding_of(t);
	uint64_t waited_ns = now_ns - min_of(now_ns, waiting_since(c));
	uint64_t silent_ns = now_ns - min_of(now_ns, c->received_ns);

	if (kind == GAP_UNACKED && is_overdue(c, t, waited_ns))
		begin_gap(c, kind, waiting_since(c), now_ns);
	else if (kind == GAP_ZERO_WINDOW && waited_ns >= WINDOW_LEAST_NS)
		begin_gap(c, kind, waiting_since(c), now_ns);
	else if (kind == GAP_NONE && s->recvq_bytes == 0 && c->streak >= STREAK && c->quiet > 0 &&
		 silent_ns >= SILENT_LEAST_NS && silent_ns > 4 * t->srtt_ns)
		begin_gap(c, GAP_SILENT, c->received_ns, now_ns);
}

static void go_on(struct gap_conn *c, const struct tcp_record *t, uint64_t now_ns)
{
	uint64_t age_ns = min_of(t->last_ack_ns, t->last_received_ns);
	uint64_t heard_ns = age_ns > now_ns ? 0 : now_ns - age_ns;
	struct gap *gap = &c->now;

	gap->known_ns = now_ns;
	if (gap->kind == GAP_SILENT)
		return;
	gap->timeouts = max_of(gap->timeouts, timeouts_of(c, t));
	gap->heard |= heard_ns > gap->since_ns + max_of(t->srtt_ns, (uint64_t)UNDER_WAY_NS);
	/* A window that is closed has been heard of. */
	if (outstanding_of(t) == GAP_ZERO_WINDOW)
		gap->kind = GAP_ZERO_WINDOW;
}

/* Progress again; or what was outstanding is gone without (a reset, a shutdown). */
static void follow_gap(struct gap_tracks *tracks, struct gap_conn *c, const struct tcp_record *t, bool acked,
		       bool received, uint64_t now_ns)
{
	bool silent = c->now.kind == GAP_SILENT;

	if (silent ? received : acked) {
		c->now.retrans = grown(c->retrans_before, t->total_retrans);
		c->now.timeouts = max_of(c->now.timeouts, silent ? 0 : timeouts_of(c, t));
		end_gap(tracks, c, silent ? c->received_ns : c->acked_ns);
	} else if (!silent && outstanding_of(t) == GAP_NONE) {
		c->now = (struct gap){};
	} else {
		go_on(c, t, now_ns);
	}
}

/* A timeout between two samples of which neither shows it. */
static void note_missed(struct gap_tracks *tracks, struct gap_conn *c, const struct tcp_record *t, uint64_t since_ns)
{
	if (!c->outstanding || timeouts_of(c, t) == 0 || c->acked_ns - since_ns < UNACKED_LEAST_NS)
		return;
	begin_gap(c, GAP_UNACKED, since_ns, c->sample_ns);
	c->now.timeouts = timeouts_of(c, t);
	c->now.retrans = grown(c->retrans_before, t->total_retrans);
	/* Nobody looked: there may have been duplicate ACKs. */
	c->now.heard = true;
	c->now.known_ns = max_of(c->sample_ns, since_ns + UNACKED_LEAST_NS);
	end_gap(tracks, c, c->acked_ns);
}

static void count_retransmissions(struct gap_conn *c, const struct tcp_record *t, bool in_gap)
{
	if (!in_gap && !c->recovers)
		c->outside[0] += grown(c->total_retrans, t->total_retrans);
	/* Retransmitting what was in flight takes a while after a gap. */
	if (!in_gap && t->ca_state == 0)
		c->recovers = false;
	c->total_retrans = t->total_retrans;
}

static void update(struct gap_tracks *tracks, struct gap_conn *c, const struct socket_record *s,
		   const struct tcp_record *t, uint64_t now_ns)
{
	bool acked = t->bytes_acked != UINT64_MAX && t->bytes_acked > c->bytes_acked;
	bool received = t->bytes_received != UINT64_MAX && t->bytes_received > c->bytes_received;
	uint64_t since_ns = waiting_since(c);
	bool was_open = c->now.kind != GAP_NONE;

	if (acked)
		c->acked_ns = moment_of(t->last_ack_ns, c->sample_ns, now_ns);
	if (received) {
		c->received_ns = moment_of(t->last_received_ns, c->sample_ns, now_ns);
		c->streak = c->quiet > 0 ? 1 : c->streak + 1;
	}
	c->quiet = received ? 0 : c->quiet + 1;
	if (was_open)
		follow_gap(tracks, c, t, acked, received, now_ns);
	else if (acked)
		note_missed(tracks, c, t, since_ns);
	if (acked || outstanding_of(t) == GAP_NONE) {
		c->rto_before = t->total_rto;
		c->retrans_before = t->total_retrans;
	}
	if (outstanding_of(t) == GAP_NONE)
		c->idle_ns = now_ns;
	if (!was_open && c->now.kind == GAP_NONE && !(acked && outstanding_of(t) != GAP_NONE))
		recognize(c, s, t, now_ns);
	count_retransmissions(c, t, was_open || c->now.kind != GAP_NONE);
	c->bytes_acked = t->bytes_acked;
	c->bytes_received = t->bytes_received;
	c->outstanding = outstanding_of(t) != GAP_NONE;
	c->sample_ns = now_ns;
}

/*
 * Since when nothing was outstanding, at the latest, as the first sample shows it. What has not been retransmitted is
 * not older than the last segment that was sent, which may be much later than the last ACK.
 */
static uint64_t idle_until(const struct tcp_record *t, uint64_t now_ns)
{
	if (outstanding_of(t) == GAP_NONE)
		return now_ns;
	return outstanding_of(t) == GAP_UNACKED && t->backoff == 0 && t->ca_state != CA_LOSS
		       ? moment_of(t->last_sent_ns, 0, now_ns)
		       : 0;
}

static void begin(struct gap_conn *c, const struct socket_record *s, const struct tcp_record *t, uint64_t now_ns)
{
	*c = (struct gap_conn){
		.cookie = s->cookie,
		.laddr = s->laddr,
		.raddr = s->raddr,
		.lport = s->lport,
		.rport = s->rport,
		.sample_ns = now_ns,
		.acked_ns = moment_of(t->last_ack_ns, 0, now_ns),
		.received_ns = moment_of(t->last_received_ns, 0, now_ns),
		.idle_ns = idle_until(t, now_ns),
		.bytes_acked = t->bytes_acked,
		.bytes_received = t->bytes_received,
		.total_retrans = t->total_retrans,
		.retrans_before = t->total_retrans,
		.total_rto = t->total_rto,
		.rto_before = t->total_rto,
		.outstanding = outstanding_of(t) != GAP_NONE,
	};
	recognize(c, s, t, now_ns);
	/* What the first sample finds in a gap, or after one, may have been retransmitted in it. */
	c->recovers = t->ca_state == CA_LOSS || t->ca_state == CA_RECOVERY || c->now.kind != GAP_NONE;
}

/* --- company --- */

/* Only what is newer than any open gap could be matters, which spares most connections the lookup. */
static void note_progress(struct gap_tracks *tracks, const struct gap_conn *c, uint64_t now_ns)
{
	uint64_t moved_ns = max_of(c->acked_ns, c->received_ns), *path;

	tracks->moved_ns = max_of(tracks->moved_ns, moved_ns);
	if (moved_ns + REST_NS < now_ns)
		return;
	path = map_put(&tracks->paths, &c->raddr, NULL);
	if (path)
		*path = max_of(*path, moved_ns);
}

static uint64_t quiet_since(const struct gap *gap, uint64_t moved_ns)
{
	uint64_t since_ns = max_of(gap->begin_ns, moved_ns);

	return gap->known_ns > since_ns ? gap->known_ns - since_ns : 0;
}

/* Connections wait for different timers, so the first may go on long before the last. */
static void compare_with_others(struct gap_tracks *tracks)
{
	vec_each(&tracks->open, cookie) {
		struct gap_conn *c = map_get(&tracks->conns, cookie);
		const uint64_t *path = map_get(&tracks->paths, &c->raddr);

		c->now.path_quiet_ns = max_of(c->now.path_quiet_ns, quiet_since(&c->now, path ? *path : 0));
		c->now.host_quiet_ns = max_of(c->now.host_quiet_ns, quiet_since(&c->now, tracks->moved_ns));
	}
}

void gap_tracks_add(struct gap_tracks *tracks, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;

	tracks->sample++;
	tracks->open.count = tracks->ended.count = 0;
	map_done(&tracks->paths);
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct gap_conn *c;
		bool is_new;

		if (!t || !is_followed(s) || gap_is_at_rest(t))
			continue;
		c = map_put(&tracks->conns, &s->cookie, &is_new);
		if (!c) {
			tracks->lost++;
			continue;
		}
		if (is_new)
			begin(c, s, t, now_ns);
		else
			update(tracks, c, s, t, now_ns);
		c->sample = tracks->sample;
		note_progress(tracks, c, now_ns);
		if (c->now.kind != GAP_NONE)
			vec_push(&tracks->open, s->cookie);
	}
	compare_with_others(tracks);
}

void gap_tracks_end_window(struct gap_tracks *tracks)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&tracks->conns, &at, &key, &value)) {
		struct gap_conn *c = value;

		if (c->sample != tracks->sample) {
			(void)map_remove(&tracks->conns, key);
			continue;
		}
		memmove(&c->outside[1], &c->outside[0], sizeof(c->outside) - sizeof(c->outside[0]));
		c->outside[0] = 0;
	}
}

void gap_tracks_done(struct gap_tracks *tracks)
{
	map_done(&tracks->conns);
	map_done(&tracks->paths);
	vec_done(&tracks->open);
	vec_done(&tracks->ended);
}

const struct gap *gap_next(const struct gap_conn *conn, uint64_t since_ns, unsigned *at)
{
	unsigned kept = min_of(conn->past_count, (unsigned)GAPS_KEPT);
	const struct gap *gap;

	if (*at >= kept)
		return NULL;
	gap = &conn->past[(conn->past_count - 1 - (*at)++) % GAPS_KEPT];
	return gap->end_ns >= since_ns ? gap : NULL;
}

/* --- at the same time --- */

static bool is_silence(const struct gap *gap)
{
	return gap->kind == GAP_SILENT || (gap->kind == GAP_UNACKED && !gap->heard);
}

size_t gap_tracks_list(const struct gap_tracks *tracks, uint64_t since_ns, struct gap_entry *ret_entries, size_t max)
{
	size_t at = 0, count = 0;
	const void *key;
	void *value;

	while (map_next(&tracks->conns, &at, &key, &value)) {
		const struct gap_conn *conn = value;
		const struct gap *gap;
		unsigned number = 0;

		if (is_silence(&conn->now) && count < max)
			ret_entries[count++] = (struct gap_entry){conn, &conn->now};
		while ((gap = gap_next(conn, since_ns, &number)))
			if (is_silence(gap) && count < max)
				ret_entries[count++] = (struct gap_entry){conn, gap};
	}
	return count;
}

static bool overlap(const struct gap *a, const struct gap *b)
{
	uint64_t begin_ns = max_of(a->begin_ns, b->begin_ns), end_ns = min_of(a->known_ns, b->known_ns);

	return end_ns > begin_ns && (end_ns - begin_ns) * 2 >= min_of(gap_span(a), gap_span(b));
}

static bool begin_together(const struct gap *a, const struct gap *b)
{
	uint64_t apart_ns = a->begin_ns > b->begin_ns ? a->begin_ns - b->begin_ns : b->begin_ns - a->begin_ns;

	return apart_ns <= TOGETHER_NS && overlap(a, b);
}

/* The entries of a connection follow each other. */
struct gap_company gap_company_of(const struct gap_conn *conn, const struct gap *gap, const struct gap_entry *entries,
				  size_t count)
{
	bool pause = gap->kind == GAP_SILENT;
	const struct gap_conn *last = NULL;
	struct gap_company company = {};

	for (size_t i = 0; i < count; i++) {
		const struct gap_conn *other = entries[i].conn;
		bool same_host = memcmp(&other->raddr, &conn->raddr, sizeof(conn->raddr)) == 0;

		if (other == conn || other == last || (pause && same_host && other->rport == conn->rport) ||
		    !(pause ? begin_together : overlap)(gap, entries[i].gap))
			continue;
		last = other;
		company.path += same_host;
		company.others += !same_host;
	}
	return company;
}
