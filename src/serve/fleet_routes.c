/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fleet: what nest report --fleet prints as JSON. */
#include <inttypes.h>

#include "base/parse.h"
#include "serve/serve.h"

static bool take_time(struct http_request *request, const char *name, struct nest_words *words)
{
	const char *text = http_request_text(request, name);
	uint64_t ns;

	if (text && parse_time_ns(text, &ns) < 0) {
		http_refuse(request, 400, "%s: '%.60s' is not a time: nanoseconds since 1970 or 2026-11-15T02:13:30Z",
			    name, text);
		return false;
	}
	nest_words_option(words, name, text);
	return true;
}

static void answer_fleet(struct http_request *request)
{
	const struct serve *serve = serve_of(request);
	const struct fleet_options *fleet = &serve->options->fleet;
	uint64_t last_ns = http_request_number(request, "last", 0);
	struct nest_words words = {};
	char last[32];

	if (!serve->fleet) {
		http_refuse(request, 404, "no fleet is shown: nest serve --fleet URL");
		return;
	}
	nest_words_add(&words, "report");
	nest_words_add(&words, "--json");
	nest_words_option(&words, "fleet", fleet->url);
	nest_words_option(&words, "fleet-ca", fleet->ca_file);
	nest_words_option(&words, "host", http_request_text(request, "host"));
	if (take_time(request, "from", &words) && take_time(request, "to", &words)) {
		snprintf(last, sizeof(last), "%" PRIu64 "ns", last_ns);
		nest_words_option(&words, "last", last_ns ? last : NULL);
		ask_start(request, (const char *const *)words.words, 400, ask_answer_object);
	}
	nest_words_done(&words);
}

static const struct http_param fleet_params[] = {
	{"from", HTTP_NS, "from this time on (default: an hour before the end)"},
	{"to", HTTP_NS, "up to this time (default: now)"},
	{"last", HTTP_SPAN, "in place of both: the last 30m, 24h"},
	{"host", HTTP_TEXT, "only this host, with its findings"},
	{},
};

static const struct http_route fleet_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/fleet",
	.summary = "report of the fleet, as nest report --fleet --json: causes, hosts, accused addresses and services",
	.params = fleet_params,
	.answer = "fleet.report",
	.handle = answer_fleet,
};
HTTP_ROUTE(fleet_route);
