/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest agent: continuous recording of this host, metrics, reports of findings. */
#include <stdio.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "run/command.h"

#define SERIES_MAX 2000

static const struct option_spec options[] = {
	OPTION(struct agent_options, config, TEXT, "config", 0, "FILE",
	       "read options from this file first, lines of name = value", .file = FILE_READ),
	OPTION(struct agent_options, store, TEXT, "store", 'o', "FILE",
	       "the recording to write and to resume (default /var/lib/nest/agent.nest)", .file = FILE_WRITE),
	OPTION(struct agent_options, socket, TEXT, "socket", 0, "PATH",
	       "socket for other commands; none: no socket (default /run/nest/agent.sock)"),
	OPTION(struct agent_options, age_ns, SECONDS, "age", 0, "TIME", "delete rows older than this (default 24h)"),
	OPTION(struct agent_options, size, SIZE, "size", 0, "BYTES",
	       "delete the oldest rows so that file and log stay below this (default 512MiB)"),
	OPTION(struct agent_options, certainty, RATIO, "certainty", 0, "CERTAINTY",
	       "keep and report findings of at least this certainty (default 0.8)", .max = 1),
	OPTION(struct agent_options, incident_age_ns, SECONDS, "incident-age", 0, "TIME",
	       "keep the minute before and after findings for this long (default 7d)"),
	OPTION(struct agent_options, notify.targets, TEXTS, "on-finding", 0, "TARGET",
	       "report findings to journal, unix:PATH (datagrams) or an http(s) URL (POST); may be repeated"),
	OPTION(struct agent_options, notify.debounce_ns, SECONDS, "debounce", 0, "TIME",
	       "do not report the same finding again within this time (default 5m)"),
	OPTION_GROUP(struct agent_options, serve.http, http_option_table),
	OPTION(struct agent_options, max_series, UINT, "max-series", 0, "N", "limit /metrics to N series (default 500)",
	       .min = 20, .max = SERIES_MAX),
	OPTION_GROUP(struct agent_options, ship, ship_option_table),
	OPTION(struct agent_options, conn_ns, SECONDS, "conn-interval", 0, "TIME",
	       "add a row of each connection that is followed, and sums of drops, retransmissions, paths and services, "
	       "this often (default 1m)"),
	OPTION(struct agent_options, life_rate, UINT, "life-rate", 0, "N",
	       "keep up to N ended connections per second, count the others; 0: none (default 20)", .max = 100000),
	OPTION(struct agent_options, max_cpu, RATIO, "max-cpu", 0, "SHARE",
	       "shed work above this share of one CPU, 2% or 0.02; 0: no limit (default 5%)", .max = 64),
	OPTION(struct agent_options, serve.duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: never)"),
	OPTION(struct agent_options, serve.live.netns, TEXT, "netns", 'N', "NETNS",
	       "limit to this network namespace: name, path or pid (default: all)"),
	OPTION(struct agent_options, keep_alive, FLAG, "keep-alive", 0, NULL,
	       "send keep-alive segments to peers of silent or stuck connections"),
	OPTION(struct agent_options, serve.live.passive, FLAG, "passive", 0, NULL,
	       "do not send them, whatever --keep-alive says (the default is not to)"),
	OPTION(struct agent_options, serve.live.rules, TEXT, "rules", 0, "DIR",
	       "add the *.rules files of this directory", .file = FILE_READ),
	OPTION_END,
};

static const struct agent_options defaults = {
	.store = "/var/lib/nest/agent.nest",
	.age_ns = 24 * 3600 * NSEC_PER_SEC,
	.incident_age_ns = 7 * 24 * 3600 * NSEC_PER_SEC,
	.size = (uint64_t)512 << 20,
	.certainty = 0.8,
	.notify.debounce_ns = 300 * NSEC_PER_SEC,
	.max_series = 500,
	.conn_ns = 60 * NSEC_PER_SEC,
	.life_rate = 20,
	.max_cpu = 0.05,
	.ship.spool_size = SHIP_SPOOL_SIZE,
	.serve.live.netns = "all",
};

/* One line, which a script waits for. */
static void say_listening(const char *url)
{
	printf("%s\n", url);
	(void)fflush(stdout);
}

static void say_shed(const char *line)
{
	log_warn("%s", line);
}

static int run(const void *data)
{
	struct agent_options config = *(const struct agent_options *)data;

	config.serve.live.passive |= !config.keep_alive;
	config.serve.listening = say_listening;
	config.say = say_shed;
	config.ship.token_file = config.serve.http.token_file;
	config.notify.ca_file = config.ship.ca_file;
	return agent_run(&config);
}

static const char *const examples[] = {
	"nest agent",
	"keep the last 24 hours; nest and nest report --last 30m use them",
	"nest agent --listen 127.0.0.1:9475 --token-file /etc/nest/token",
	"also the page, its API, and GET /metrics for Prometheus",
	"nest agent --on-finding journal --on-finding https://hooks.example.org/nest",
	"report findings as they start",
	"nest agent --config /etc/nest/agent.conf",
	"options from a file: store = /var/lib/nest/agent.nest",
	NULL,
};

static const struct command agent_command = {
	.name = "agent",
	.summary = "continuous recording of this host, metrics, reports of findings",
	.description =
		"Records snapshots and the diagnosis of all network namespaces in one file, as nest record does, and "
		"resumes it after a restart. The minute before and after a finding is kept longer. nest, nest "
		"diagnose and nest watch use it as baseline, and nest report --last 30m reads it.\n\nWith --listen it "
		"serves the page and API of nest serve, and GET /metrics. It sends no packets to other hosts "
		"without --keep-alive, --on-finding or --ship.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct agent_options),
	.defaults = &defaults,
	.starts = true,
	.run = run,
};
COMMAND(agent_command);
