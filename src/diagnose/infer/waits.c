/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/infer/waits.h"
#include "base/clock.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/exchange.h"
#include "view/format.h"

/* Shorter is no wait; a client that waits longer has mostly given up, or never expected a reply. */
#define WAIT_MIN_NS (1000 * NSEC_PER_MSEC)
#define WAIT_MAX_NS (60 * NSEC_PER_SEC)
/* Replies that each come sooner, but take most of the time together. */
#define WAIT_SHARE 0.8
/* A connection that received more without ever sending carries no request. */
#define REQUEST_BYTES (64 << 10)

enum wait_kind { WAIT_NONE, WAIT_REPLY, WAIT_REPLIES, WAIT_UNREAD, WAIT_OWED, WAIT_OWES };

/* What the connections between one program and one peer wait for. */
struct wait {
	enum wait_kind kind;
	const struct module *app, *peer, *conn;
	uint64_t count;
	uint64_t ns;  /* longest; of a single wait */
	double share; /* of the time; of many short ones */
};

static bool is_wait(uint64_t ns)
{
	return ns >= WAIT_MIN_NS && ns <= WAIT_MAX_NS;
}

/*
 * How long ago a server read a request that it has not answered. One that has never sent anything serves its first
 * request, which the kernel's times do not show, or only receives.
 */
static uint64_t owed_ns(const struct conn_measures *own, const struct exchange_measures *m)
{
	if (own->acked_ever_bytes > 0)
		return m->owed_ns;
	return own->received_ever_bytes > 0 && own->received_ever_bytes < REQUEST_BYTES && own->recvq_share == 0
		       ? own->receive_gap_ns
		       : UINT64_MAX;
}

static void find_server_wait(const struct module *conn, struct wait *wait)
{
	const struct conn_measures *own = conn->measures.conn;
	const struct exchange_measures *m = conn->measures.exchange;
	uint64_t owed = owed_ns(own, m);

	if (is_wait(m->unread_ns)) {
		wait->kind = WAIT_UNREAD;
		wait->ns = m->unread_ns;
	} else if (is_wait(owed)) {
		wait->kind = WAIT_OWED;
		wait->ns = owed;
	} else if (m->owed_share >= WAIT_SHARE && own->acked_ever_bytes > 0) {
		wait->kind = WAIT_OWES;
		wait->share = m->owed_share;
	}
}

static void find_client_wait(const struct module *conn, struct wait *wait)
{
	const struct exchange_measures *m = conn->measures.exchange;
	uint64_t received = conn->measures.conn->received_bytes;

	if (is_wait(m->unreplied_ns)) {
		wait->kind = WAIT_REPLY;
		wait->ns = m->unreplied_ns;
	} else if (m->reply_wait_share >= WAIT_SHARE && received != UINT64_MAX && received > 0) {
		wait->kind = WAIT_REPLIES;
		wait->share = m->reply_wait_share;
	}
}

static struct wait find_wait(const struct module *conn)
{
	struct wait wait = {
		.app = conn->related[MODULE_APP], .peer = conn->related[MODULE_PEER], .conn = conn, .count = 1};

	if (!conn->measures.exchange || conn->hidden)
		return wait;
	if (conn->measures.exchange->serves)
		find_server_wait(conn, &wait);
	/* Where the server is on this host as well, its end is reported. */
	else if (!conn->other_end)
		find_client_wait(conn, &wait);
	return wait;
}

static void add_requests(struct buf *text, const struct wait *wait, const char *what)
{
	format_add_plural(text, wait->count, "request");
	buf_add_format(text, " %s for ", what);
	format_add_duration(text, (int64_t)wait->ns);
}

static void add_share(struct buf *text, const struct wait *wait, const char *who, const char *whom)
{
	buf_add_format(text, "%s waits for replies from %s ", who, whom);
	format_add_share(text, wait->share);
	buf_add_text(text, " of the time");
}

static void add_sentence(struct buf *text, const struct wait *wait)
{
	const char *app = wait->app ? wait->app->name : wait->conn->name;
	const char *peer = wait->peer ? wait->peer->name : "its peer";
	const struct conn_measures *m = wait->conn->measures.conn;

	if (wait->kind == WAIT_REPLIES) {
		add_share(text, wait, app, peer);
	} else if (wait->kind == WAIT_OWES) {
		add_share(text, wait, peer, app);
	} else {
		buf_add_format(text, "%s waits for %s: ", wait->kind == WAIT_REPLY ? app : peer,
			       wait->kind == WAIT_REPLY ? peer : app);
		add_requests(text, wait, wait->kind == WAIT_UNREAD ? "unread" : "unanswered");
	}
	if (m->min_rtt_ns > 0 && m->min_rtt_ns != UINT64_MAX) {
		buf_add_text(text, " (RTT ");
		format_add_duration(text, (int64_t)m->min_rtt_ns);
		buf_add_char(text, ')');
	}
	buf_add_text(text, ". No baseline yet.");
}

/* Counts a further connection of the same program and peer; false when it is the first. */
static bool join_wait(struct wait *waits, size_t count, const struct wait *more)
{
	for (size_t i = 0; i < count; i++) {
		if (waits[i].kind != more->kind || waits[i].app != more->app || waits[i].peer != more->peer)
			continue;
		waits[i].count++;
		waits[i].ns = max_of(waits[i].ns, more->ns);
		waits[i].share = max_of(waits[i].share, more->share);
		return true;
	}
	return false;
}

size_t waits_sentences(const struct graph *graph, char *ret_sentences[WAITS_MAX])
{
	struct wait waits[WAITS_MAX];
	size_t count = 0;

	vec_each(&graph->modules, conn) {
		struct wait wait = find_wait(*conn);

		if (wait.kind == WAIT_NONE || join_wait(waits, min_of(count, (size_t)WAITS_MAX), &wait))
			continue;
		if (count < WAITS_MAX)
			waits[count] = wait;
		count++;
	}
	for (size_t i = 0; i < min_of(count, (size_t)WAITS_MAX); i++) {
		struct buf text = BUF_INIT(4096);

		add_sentence(&text, &waits[i]);
		ret_sentences[i] = text.data;
	}
	return count;
}
