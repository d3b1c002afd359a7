/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest counters: counters of the protocols, with rates. */
#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/map.h"
#include "run/command_confine.h"
#include "run/look.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/counter_meaning.h"
#include "store/counter_history.h"

struct config {
	struct look_options look;
	bool all;
	bool last;
};

static const struct option_spec options[] = {
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "also show counters that do not change"),
	OPTION(struct config, last, FLAG, "last", 'l', NULL,
	       "show the increase since the previous --last (kept in ~/.local/state/nest, apart from nstat's history)"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

/* The change of a counter between two samples: a second part beside its record. */
struct move {
	uint64_t delta;
	double rate;
	const char *meaning;
};

static const struct field move_fields[] = {
	FIELD(struct move, delta, COUNT, "increase since the previous sample; unknown after a reset"),
	FIELD(struct move, rate, RATIO, "increase per second", .unit = "/s"),
	FIELD(struct move, meaning, TEXT, "what it counts"),
};
RECORD_TYPE(move_type, "move", struct move, move_fields, "change of a counter");

struct state {
	const struct config *config;
	struct map before; /* "NETNS NAME" -> struct counter_seen */
	uint64_t looks;
	uint64_t time_ns;
};

static struct move move_of(struct state *state, const struct counter_record *counter, uint64_t now_ns)
{
	struct move move = {
		.delta = UINT64_MAX, .rate = __builtin_nan(""), .meaning = counter_meaning(counter->counter)};
	struct counter_seen *before;
	char key[160];
	bool new;

	snprintf(key, sizeof(key), "%u %s", counter->netns, counter->counter);
	before = map_put(&state->before, key, &new);
	if (!before)
		return move;
	/* A state that goes down has not been reset; it has no rate. */
	if (!new && !counter->gauge) {
		move.delta = delta_between(before->value, counter->value);
		move.rate = delta_rate(move.delta, now_ns - before->boot_ns);
	}
	*before = (struct counter_seen){counter->value, now_ns};
	return move;
}

static bool moved(const struct state *state, const struct counter_record *counter, const struct move *move)
{
	if (state->config->all)
		return true;
	if (state->looks == 0)
		return counter->value != 0 && counter->value != UINT64_MAX && !counter->gauge;
	return move->delta != 0 && move->delta != UINT64_MAX;
}

static uint64_t show(const struct snapshot *snapshot, struct output *output, void *context)
{
	struct state *state = context;
	uint64_t now_ns = snapshot->begin_boot_ns, shown = 0;
	bool baseline = state->config->look.interval_ns && state->looks == 0;

	snapshot_each(snapshot, counter_type, const struct counter_record, counter) {
		struct move move = move_of(state, counter, now_ns);

		if (!baseline && moved(state, counter, &move))
			shown += output_record(output, &(struct record){.parts = {counter, &move}});
	}
	state->time_ns = now_ns;
	state->looks++;
	return shown;
}

static int look(struct state *state)
{
	static const struct record_type *const types[] = {&counter_type, NULL};
	static const struct shape shape = {.count = 2, .types = {&counter_type, &move_type}};
	const struct config *config = state->config;

	return look_run(&(struct look){
		.command = "counters",
		.options = &config->look,
		.shape = &shape,
		.types = types,
		/* The first look is what the others are compared with. */
		.looks_before = config->look.interval_ns > 0,
		.show = show,
		.context = state,
	});
}

static int look_since_last(struct state *state)
{
	_cleanup_free_ char *path = counter_history_path();
	struct why why = {};
	int r = path ? counter_history_load(path, &state->before, &why)
		     : why_set(&why, -ENOENT,
			       "--last keeps its values below HOME or XDG_STATE_HOME, and neither is set");
	int code = EXIT_IO;

	/* Written after the process has given up its privilege; a directory that cannot be made fails then. */
	if (r == 0) {
		_cleanup_free_ char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

		(void)!files_make_dirs(dir, NULL);
		command_confine_note(FILE_WRITE, path);
	}
	/* A host that was never looked at shows what is there since its start. */
	if (r == 0 && state->before.count)
		state->looks = 1;
	if (r == 0)
		code = look(state);
	if (r == 0 && code == EXIT_DONE)
		r = counter_history_save(path, &state->before, state->time_ns, &why);
	return r < 0 ? command_fail(EXIT_IO, "counters: %s", why.text) : code;
}

static int run(const void *data)
{
	const struct config *config = data;
	struct state state = {.config = config, .before = MAP_INIT(0, sizeof(struct counter_seen), 1 << 20)};
	int code;

	if (config->last && (config->look.interval_ns || config->look.input.file))
		return command_fail(EXIT_USAGE, "counters: --last excludes an interval and -f");
	code = config->last ? look_since_last(&state) : look(&state);
	map_done(&state.before);
	return code;
}

static const char *const examples[] = {
	"nest counters 1",
	"counters that change, every second",
	"nest counters --last",
	"increase since the previous nest counters --last, as in nstat",
	"nest counters --where 'counter ~ \"*Drop*\"'",
	"all drop counters",
	NULL,
};

static const struct command counters_command = {
	.name = "counters",
	.summary = "counters of IP, ICMP, TCP and UDP, with rates",
	.description = "Without an interval: every counter that is not zero, counted since the namespace was created. "
		       "With one: the counters that changed since the previous sample, with rates. A counter that "
		       "decreased was reset; its increase is unknown.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(counters_command);
