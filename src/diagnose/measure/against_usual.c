/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/against_usual.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/exchange.h"

#define M struct usual_measures
static const struct field usual_fields[] = {
	FIELD(M, usual_answers, COUNT, "answers of its service that the baseline holds for this hour"),
	FIELD(M, usual_answer_ns, DURATION, "time that 95 % of them took at most"),
	FIELD(M, usual_answer_times, RATIO, "answer_ns, as a multiple of that"),
	FIELD(M, usual_wait_times, RATIO, "time since the outstanding request, as a multiple of that"),
	FIELD(M, answer_rtts, RATIO, "answer_ns in RTTs"),
	FIELD(M, usual_rtts, COUNT, "RTTs of its path that the baseline holds for this hour"),
	FIELD(M, usual_rtt_ns, DURATION, "95th percentile of them"),
	FIELD(M, usual_rtt_times, RATIO, "RTT, as a multiple of that"),
	FIELD(M, usual_rtt_excess_ns, DURATION, "RTT above that"),
	FIELD(M, usual_min_rtt_times, RATIO, "minimum RTT, as a multiple of that"),
	FIELD(M, usual_min_rtt_excess_ns, DURATION, "minimum RTT above that"),
};
#undef M
RECORD_TYPE(usual_measures_type, "measure.usual", struct usual_measures, usual_fields,
	    "a connection against what is usual at this hour");

/* --- whose it is --- */

static struct usual_key path_key(const struct graph *graph, const struct conn_measures *conn, enum usual_figure figure)
{
	char address[ADDR_TEXT_MAX];

	addr_format(&conn->raddr, address);
	return usual_key((uint32_t)graph->netns, USUAL_PATH, figure, address);
}

/* A port of the remote host, or one of this host. */
static struct usual_key service_key(const struct graph *graph, const struct conn_measures *conn, bool serves,
				    enum usual_figure figure)
{
	struct endpoint remote = {conn->raddr, conn->rport};
	_cleanup_buf_ struct buf name = BUF_INIT(256);

	if (serves)
		buf_add_format(&name, ":%u", conn->lport);
	else
		addr_format_endpoint(&remote, &name);
	return usual_key((uint32_t)graph->netns, USUAL_SERVICE, figure, buf_text(&name));
}

static struct usual_key program_key(const struct graph *graph, const struct app_measures *app, enum usual_figure figure)
{
	char name[sizeof(app->comm) + 1] = "";

	memcpy(name, app->comm, strnlen(app->comm, sizeof(app->comm)));
	return usual_key((uint32_t)graph->netns, USUAL_PROGRAM, figure, name);
}

/* --- learning --- */

static uint64_t rate_of(const struct conn_measures *conn)
{
	return (conn->send_rate == UINT64_MAX ? 0 : conn->send_rate) +
	       (conn->receive_rate == UINT64_MAX ? 0 : conn->receive_rate);
}

static void add_rate(struct map *rates, const struct usual_key *key, uint64_t rate)
{
	uint64_t *sum = map_put(rates, key, NULL);

	if (sum)
		*sum += rate;
}

static void learn_rates(struct map *rates, const struct graph *graph, const struct module *module)
{
	const struct conn_measures *conn = module->measures.conn;
	const struct exchange_measures *exchange = module->measures.exchange;
	struct usual_key key = path_key(graph, conn, USUAL_RATE);
	uint64_t rate = rate_of(conn);

	if (rate == 0)
		return;
	add_rate(rates, &key, rate);
	if (exchange) {
		key = service_key(graph, conn, exchange->serves, USUAL_RATE);
		add_rate(rates, &key, rate);
	}
	if (module->measures.app) {
		key = program_key(graph, module->measures.app, USUAL_RATE);
		add_rate(rates, &key, rate);
	}
	key = usual_key((uint32_t)graph->netns, USUAL_HOST, USUAL_RATE, "");
	add_rate(rates, &key, rate);
}

static void learn_conn(struct usual *usual, const struct graph *graph, const struct module *module)
{
	const struct conn_measures *conn = module->measures.conn;
	const struct exchange_measures *exchange = module->measures.exchange;
	struct usual_key key = path_key(graph, conn, USUAL_RTT);

	if (conn->rtt_ns != UINT64_MAX && conn->acked_bytes != UINT64_MAX && conn->acked_bytes > 0)
		usual_add(usual, &key, graph->start_ns, conn->rtt_ns, 1);
	if (!exchange || exchange->timed_now == 0)
		return;
	key = service_key(graph, conn, exchange->serves, USUAL_ANSWER);
	usual_add(usual, &key, graph->start_ns, exchange->timed_now_ns, exchange->timed_now);
	if (!exchange->serves || !module->measures.app)
		return;
	key = program_key(graph, module->measures.app, USUAL_ANSWER);
	usual_add(usual, &key, graph->start_ns, exchange->timed_now_ns, exchange->timed_now);
}

