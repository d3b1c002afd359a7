/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/draw/proxy_diagram.h"

#include <errno.h>

#include "view/format.h"

/* Default limit on lifelines of both programs. */
#define LINES_MAX 20

/* Calls with a smaller share of the session are folded, unless a depth is given. */
#define LEAST_SHARE 0.02

/* A step of one program's diagram: an item or an entire loop, with its time (proxy's clock). */
struct step {
	uint64_t ns;
	size_t first, count; /* items */
	uint32_t line;       /* lifeline after it; CALL_NONE: in no call */
};

/* A session drawn on its own, step by step. */
struct side {
	struct sequence drawn;
	uint32_t offset; /* of its lifelines in the diagram */
	VEC(struct step) steps;
	size_t at;     /* next step */
	uint32_t line; /* current lifeline */
	bool is_server;
};

/* A message between the two programs. */
struct message {
	uint64_t sent_ns, read_ns;
	bool to_server;
	uint64_t bytes;
	uint32_t from; /* sending lifeline, once known */
	bool is_sent;
};

struct picture {
	const struct proxy_diagram *diagram;
	struct sequence *out;
	uint64_t start_ns;
	VEC(struct side) sides; /* [0] is the proxy */
	VEC(struct message) messages;
	size_t next; /* next message to arrive */
};

static uint64_t by_proxy_clock(const struct picture *p, const struct side *side, const struct flow_trace *trace,
			       const struct flow_row *session, uint64_t since)
{
	uint64_t ns = flow_ns(trace, session->start_ticks) + since;

	return side->is_server ? align_proxy_ns(p->diagram->align, ns) : ns;
}

/* --- one program's diagram as steps --- */

/* A loop is one step: its body stands for several iterations. */
static size_t loop_length(const struct sequence *s, size_t at)
{
	size_t open = 0, i = at;

	do {
		open += s->items.items[i].kind == SEQUENCE_LOOP;
		open -= s->items.items[i].kind == SEQUENCE_LOOP_END;
		i++;
	} while (open && i < s->items.count);
	return i - at;
}

static uint64_t loop_start(const struct sequence *s, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++)
		if (s->items.items[i].kind == SEQUENCE_CALL)
			return s->items.items[i].start_ns;
	return 0;
}

static void take_steps(struct picture *p, struct side *side, const struct flow_trace *trace,
		       const struct flow_row *session)
{
	const struct sequence *s = &side->drawn;
	VEC(size_t) open = {};

	for (size_t i = 0; i < s->items.count;) {
		const struct sequence_item *item = &s->items.items[i];
		struct step step = {.first = i, .count = 1};
		uint64_t since = item->start_ns;

		if (item->kind == SEQUENCE_LOOP) {
			step.count = loop_length(s, i);
			since = loop_start(s, i, step.count);
		} else if (item->kind == SEQUENCE_CALL) {
			vec_push(&open, i);
		} else if (item->kind == SEQUENCE_RETURN && open.count) {
			const struct sequence_item *call = &s->items.items[open.items[--open.count]];

			since = call->start_ns + call->ns;
		}
		step.ns = by_proxy_clock(p, side, trace, session, since);
		step.line = open.count ? s->items.items[open.items[open.count - 1]].to + side->offset : CALL_NONE;
		/* A gap in one program is the other's time. */
		if (item->kind != SEQUENCE_GAP)
			vec_push(&side->steps, step);
		i += step.count;
	}
	vec_done(&open);
}

static void add_side(struct picture *p, const struct session_diagram_options *options, uint32_t session, bool is_server)
{
	struct flow_sessions *sessions = is_server ? p->diagram->server : p->diagram->proxy;
	struct call_list *list = call_list_new(sessions, session - 1, NULL, 0);
	struct session_diagram_options own = *options;
	struct side *side = vec_add(&p->sides);
	size_t max = options->max_lines ? options->max_lines : LINES_MAX;

	own.least_share = options->depth ? 0 : LEAST_SHARE;
	/* The other side may act between two iterations of a loop. */
	own.is_unfolded = !options->depth;
	own.is_hidden = is_server ? p->diagram->server_hides : p->diagram->proxy_hides;
	own.prefix = is_server ? "server" : "proxy";
	own.max_lines = max_of(max / 2, (size_t)1);
	side->is_server = is_server;
	side->offset = (uint32_t)p->out->lines.count;
	side->line = CALL_NONE;
	session_diagram_draw(list, &own, &side->drawn);
	vec_each(&side->drawn.lines, line)
		vec_push(&p->out->lines, xstrdup(*line));
	/* Messages need one, also where no call of the session is known. */
	if (!side->drawn.lines.count)
		vec_push(&p->out->lines, xstrdup(own.prefix));
	p->out->folded += side->drawn.folded;
	take_steps(p, side, sessions->trace, &sessions->list.items[session - 1]);
	call_list_free(list);
}

/* --- both on one timeline --- */

static struct sequence_item *add_copy(struct picture *p, const struct side *side, const struct sequence_item *item)
{
	struct sequence_item *copy = vec_add(&p->out->items);

