/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest collect: batches of many agents to ClickHouse. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/out.h"
#include "base/text.h"
#include "fleet/collector.h"
#include "fleet/shipper.h"
#include "http/http_server.h"
#include "run/command_confine.h"

/* How long batches gather before they are sent. */
#define GATHER_NS (1 * NSEC_PER_SEC)
#define DRAIN_NS  (5 * NSEC_PER_SEC)
/* Default of --spool-size and of --agent-rate. */
#define SPOOL_SIZE ((uint64_t)4 << 30)
#define AGENT_RATE ((uint64_t)1 << 20)

struct config {
	struct http_options http;
	struct ship_options ship;
	uint64_t agent_rate;
};

static const struct option_spec options[] = {
	OPTION_GROUP(struct config, http, http_option_table),
	OPTION_GROUP(struct config, ship, ship_option_table),
	OPTION(struct config, agent_rate, SIZE, "agent-rate", 0, "BYTES",
	       "limit one agent to this many bytes per second; 0: no limit (default 1MiB)"),
	OPTION_END,
};

struct collect {
	const struct config *config;
	struct loop *loop;
	struct fleet_url url;
	struct http_token token;
	struct spool *spool;
	struct sender *sender;
	struct collector *collector;
	struct http_server *server;
	uint64_t cut_ns; /* when the spool's segment was last closed */
};

static void say(void *context _unused_, const char *text)
{
	log_warn("collect: %s", text);
}

static void fill(void *context, struct collector_figures *figures)
{
	const struct collect *collect = context;
	const struct sender_figures *sender = sender_look(collect->sender);

	figures->sent_rows = sender->rows_sent + sender->rows_known;
	figures->refused += sender->rows_refused;
}

static void on_gather(void *context, uint64_t expirations _unused_)
{
	struct collect *collect = context;

	spool_cut(collect->spool);
	sender_wake(collect->sender);
}

static void on_end(void *context, int signal_number _unused_)
{
	struct collect *collect = context;

	loop_stop(collect->loop, 0);
}

/* --- opening --- */

static int open_spool(struct collect *collect, struct why *why)
{
	const struct ship_options *ship = &collect->config->ship;
	struct spool_options spool = {.dir = ship->spool,
				      .limit_bytes = ship->spool_size ? ship->spool_size : SPOOL_SIZE};
	struct sender_options sender = {
		.url = &collect->url, .ca_file = ship->ca_file, .token = collect->token.text, .report = say};
	struct collector_options collector = {
		.loop = collect->loop, .agent_rate = collect->config->agent_rate, .fill = fill, .context = collect};
	int r = spool_open(&spool, &collect->spool, why);

	if (r == 0)
		r = sender_new(collect->loop, collect->spool, &sender, &collect->sender, why);
	collector.spool = collect->spool;
	return r == 0 ? collector_new(&collector, &collect->collector, why) : r;
}

static int open_server(struct collect *collect, struct why *why)
{
	int r = http_server_new(&collect->config->http, &collect->server, why);

	if (r == 0)
		http_server_serve(collect->server, HTTP_COLLECT, collect->collector);
	return r == 0 ? http_server_start(collect->server, collect->loop, why) : r;
}

static int open_all(struct collect *collect, struct why *why)
{
	int r = fleet_url_parse(collect->config->ship.url, &collect->url, why);

	if (r == 0)
		r = http_token_read(collect->config->http.token_file, &collect->token, why);
	if (r == 0)
		r = loop_new(&collect->loop);
	if (r == 0)
		r = loop_add_end_signals(collect->loop, on_end, collect);
	if (r == 0)
		r = open_spool(collect, why);
	if (r == 0)
		r = open_server(collect, why);
	if (r == 0)
		r = loop_add_timer(collect->loop, GATHER_NS, GATHER_NS, on_gather, collect, NULL);
	return r;
}

static int announce(const struct collect *collect)
{
	struct out out;
	int r = out_open(&out, NULL);

	if (r < 0)
		return r;
	http_server_add_url(collect->server, false, &out.pending);
	out_end_line(&out);
	return out_done(&out);
}

/* --- closing --- */

static void close_all(struct collect *collect)
{
	/* The server goes first: requests that wait are gone with it, unacknowledged. */
	if (collect->collector)
		collector_commit(collect->collector);
	http_server_free(collect->server);
	collector_free(collect->collector);
	sender_free(collect->sender);
	spool_close(collect->spool);
	loop_free(collect->loop);
	fleet_url_done(&collect->url);
}

static void report_end(struct collect *collect)
{
	struct collector_figures figures;

	collector_commit(collect->collector);
	spool_cut(collect->spool);
	sender_drain(collect->sender, DRAIN_NS);
	figures = collector_look(collect->collector);
	log_status("%" PRIu64 " row%s from %" PRIu64 " request%s, %" PRIu64 " refused; %" PRIu64 " row%s sent, %" PRIu64
		   " wait in the spool; doubles %" PRIu64 ", requests deferred %" PRIu64 ", syncs %" PRIu64,
		   figures.rows, text_plural(figures.rows), figures.requests, text_plural(figures.requests),
		   figures.refused, figures.sent_rows, text_plural(figures.sent_rows), figures.waiting_rows,
		   figures.doubles, figures.turned_away, figures.syncs);
}

static int run(const void *data)
{
	const struct config *config = data;
	struct collect collect = {.config = config};
	struct why why = {};
	int r;

	if (!config->ship.url || !config->ship.spool || !config->http.token_file)
		return command_fail(EXIT_USAGE, "collect: needs --ship URL, --spool DIR and --token-file FILE");
	r = open_all(&collect, &why);
	if (r == 0)
		r = command_confine_live(MAY_SERVE, 0, &why);
	if (r == 0)
		r = announce(&collect);
	if (r == 0) {
		log_status("ready");
		sender_wake(collect.sender);
		r = loop_run(collect.loop);
		report_end(&collect);
	}
	close_all(&collect);
	if (r < 0)
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_IO, "collect: %s",
				    why.text[0] ? why.text : strerror(-r));
	return EXIT_DONE;
}

static const char *const examples[] = {
	"nest collect --listen 127.0.0.1:8600 --ship http://nest:secret@clickhouse:8123/nest --spool /var/spool/nest "
	"--token-file token",
	"for agents on this host",
	"nest collect --listen 0.0.0.0:8600 --tls-cert c.pem --tls-key k.pem --token-file token --spool "
	"/var/spool/nest "
	"--ship http://nest:secret@clickhouse:8123/nest",
	"for the network, with TLS",
	NULL,
};

static const struct config defaults = {.agent_rate = AGENT_RATE};

static const struct command collect_command = {
	.name = "collect",
	.summary = "rows of many agents to ClickHouse, in large inserts",
	.description =
		"Receives batches from nest agent --ship, nest record --ship and nest ship, checks them, writes them "
		"to the spool and acknowledges them; sends queued rows every second. Nothing acknowledged is lost "
		"when the collector or ClickHouse fails or a response is lost. Several collectors can run behind a "
		"load balancer.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(collect_command);
