/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections as a graph for Graphviz. An arrow goes from client to server; when both ends of a connection are seen,
 * they are one arrow. Needs records with addresses and ports; process names and bytes are shown where known.
 */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "view/format.h"
#include "view/part.h"

/* Further connections are counted, not drawn. */
#define CONNECTIONS_MAX 100000
#define EDGES_MAX       2000

enum part { LADDR, LPORT, RADDR, RPORT, COMM, ROLE, TX_BYTES, RX_BYTES, PARTS };

/* Seen from the client; if the roles are unknown, from this host. */
struct connection {
	struct addr client;
	struct addr server;
	uint16_t client_port;
	uint16_t server_port;
	uint16_t directed;
};

struct seen {
	char client_comm[17];
	char server_comm[17];
	uint64_t count[2]; /* as reported by the client's and by the server's end */
	uint64_t to_server;
	uint64_t to_client;
};

struct edge {
	uint64_t count;
	uint64_t to_server;
	uint64_t to_client;
};

struct state {
	struct field_ref refs[PARTS];
	struct map connections;
	struct map edges; /* "client\x1fserver", with the labels of the graph */
	uint64_t left_out;
};

static void begin(struct view *view)
{
	static const char *const names[] = {"laddr", "lport", "raddr", "rport", "comm", "role", "tx_bytes", "rx_bytes"};
	struct state *state = view->state;

	state->connections = MAP_INIT(sizeof(struct connection), sizeof(struct seen), CONNECTIONS_MAX);
	state->edges = MAP_INIT(0, sizeof(struct edge), EDGES_MAX);
	view_find_parts(view, names, PARTS, state->refs);
}

static struct value part_of(const struct state *state, const struct record *record, enum part part)
{
	return view_part(record, state->refs[part]);
}

static uint64_t number_of(const struct state *state, const struct record *record, enum part part)
{
	struct value value = part_of(state, record, part);

	return value.class == VALUE_UINT ? value.uint : 0;
}

/* client, server, or NULL. */
static const char *role_of(const struct state *state, const struct record *record)
{
	struct value value = part_of(state, record, ROLE);

	return value.class == VALUE_UINT ? enum_name_find(state->refs[ROLE].field->names, value.uint) : NULL;
}

/* Control characters are separators in the keys. */
static void copy_comm(const struct state *state, const struct record *record, char *to, size_t size)
{
	struct value value = part_of(state, record, COMM);

	if (value.class != VALUE_TEXT)
		return;
	snprintf(to, size, "%.*s", (int)value.len, value.text);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 0x7f)
			*to = '?';
}

