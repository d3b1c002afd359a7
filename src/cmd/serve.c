/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest serve: the page. */
#include "serve/serve.h"
#include "base/confine.h"
#include "run/command.h"

static const struct option_spec options[] = {
	OPTION_GROUP(struct serve_options, http, http_option_table),
	OPTION(struct serve_options, files, TEXTS, "file", 'f', "FILE",
	       "show this recording or function trace instead of the live host; may be repeated", .file = FILE_INPUT),
	OPTION(struct serve_options, live.input.from, TEXT, "from", 0, "TIME",
	       "with -f: start at this time of the recording (02:13, 2026-11-15T02:13:00, +10s after its start)"),
	OPTION(struct serve_options, live.input.to, TEXT, "to", 0, "TIME",
	       "with -f: end at this time of the recording (-1m: before its end)"),
	OPTION_GROUP(struct serve_options, fleet, fleet_option_table),
	OPTION(struct serve_options, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: at Ctrl-C)"),
	NETNS_OPTION(struct serve_options, live.netns),
	OPTION(struct serve_options, live.passive, FLAG, "passive", 0, NULL,
	       "do not send keep-alive segments to peers of silent or stuck connections"),
	OPTION(struct serve_options, live.rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory",
	       .file = FILE_READ),
	OPTION(struct serve_options, live.past, TEXT, "past", 0, "FILE",
	       "use the last 2 minutes of this recording as baseline; none: no baseline. Default: that of a running "
	       "nest record",
	       .file = FILE_READ),
	OPTION(struct serve_options, live.save, TEXT, "save", 0, "FILE", "also record to this file, for -f",
	       .file = FILE_WRITE),
	OPTION(struct serve_options, save_in, TEXT, "save-in", 0, "DIR",
	       "allow the page to save tools as recordings in this directory", .file = FILE_FOR_STARTED),
	POSITIONAL(struct serve_options, more, TEXTS, "FILE", "further recordings and function traces, with -f",
		   .file = FILE_INPUT),
	OPTION_END,
};

/* One line, which a script waits for. */
static void say_listening(const char *url)
{
	printf("%s\n", url);
	(void)fflush(stdout);
}

static int run(const void *data)
{
	struct serve_options config = *(const struct serve_options *)data;

	if (config.more.count > 0 && config.files.count == 0)
		return command_fail(EXIT_USAGE, "serve: recordings need -f (nest serve --help)");
	config.listening = say_listening;
	return serve_run(&config);
}

static const char *const examples[] = {
	"nest serve",
	"the live host; open the printed address in a browser",
	"nest serve -f before.nest -f after.nest",
	"recordings side by side",
	"nest serve --fleet http://reader:secret@clickhouse:8123/nest",
	"the hosts of a fleet: causes, hosts, addresses that many of them accuse",
	"nest serve --listen unix:/run/nest.sock",
	"on a UNIX socket, for this user only",
	"nest serve --listen 10.0.0.1:8443 --tls-cert c.pem --tls-key k.pem --token-file token",
	"for other hosts",
	NULL,
};

static const struct command serve_command = {
	.name = "serve",
	.summary = "web page and JSON API: findings, figures, tables, tools",
	.description =
		"Prints the address with a token when it listens, http://127.0.0.1:PORT/#token=TOKEN, or unix:PATH. "
		"Requests carry the token as Authorization: Bearer TOKEN; the page exchanges it for a cookie. On a "
		"UNIX socket the file mode (0600) protects it, and no token is needed.\n\nAnything but loopback or a "
		"UNIX socket needs --tls-cert, --tls-key and --token-file. GET /api/v1/openapi.json describes the API.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct serve_options),
	.reader_may = MAY_SERVE,
	.starts = true,
	.run = run,
};
COMMAND(serve_command);
