/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines, one word a line: taken, or refused with a sentence that can be shown. */
#include "base/option.h"
#include "fuzz.h"

struct config {
	bool all, extra;
	uint64_t count, time_ns, wait_ns, bytes;
	double share;
	const char *name, *target;
	struct text_list where, show, rest;
	struct port_list ports;
	unsigned mode;
	struct command_line command;
};

static const char *const modes[] = {"fast", "slow", "off", NULL};

static const struct option_spec group[] = {
	OPTION(struct config, where, TEXTS, "where", 'w', "EXPR", "filter"),
	OPTION(struct config, show, NAMES, "show", 0, "F,..", "columns"),
	OPTION_END,
};

static const struct option_spec options[] = {
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "everything"),
	OPTION(struct config, extra, FLAG, "extra", 'x', NULL, "more"),
	OPTION(struct config, count, UINT, "count", 'c', "N", "how often", .min = 1, .max = 10),
	OPTION(struct config, time_ns, SECONDS, "duration", 'd', "SECONDS", "stop after"),
	OPTION(struct config, wait_ns, DURATION, "wait", 0, "TIME", "wait that long"),
	OPTION(struct config, bytes, SIZE, "size", 's', "BYTES", "how much"),
	OPTION(struct config, share, RATIO, "share", 0, "SHARE", "how likely"),
	OPTION(struct config, name, TEXT, "name", 'n', "NAME", "called so"),
	OPTION(struct config, ports, PORTS, "port", 'P', "PORT,..", "ports"),
	OPTION(struct config, mode, CHOICE, "mode", 'm', "MODE", "how", .choices = modes),
	{.kind = OPT_GROUP, .group = group},
	POSITIONAL(struct config, target, TEXT, "TARGET", "what to look at", .required = true),
	POSITIONAL(struct config, rest, TEXTS, "MORE", "further words"),
	POSITIONAL(struct config, command, COMMAND, "COMMAND", "run it"),
	OPTION_END,
};

static void check_taken(const struct config *c, int argc)
{
	fuzz_require(c->target);
	fuzz_require(c->count <= 10);
	fuzz_require(c->mode <= 2);
	fuzz_require(c->ports.count <= ARRAY_SIZE(c->ports.items));
	fuzz_require(c->command.argc >= 0 && c->command.argc < argc);
	for (size_t i = 0; i < c->show.count; i++)
		fuzz_require(c->show.items[i][0] && !strchr(c->show.items[i], ','));
	for (int i = 0; i < c->command.argc; i++)
		fuzz_require(c->command.argv[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	char *argv[65] = {}, *rest = text, *word;
	struct config config = {};
	struct why why = {};
	int argc = 0, r;

	while (argc < 64 && (word = strsep(&rest, "\n")))
		argv[argc++] = word;
	r = option_parse(options, argc, argv, &config, &why);
	fuzz_require(r == 0 || r == -EINVAL);
	if (r == 0)
		check_taken(&config, argc);
	fuzz_require((r == 0) == (why.text[0] == '\0'));
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	option_done(options, &config);
	return 0;
}
