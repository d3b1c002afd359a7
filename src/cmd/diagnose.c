/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest diagnose (and a bare nest): who is holding the traffic up, and how do you know? */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/out.h"
#include "cmd/command.h"
#include "diagnose/diagnosis.h"
#include "diagnose/present.h"
#include "diagnose/window.h"
#include "view/json.h"

#define WINDOW_NS  (1 * NSEC_PER_SEC)
#define SAMPLES    5 /* a window */
#define LOOK_NS    (DIAGNOSIS_WINDOWS * WINDOW_NS)

struct config {
	uint64_t duration_ns;
	const char *netns;
	bool json;
	bool all;
	const char *rules;
	double fail_on;
	const char *file;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS", "look for this long (3); a verdict every second after the third"),
	OPTION(struct config, netns, TEXT, "netns", 'N', "NETNS", "look at this network namespace: name, path or pid"),
	OPTION(struct config, json, FLAG, "json", 'j', NULL, "one JSON object a verdict"),
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "show modules that are at ease, too"),
	OPTION(struct config, rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory"),
	OPTION(struct config, fail_on, RATIO, "fail-on", 0, "CERTAINTY", "exit with 1 when a finding is at least this certain"),
	OPTION(struct config, file, TEXT, "output", 'o', "FILE", "write to this file instead of standard output"),
	OPTION_END,
};

struct look {
	const struct config *config;
	struct loop *loop;
	struct netns_list namespaces;
	struct snapshot_request request;
	struct snapshot *snapshot;
	struct window *window;
	struct diagnosis *diagnosis;
	struct out out;
	unsigned windows;
	unsigned windows_wanted;
	uint64_t records, lost;
	double worst;
	struct why why;
};

static void report(struct look *look)
{
	const struct diagnosis_record *record = diagnosis_get(look->diagnosis);
	const struct finding_record *findings = record->findings.items;

	if (record->findings.count > 0)
		look->worst = max_of(look->worst, findings[0].certainty);
	if (look->config->json) {
		json_add_object(&look->out.pending, &diagnosis_type, record);
		out_end_line(&look->out);
	} else if (look->windows == look->windows_wanted) {
		present_diagnosis(look->diagnosis, record, look->config->all, &look->out);
	}
	if (out_flush(&look->out) < 0)
		loop_stop(look->loop, look->out.error);
}

static void take_sample(void *context, uint64_t expirations _unused_)
{
	struct look *look = context;
	int r = snapshot_take(look->snapshot, &look->request, &look->why);

	if (r < 0) {
		loop_stop(look->loop, r);
		return;
	}
	for (size_t i = 0; i < look->snapshot->table_count; i++)
		look->records += look->snapshot->tables[i].count;
	window_add(look->window, look->snapshot);
	/* The first window's first sample only sets the base: a window spans SAMPLES intervals. */
	if (look->window->samples < SAMPLES + (look->windows == 0))
		return;
	diagnosis_add_window(look->diagnosis, window_finish(look->window));
	look->windows++;
	if (look->windows >= DIAGNOSIS_WINDOWS)
		report(look);
	if (look->windows >= look->windows_wanted)
		loop_stop(look->loop, 0);
}

static void interrupted(void *context, int signal_number)
{
	struct look *look = context;

	loop_stop(look->loop, EXIT_SIGNAL + signal_number);
}

static int run_loop(struct look *look)
{
	int r = loop_add_signal(look->loop, SIGINT, interrupted, look);

	if (r == 0)
		r = loop_add_signal(look->loop, SIGTERM, interrupted, look);
	if (r == 0)
		r = loop_add_timer(look->loop, 0, WINDOW_NS / SAMPLES, take_sample, look, NULL);
	if (r < 0)
		return r;
	return loop_run(look->loop);
}

static int look_around(struct look *look, const struct knowledge *knowledge)
{
	const struct record_type **needs = window_needs();
	int r = netns_find(look->config->netns, &look->namespaces, &look->why);

	look->request = (struct snapshot_request){.types = needs, .repeated = true, .namespaces = look->config->netns ? &look->namespaces : NULL};
	look->snapshot = snapshot_new();
	look->window = window_new();
	look->diagnosis = diagnosis_new(knowledge);
	if (r == 0)
		r = loop_new(&look->loop);
	if (r == 0)
		r = run_loop(look);
	diagnosis_free(look->diagnosis);
	window_free(look->window);
	snapshot_free(look->snapshot);
	loop_free(look->loop);
	netns_list_done(&look->namespaces);
	free(needs);
	return r;
}

static int finish(struct look *look, int result)
{
	int r = out_done(&look->out);

	if (result < 0 && result != -EPIPE) {
		log_error("diagnose: %s", look->why.text[0] ? look->why.text : strerror(-result));
		return EXIT_CANNOT_OBSERVE;
	}
	fprintf(stderr, "nest: %" PRIu64 " events, %" PRIu64 " lost\n", look->records, look->lost);
	if (r == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	if (r < 0) {
		log_error("diagnose: writing failed: %s", strerror(-r));
		return EXIT_IO;
	}
	if (result > 0)
		return result;
	return look->config->fail_on > 0 && look->worst >= look->config->fail_on ? EXIT_FINDINGS : EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct look look = {.config = config};
	struct why why = {};
	int r = knowledge_load(&knowledge, &why);

	if (r == 0 && config->rules)
		r = knowledge_add_dir(knowledge, config->rules, &why);
	if (r < 0) {
		log_error("diagnose: %s", why.text);
		return EXIT_USAGE;
	}
	r = out_open(&look.out, config->file);
	if (r < 0) {
		log_error("diagnose: cannot write %s: %s", config->file, strerror(-r));
		return EXIT_IO;
	}
	look.windows_wanted = max_of((unsigned)(min_of(config->duration_ns, UINT64_C(1) << 60) / WINDOW_NS), (unsigned)DIAGNOSIS_WINDOWS);
	return finish(&look, look_around(&look, knowledge));
}

static const struct config defaults = {.duration_ns = LOOK_NS};

static const struct command diagnose_command = {
	.name = "diagnose",
	.summary = "which module holds the traffic up, how sure that is, and why",
	.description = "Looks at this host's whole network stack several times a second, window by window, and names the module to "
		       "blame with the evidence for and against it. Nobody is to blame unless somebody is waiting.",
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(diagnose_command);