	*copy = *item;
	copy->from += side->offset;
	copy->to += side->offset;
	copy->label = item->label ? sequence_text(p->out, item->label) : NULL;
	return copy;
}

static void draw_step(struct picture *p, struct side *side)
{
	const struct step *step = &side->steps.items[side->at++];

	for (size_t i = step->first; i < step->first + step->count; i++) {
		struct sequence_item *item = add_copy(p, side, &side->drawn.items.items[i]);

		item->start_ns = step->ns - min_of(step->ns, p->start_ns);
	}
	side->line = step->line;
}

/* The server session that is in a call, or the last one. */
static const struct side *server_now(const struct picture *p)
{
	const struct side *found = &p->sides.items[p->sides.count - 1];

	for (size_t i = 1; i < p->sides.count; i++)
		if (p->sides.items[i].line != CALL_NONE)
			found = &p->sides.items[i];
	return found;
}

static uint32_t line_now(const struct picture *p, bool of_server)
{
	const struct side *side = of_server ? server_now(p) : &p->sides.items[0];

	return side->line != CALL_NONE ? side->line : side->offset;
}

static void draw_message(struct picture *p, const struct message *m)
{
	struct sequence_item *item = vec_add(&p->out->items);
	_cleanup_buf_ struct buf text = BUF_INIT(128);

	buf_add_text(&text, m->to_server ? "request, " : "reply, ");
	format_add_bytes(&text, (int64_t)m->bytes);
	*item = (struct sequence_item){
		.kind = SEQUENCE_VALUE,
		.from = m->from,
		.to = line_now(p, m->to_server),
		.times = 1,
		.start_ns = m->read_ns - min_of(m->read_ns, p->start_ns),
		.label = sequence_text(p->out, buf_text(&text)),
	};
}

/* Draws messages sent and received up to that time. */
static void pass_messages(struct picture *p, uint64_t now)
{
	for (size_t i = p->next; i < p->messages.count; i++) {
		struct message *m = &p->messages.items[i];

		if (!m->is_sent && m->sent_ns <= now) {
			m->is_sent = true;
			m->from = line_now(p, !m->to_server);
		}
	}
	while (p->next < p->messages.count && p->messages.items[p->next].read_ns <= now)
		draw_message(p, &p->messages.items[p->next++]);
}

static void merge(struct picture *p)
{
	for (;;) {
		struct side *first = NULL;

		vec_each(&p->sides, side)
			if (side->at < side->steps.count &&
			    (!first || side->steps.items[side->at].ns < first->steps.items[first->at].ns))
				first = side;
		if (!first)
			break;
		pass_messages(p, first->steps.items[first->at].ns);
		draw_step(p, first);
	}
	pass_messages(p, UINT64_MAX);
}

static int by_read(const void *a, const void *b)
{
	const struct message *one = a, *other = b;

	return one->read_ns < other->read_ns ? -1 : one->read_ns > other->read_ns;
}

static void add_messages(struct picture *p, const struct align_exchange *x)
{
	vec_push(&p->messages,
		 (struct message){
			 .sent_ns = x->sent_ns, .read_ns = x->received_ns, .to_server = true, .bytes = x->rx_bytes});
	vec_push(&p->messages,
		 (struct message){.sent_ns = x->answered_ns, .read_ns = x->returned_ns, .bytes = x->tx_bytes});
}

static uint32_t slowest_session(const struct align *align)
{
	const struct align_exchange *slowest = NULL;

	vec_each(&align->list, x)
		if (x->proxy_session && x->server_session && (!slowest || x->total_ns > slowest->total_ns))
			slowest = x;
	return slowest ? slowest->proxy_session : 0;
}

static void picture_done(struct picture *p)
{
	vec_each(&p->sides, side) {
		sequence_done(&side->drawn);
		vec_done(&side->steps);
	}
	vec_done(&p->sides);
	vec_done(&p->messages);
}

int proxy_diagram_draw(const struct proxy_diagram *diagram, const struct session_diagram_options *options,
		       struct sequence *ret_sequence, struct why *why)
{
	struct picture p = {.diagram = diagram, .out = ret_sequence};
	uint32_t session = diagram->session ? diagram->session : slowest_session(diagram->align);
	VEC(uint32_t) servers = {};

	vec_each(&diagram->align->list, x) {
		bool known = !x->server_session;

		if (x->proxy_session != session || !session)
			continue;
		vec_each(&servers, s)
			known |= *s == x->server_session;
		if (!known)
			vec_push(&servers, x->server_session);
		add_messages(&p, x);
	}
	if (!servers.count) {
		vec_done(&servers);
		vec_done(&p.messages);
		return why_set(why, -ENODATA, "no request of proxy session %u found in the server's trace", session);
	}
	p.start_ns = flow_ns(diagram->proxy->trace, diagram->proxy->list.items[session - 1].start_ticks);
	vec_sort(&p.messages, by_read);
	add_side(&p, options, session, false);
	vec_each(&servers, s)
		add_side(&p, options, *s, true);
	merge(&p);
	picture_done(&p);
	vec_done(&servers);
	return 0;
}