static void note(struct view *view, const struct record *record)
{
	struct state *state = view->state;
	struct value laddr = part_of(state, record, LADDR), raddr = part_of(state, record, RADDR);
	uint16_t lport = (uint16_t)number_of(state, record, LPORT), rport = (uint16_t)number_of(state, record, RPORT);
	uint64_t tx = number_of(state, record, TX_BYTES), rx = number_of(state, record, RX_BYTES);
	const char *role = role_of(state, record);
	bool is_server = role && strcmp(role, "server") == 0;
	struct connection key;
	struct seen *seen;

	if (laddr.class != VALUE_ADDR || raddr.class != VALUE_ADDR)
		return;
	memset(&key, 0, sizeof(key));
	key.client = is_server ? *raddr.addr : *laddr.addr;
	key.server = is_server ? *laddr.addr : *raddr.addr;
	key.client_port = is_server ? rport : lport;
	key.server_port = is_server ? lport : rport;
	key.directed = role != NULL;
	seen = map_put(&state->connections, &key, NULL);
	if (!seen) {
		state->left_out++;
		return;
	}
	copy_comm(state, record, is_server ? seen->server_comm : seen->client_comm, sizeof(seen->client_comm));
	/* Both ends report the same bytes: use the end that reported more connections. */
	if (++seen->count[is_server] <= seen->count[!is_server])
		return;
	seen->to_server += is_server ? rx : tx;
	seen->to_client += is_server ? tx : rx;
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* Inside Graphviz quotes; \n stands for a line break. */
static void add_quoted(struct buf *out, const char *text)
{
	for (;;) {
		size_t n = strcspn(text, "\n");

		text_add_dot(out, text, n);
		if (!text[n])
			return;
		buf_add_text(out, "\\n");
		text += n + 1;
	}
}

static void add_edge(struct state *state, const struct connection *connection, const struct seen *seen)
{
	_cleanup_buf_ struct buf name = BUF_INIT(512);
	struct endpoint server = {connection->server, connection->server_port};
	uint64_t count = max_of(seen->count[0], seen->count[1]);
	char address[ADDR_TEXT_MAX];
	struct edge *edge;

	if (seen->client_comm[0])
		buf_add_format(&name, "%s\n", seen->client_comm);
	addr_format(&connection->client, address);
	buf_add_text(&name, address);
	buf_add_char(&name, connection->directed ? '\x1f' : '\x1e');
	if (seen->server_comm[0])
		buf_add_format(&name, "%s\n", seen->server_comm);
	addr_format_endpoint(&server, &name);
	edge = map_put(&state->edges, buf_text(&name), NULL);
	if (!edge) {
		state->left_out += count;
		return;
	}
	edge->count += count;
	edge->to_server += seen->to_server;
	edge->to_client += seen->to_client;
}

static void draw_edge(struct view *view, const char *name, const struct edge *edge)
{
	const char *middle = strpbrk(name, "\x1e\x1f");
	_cleanup_free_ char *client = xstrndup(name, (size_t)(middle - name));
	struct buf *out = &view->out->pending;

	buf_add_text(out, "\t\"");
	add_quoted(out, client);
	buf_add_text(out, "\" -> \"");
	add_quoted(out, middle + 1);
	buf_add_format(out, "\" [label=\"%" PRIu64 " connection%s\\n", edge->count, edge->count == 1 ? "" : "s");
	format_add_bytes(out, (int64_t)edge->to_server);
	buf_add_text(out, " sent, ");
	format_add_bytes(out, (int64_t)edge->to_client);
	buf_add_format(out, " received\"%s];", *middle == '\x1e' ? ", dir=none" : "");
	out_end_line(view->out);
}

struct drawn {
	const char *name;
	const struct edge *edge;
};

static int by_count(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	if (x->edge->count != y->edge->count)
		return x->edge->count < y->edge->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void draw_edges(struct view *view, const struct state *state)
{
	VEC(struct drawn) all = {};
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&state->edges, &at, &key, &value))
		vec_push(&all, (struct drawn){key, value});
	vec_sort(&all, by_count);
	vec_each(&all, drawn)
		draw_edge(view, drawn->name, drawn->edge);
	vec_done(&all);
}

static void end(struct view *view)
{
	struct state *state = view->state;
	struct buf *out = &view->out->pending;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->connections, &at, &key, &value))
		add_edge(state, key, value);
	buf_add_text(out, "digraph nest {");
	out_end_line(view->out);
	buf_add_text(out, "\trankdir=LR; node [shape=box, style=rounded, fontname=\"sans-serif\"]; edge "
			  "[fontname=\"sans-serif\", fontsize=10];");
	out_end_line(view->out);
	draw_edges(view, state);
	if (state->left_out) {
		buf_add_format(out, "\tlabel=\"%" PRIu64 " connection%s not drawn\";", state->left_out,
			       text_plural(state->left_out));
		out_end_line(view->out);
	}
	buf_add_text(out, "}");
	out_end_line(view->out);
	map_done(&state->connections);
	map_done(&state->edges);
}

static const struct view_class dot_view = {
	.name = "dot",
	.help = "graph of connections for Graphviz (dot)",
	.all_fields = true,
	.state_size = sizeof(struct state),
	.begin = begin,
	.record = note,
	.end = end,
};
VIEW_CLASS(dot_view);
