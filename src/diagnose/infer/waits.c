/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/infer/waits.h"
#include "base/clock.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/exchange.h"
#include "view/format.h"

/* Less is no wait, and after that long nobody waits any more. */
#define WAIT_MIN_NS (1000 * NSEC_PER_MSEC)
#define WAIT_MAX_NS (60 * NSEC_PER_SEC)
/* Answers that are each given sooner, but that most of the time goes into. */
#define WAIT_SHARE 0.8
/* What has received more without ever sending anything is no question. */
#define QUESTION_BYTES (64 << 10)

static bool is_wait(uint64_t ns)
{
	return ns >= WAIT_MIN_NS && ns <= WAIT_MAX_NS;
}

/* A program that asks. */
static bool describe_asker(const struct exchange_measures *m, const char *app, const char *peer, struct buf *text)
{
	if (is_wait(m->unreplied_ns)) {
		buf_add_format(text, "%s sent something ", app);
		format_add_duration(text, (int64_t)m->unreplied_ns);
		buf_add_format(text, " ago that %s has received, and has had no answer since.", peer);
	} else if (m->reply_wait_share >= WAIT_SHARE) {
		buf_add_format(text, "%s waits for answers of %s ", app, peer);
		format_add_share(text, m->reply_wait_share);
		buf_add_text(text, " of the time.");
	}
	return text->len > 0;
}

/*
 * How long ago a program that is asked has read what it has not answered. One that has never sent anything is asked for
 * the first time, which the kernel's times do not tell, or only receives.
 */
static uint64_t owed_ns(const struct conn_measures *own, const struct exchange_measures *m)
{
	if (own->acked_ever_bytes > 0)
		return m->owed_ns;
	return own->received_ever_bytes > 0 && own->received_ever_bytes < QUESTION_BYTES && own->recvq_share == 0
		       ? own->receive_gap_ns
		       : UINT64_MAX;
}

/* A program that is asked. */
static bool describe_server(const struct module *conn, const char *app, const char *peer, struct buf *text)
{
	const struct conn_measures *own = conn->measures.conn;
	const struct exchange_measures *m = conn->measures.exchange;
	uint64_t owed = owed_ns(own, m);

	if (is_wait(m->unread_ns)) {
		buf_add_format(text, "%s has left unread for ", app);
		format_add_duration(text, (int64_t)m->unread_ns);
		buf_add_format(text, " what %s sent.", peer);
	} else if (is_wait(owed)) {
		buf_add_format(text, "%s read what %s sent ", app, peer);
		format_add_duration(text, (int64_t)owed);
		buf_add_text(text, " ago, and has not answered since.");
	} else if (m->owed_share >= WAIT_SHARE && own->acked_ever_bytes > 0) {
		buf_add_format(text, "%s owes %s an answer ", app, peer);
		format_add_share(text, m->owed_share);
		buf_add_text(text, " of the time.");
	}
	return text->len > 0;
}

static bool describe(const struct module *conn, struct buf *text)
{
	const struct exchange_measures *m = conn->measures.exchange;
	const struct module *app = conn->related[MODULE_APP], *peer = conn->related[MODULE_PEER];
	const char *app_name = app ? app->name : conn->name, *peer_name = peer ? peer->name : "its peer";

	if (!m || conn->hidden)
		return false;
	if (m->serves)
		return describe_server(conn, app_name, peer_name, text);
	/* Where the other end is here as well, that one is spoken of. */
	return !conn->other_end && describe_asker(m, app_name, peer_name, text);
}

size_t waits_sentences(const struct graph *graph, char *ret_sentences[WAITS_MAX])
{
	size_t count = 0;

	vec_each(&graph->modules, conn) {
		struct buf text = BUF_INIT(4096);

		if (describe(*conn, &text) && count++ < WAITS_MAX)
			ret_sentences[count - 1] = text.data;
		else
			buf_done(&text);
	}
	return count;
}