void usual_learn(struct usual *usual, const struct graph *graph)
{
	struct map rates = MAP_INIT(sizeof(struct usual_key), sizeof(uint64_t), 100000);
	struct usual_key host = usual_key((uint32_t)graph->netns, USUAL_HOST, USUAL_RATE, "");
	const void *key;
	void *value;
	size_t at = 0;

	/* Of the host in every window, also when nothing moves: they are counted. */
	add_rate(&rates, &host, 0);
	vec_each(&graph->modules, module) {
		if (!(*module)->measures.conn || (*module)->kind != MODULE_CONN)
			continue;
		learn_conn(usual, graph, *module);
		learn_rates(&rates, graph, *module);
	}
	while (map_next(&rates, &at, &key, &value))
		usual_add(usual, key, graph->start_ns, *(const uint64_t *)value, 1);
	map_done(&rates);
}

/* --- comparing --- */

static double times_of(uint64_t value, uint64_t base)
{
	return value == UINT64_MAX || base == UINT64_MAX || base == 0 ? NAN : (double)value / (double)base;
}

static uint64_t excess_of(uint64_t value, uint64_t base)
{
	return value == UINT64_MAX ? UINT64_MAX : value - min_of(value, base);
}

static void compare_rtt(const struct conn_measures *conn, const struct usual_answer *usual, struct usual_measures *m)
{
	m->usual_rtts = usual->count;
	m->usual_rtt_ns = usual->p95;
	m->usual_rtt_times = times_of(conn->rtt_ns, usual->p95);
	m->usual_rtt_excess_ns = excess_of(conn->rtt_ns, usual->p95);
	m->usual_min_rtt_times = times_of(conn->min_rtt_ns, usual->p95);
	m->usual_min_rtt_excess_ns = excess_of(conn->min_rtt_ns, usual->p95);
}

static void compare_answers(const struct exchange_measures *exchange, const struct usual_answer *usual,
			    struct usual_measures *m)
{
	m->usual_answers = usual->count;
	m->usual_answer_ns = usual->p95;
	m->usual_answer_times = times_of(exchange->answer_ns, usual->p95);
	m->usual_wait_times = times_of(exchange->serves ? exchange->owed_ns : exchange->reply_wait_ns, usual->p95);
}

/* Of a port served here that is not known, what is usual for its program. */
static bool find_answers(const struct window *window, const struct graph *graph, const struct module *module,
			 struct usual_answer *ret_usual)
{
	const struct exchange_measures *exchange = module->measures.exchange;
	struct usual_key key = service_key(graph, module->measures.conn, exchange->serves, USUAL_ANSWER);
	unsigned hour = usual_hour(window->start_ns);

	if (usual_get(window->usual, &key, hour, ret_usual))
		return true;
	if (!exchange->serves || !module->measures.app)
		return false;
	key = program_key(graph, module->measures.app, USUAL_ANSWER);
	return usual_get(window->usual, &key, hour, ret_usual);
}

static void compare(const struct window *window, struct graph *graph, struct module *module)
{
	const struct conn_measures *conn = module->measures.conn;
	const struct exchange_measures *exchange = module->measures.exchange;
	struct usual_key path = path_key(graph, conn, USUAL_RTT);
	struct usual_measures *m = graph_alloc(graph, sizeof(*m));
	struct usual_answer usual;

	*m = (struct usual_measures){.usual_answer_ns = UINT64_MAX,
				     .usual_answer_times = NAN,
				     .usual_wait_times = NAN,
				     .answer_rtts = exchange ? times_of(exchange->answer_ns, conn->rtt_ns) : NAN,
				     .usual_rtt_ns = UINT64_MAX,
				     .usual_rtt_times = NAN,
				     .usual_min_rtt_times = NAN,
				     .usual_rtt_excess_ns = UINT64_MAX,
				     .usual_min_rtt_excess_ns = UINT64_MAX};
	if (usual_get(window->usual, &path, usual_hour(window->start_ns), &usual))
		compare_rtt(conn, &usual, m);
	if (exchange && find_answers(window, graph, module, &usual))
		compare_answers(exchange, &usual, m);
	module->measures.usual = m;
}

/* After the exchanges, which are measured on the floor of paths. */
static void finish(struct window *window, void *state _unused_, struct graph *graph)
{
	if (!window->usual)
		return;
	vec_each(&graph->modules, module)
		if ((*module)->kind == MODULE_CONN && (*module)->measures.conn)
			compare(window, graph, *module);
}

static const struct measurer usual_measurer = {
	.name = "usual",
	.stage = MEASURE_EGRESS,
	.finish = finish,
};
MEASURER(usual_measurer);
