/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow sessions: a trace split into the sessions that the program served. */
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

struct config {
	const char *trace;
	bool classes;
	bool rest;
	bool others;
	struct split_options split;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, classes, FLAG, "classes", 0, NULL, "list the classes instead of the sessions"),
	OPTION(struct config, rest, FLAG, "rest", 0, NULL, "list calls of no session: start-up, timers"),
	OPTION(struct config, others, FLAG, "others", 0, NULL,
	       "list the sockets that are not sessions: outgoing, listening, internal"),
	OPTION_GROUP(struct config, split, split_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to split", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

/* --- classes --- */

struct class_row {
	uint32_t class;
	uint64_t sessions;
	double share;
	uint64_t span_ns;
	uint64_t calls;
	uint64_t distinct;
	uint32_t example;
	const char *function;
};

static const struct field class_fields[] = {
	FIELD(struct class_row, class, ID, "number; the most frequent class first"),
	FIELD(struct class_row, sessions, COUNT, "sessions in it"),
	FIELD(struct class_row, share, RATIO, "of all sessions", .unit = "%"),
	FIELD(struct class_row, span_ns, DURATION, "median duration"),
	FIELD(struct class_row, calls, COUNT, "calls of its first session"),
	FIELD(struct class_row, distinct, COUNT, "different places in that session's call tree"),
	FIELD(struct class_row, example, ID, "its first session"),
	FIELD(struct class_row, function, TEXT, "function that session begins with"),
};
static RECORD_TYPE(class_type, "flow_class", struct class_row, class_fields,
		   "sessions of a function trace that have the same summarised shape");

/* --- what belongs to no session --- */

struct rest_row {
	const char *function;
	const char *module;
	uint64_t count;
	uint64_t calls;
	uint64_t lat_ns;
};

static const struct field rest_fields[] = {
	FIELD(struct rest_row, function, TEXT, "outermost function"),
	FIELD(struct rest_row, module, TEXT, "program or library it is in"),
	FIELD(struct rest_row, count, COUNT, "occurrences of this tree of calls"),
	FIELD(struct rest_row, calls, COUNT, "calls in the tree"),
	FIELD(struct rest_row, lat_ns, DURATION, "total time"),
};
static RECORD_TYPE(rest_type, "flow_rest", struct rest_row, rest_fields,
		   "calls of a function trace that belong to no session");

/* --- sockets that are no client's --- */

struct other_row {
	uint32_t socket;
	uint8_t role; /* enum demux_role */
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t cookie;
	uint32_t session;
};

static const struct enum_name role_items[] = {
	{DEMUX_OTHER, "internal", "datagram socket, socketpair: internal channel"},
	{DEMUX_SERVED, "client", "accepted, or older than the recording"},
	{DEMUX_MADE, "outgoing", "outgoing connection"},
	{DEMUX_LISTENING, "listener", "listening socket"},
};
static struct enum_names role_names = {.items = role_items, .count = ARRAY_SIZE(role_items)};

static const struct field other_fields[] = {
	FIELD(struct other_row, socket, ID, "number in the trace"),
	FIELD(struct other_row, role, ENUM, "what it is", .names = &role_names),
	FIELD(struct other_row, laddr, ADDR, "local address"),
	FIELD(struct other_row, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct other_row, raddr, ADDR, "remote address"),
	FIELD(struct other_row, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct other_row, cookie, ID, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(struct other_row, session, ID, "session that an outgoing connection was last used for",
	      .zero_is_unknown = true),
};
static RECORD_TYPE(other_type, "flow_other", struct other_row, other_fields,
		   "a socket of a function trace that is not a session");

/* Of a summary: how many each one stands for comes first. */
static const struct output_column summary_columns[] = {
	{.field = "session"},  {.field = "count"},    {.field = "lport"}, {.field = "span_ns"},
	{.field = "busy_ns"},  {.field = "wait_ns"},  {.field = "calls"}, {.field = "requests"},
	{.field = "tx_bytes"}, {.field = "rx_bytes"}, {.field = "class"}, {},
};

/* With --by request: the number of the request within its connection. */
static const struct output_column request_columns[] = {
	{.field = "session"}, {.field = "request"},  {.field = "lport"},    {.field = "raddr"},   {.field = "rport"},
	{.field = "tid"},     {.field = "start_ns"}, {.field = "span_ns"},  {.field = "busy_ns"}, {.field = "wait_ns"},
	{.field = "calls"},   {.field = "tx_bytes"}, {.field = "rx_bytes"}, {.field = "class"},   {},
};

static void show_sessions(const struct flow_sessions *s, struct output *output)
{
	for (size_t i = 0; i < s->list.count; i++) {
		struct flow_session session = flow_session_at(s, i);

		spill_trim_at(i);
		(void)output_record(output, &RECORD_OF(&session));
	}
}

static uint64_t session_count(const struct flow_sessions *s)
{
	uint64_t count = 0;

	for (size_t i = 0; i < s->list.count; i++) {
		count += flow_row_count(s, &s->list.items[i]);
		spill_trim_at(i);
	}
	return count;
}

static void show_classes(const struct flow_sessions *s, struct output *output)
{
	uint64_t all = session_count(s);

	vec_each(&s->classes, class) {
		struct flow_session example = flow_session_at(s, class->example);
		struct class_row row = {
			.class = class->class,
			.sessions = class->sessions,
			.share = (double)class->sessions / (double)all,
			.span_ns = class->median_ns,
			.calls = example.calls,
			.distinct = example.distinct,
			.example = example.session,
			.function = example.function,
		};

		(void)output_record(output, &RECORD_OF(&row));
	}
}

static void show_rest(const struct flow_sessions *s, struct output *output)
{
	vec_each(&s->rest, rest) {
		const struct forest_node *node = &s->forest.nodes.items[rest->node];
		const struct flow_function *function = &s->trace->functions[node->fn];
		struct rest_row row = {
			.function = function->name,
			.module = s->trace->modules[function->module].name,
			.count = rest->count,
			.calls = node->calls,
			.lat_ns = flow_span_ns(s->trace, rest->ticks),
		};

		(void)output_record(output, &RECORD_OF(&row));
	}
}

static void show_others(const struct flow_sessions *s, struct output *output)
{
	for (size_t i = 0; i < s->demux->sockets.count; i++) {
		const struct demux_socket *socket = &s->demux->sockets.items[i];
		const struct demux_socket *owner = &s->demux->sockets.items[socket->owner];
		struct endpoint local = demux_local(s->demux, socket), remote = demux_remote(s->demux, socket);
		uint32_t index = owner->session == DEMUX_NONE ? DEMUX_NONE : flow_sessions_find(s, owner->session);
		struct other_row row = {
			.socket = socket->socket,
			.role = socket->role,
			.laddr = local.addr,
			.raddr = remote.addr,
			.lport = local.port,
			.rport = remote.port,
			.cookie = socket->cookie,
			.session = owner != socket && index != DEMUX_NONE ? index + 1 : 0,
		};

		if (socket->role != DEMUX_SERVED && !socket->is_joined)
			(void)output_record(output, &RECORD_OF(&row));
	}
}

static void say_counts(const struct flow_sessions *sessions)
{
	_cleanup_buf_ struct buf text = BUF_INIT(512);

	format_add_plural(&text, session_count(sessions), "session");
	buf_add_format(&text, " in %zu %s; of ", sessions->classes.count,
		       sessions->classes.count == 1 ? "class" : "classes");
	format_add_plural(&text, sessions->calls, "call");
	buf_add_format(&text, ", %llu belong to no session and %llu are %s", (unsigned long long)sessions->rest_calls,
		       (unsigned long long)sessions->dispatch_calls,
		       sessions->demux->by == DEMUX_SIGNATURE ? "outside the calls that match --at"
							      : "of functions that serve several sessions");
	log_info("%s", buf_text(&text));
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(flow_sessions_freep) struct flow_sessions *sessions = NULL;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct shape shape = SHAPE_OF(config->classes  ? &class_type
				      : config->rest   ? &rest_type
				      : config->others ? &other_type
						       : &flow_session_type);
	struct output *output;
	struct why why = {};
	const struct output_column *columns = NULL;
	int r;

	r = flow_view_open(config->trace, &config->split, &trace, &sessions);
	if (r != EXIT_DONE)
		return r;
	if (!config->classes && !config->rest && !config->others)
		columns = trace->summarised                      ? summary_columns
			  : sessions->demux->by == DEMUX_REQUEST ? request_columns
								 : NULL;
	r = output_open_columns(&config->output, &shape, columns, &output, &why);
	if (r < 0)
		return output_refused("flow sessions", r, &why);
	(config->classes  ? show_classes
	 : config->rest   ? show_rest
	 : config->others ? show_others
			  : show_sessions)(sessions, output);
	r = output_exit_code("flow sessions", output_close(output));
	say_counts(sessions);
	flow_view_report_none(sessions);
	flow_view_close(trace);
	return r;
}

static const char *const examples[] = {
	"nest flow sessions server.trace",
	"every connection of the server",
	"nest flow sessions server.trace --classes",
	"kinds of sessions, with counts",
	"nest flow sessions server.trace --at 'function == handle_job' --key arg0",
	"calls of handle_job with the same first argument are a session",
	NULL,
};

static const struct command sessions_command = {
	.name = "flow sessions",
	.summary = "sessions of a trace: connections, requests or threads",
	.description = "Socket operations decide which call belongs to which connection: a function that serves two "
		       "connections in one call (an event loop, a worker's loop) belongs to none, and each of its "
		       "callees to the connection it uses. Calls of no connection are listed by --rest.\n\nSessions of "
		       "one class have the same shape: the same calls in the same places, loops and recursion counted "
		       "once, small differences ignored.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(sessions_command);
