/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest doctor: what works here, what does not, and exactly why. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/out.h"
#include "base/text.h"
#include "kernel/feature/doctor_text.h"
#include "kernel/feature/features.h"
#include "record/json_read.h"
#include "run/bug_report.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "view/output.h"

/* Far more than any version writes. */
#define CHECKS_MAX 10000

struct doctor_config {
	bool all;
	bool debug;
	bool report;
	bool unmasked;
	const char *from;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct doctor_config, all, FLAG, "all", 'a', NULL,
	       "print one line per check, also for those that passed"),
	OPTION(struct doctor_config, from, TEXT, "from", 'f', "FILE",
	       "show the output of nest doctor --json from another host; -: standard input", .file = FILE_INPUT),
	OPTION(struct doctor_config, report, FLAG, "report", 0, NULL,
	       "print what a bug report needs, with addresses, host and user names masked"),
	OPTION(struct doctor_config, unmasked, FLAG, "unmasked", 0, NULL, "with --report: mask nothing"),
	OPTION(struct doctor_config, debug, FLAG, "debug", 0, NULL,
	       "print all messages of libbpf and the verifier to stderr"),
	OPTION_GROUP(struct doctor_config, output, output_option_table),
	OPTION_END,
};

/* Lines as `nest doctor --json` writes them; empty ones are skipped. */
static int read_lines(const char *text, struct check_list *list, struct why *why)
{
	unsigned number = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		struct why reason = {};
		struct check check;
		int r;

		number++;
		if (strspn(text, " \t\r") < n) {
			r = record_read_json_line(&check_type, text, n, &check, &reason);
			if (r < 0)
				return why_set(why, r, "line %u: %s", number, reason.text);
			check_terminate(&check);
			if (!check.check[0])
				return why_set(why, -EINVAL,
					       "line %u: no \"check\" in it: nest doctor --json did not write this",
					       number);
			if (list->checks.count >= CHECKS_MAX)
				return why_set(why, -E2BIG, "more than %d checks", CHECKS_MAX);
			vec_push(&list->checks, check);
		}
		text += n + (text[n] == '\n');
	}
	return list->checks.count > 0 ? 0 : why_set(why, -ENODATA, "no checks in it");
}

static int read_file(const char *path, struct check_list *list, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);
	int r = strcmp(path, "-") == 0 ? buf_read_fd(&text, STDIN_FILENO) : buf_read_file(&text, path);

	if (r == -E2BIG)
		return why_set(why, r, "it is larger than %zu MiB", BUF_CAP_DEFAULT >> 20);
	if (r < 0)
		return why_set(why, r, "%s", strerror(-r));
	if (memchr(text.data ? text.data : "", 0, text.len))
		return why_set(why, -EINVAL, "it is not text");
	return read_lines(buf_text(&text), list, why);
}

static bool wants_tree(const struct output_options *output)
{
	return !output->json && !output->csv && !output->format && output->show.count == 0;
}

static int show(const struct doctor_config *config, const struct check_list *list)
{
	struct shape shape = SHAPE_OF(&check_type);
	struct check_list wanted = {};
	struct output *output;
	struct why why;
	int r;

	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("doctor", r, &why);
	vec_each(&list->checks, check) {
		struct record record = RECORD_OF(check);

		if (!wants_tree(&config->output))
			(void)output_record(output, &record);
		else if (output_wants(output, &record))
			vec_push(&wanted.checks, *check);
	}
	if (wants_tree(&config->output))
		doctor_print(list, &wanted, config->all, output_out(output));
	check_list_done(&wanted);
	return output_exit_code("doctor", output_close(output));
}

static int report(const struct doctor_config *config, const struct check_list *list)
{
	struct out out;

	out_init(&out, STDOUT_FILENO);
	bug_report_add(&out.pending, list, config->unmasked);
	return output_exit_code("doctor", out_done(&out));
}

static int run(const void *argument)
{
	const struct doctor_config *config = argument;
	_cleanup_checks_ struct check_list list = {};
	struct why why;

	if (config->unmasked && !config->report)
		return command_fail(EXIT_USAGE, "doctor: --unmasked needs --report");
	if (config->debug)
		log_set_level(LOG_LEVEL_DEBUG);
	if (!config->from) {
		features_look(&list);
	} else if (read_file(config->from, &list, &why) < 0) {
		_cleanup_buf_ struct buf path = BUF_INIT(8192);

		text_add_terminal(&path, config->from, strnlen(config->from, 1000));
		return command_fail(EXIT_IO, "doctor: cannot read %s: %s",
				    strcmp(config->from, "-") == 0 ? "standard input" : buf_text(&path), why.text);
	}
	if (config->report)
		return report(config, &list);
	/* Everything was tried. */
	if (command_confine_live(MAY_READ_PROC, 0, &why) < 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "doctor: %s", why.text);
	return show(config, &list);
}

static const char *const examples[] = {
	"nest doctor",
	"what works on this host, and how to enable the rest",
	"nest doctor --all --where 'group == \"programs\"'",
	"every BPF program type, tried one by one",
	"nest doctor --json > host.json; nest doctor -f host.json",
	"show the checks of another host",
	"nest doctor --report",
	"text to paste into a bug report, without addresses and names",
	NULL,
};

static const struct command doctor_command = {
	.name = "doctor",
	.summary = "what works on this host, what does not, and why",
	.description =
		"Tries what nest uses: loads and attaches every BPF program type and checks that it ran, dumps "
		"sockets, reads the kernel's configuration, and lists the privileges of this user. For everything "
		"missing it states what is lost without it and how to get it.\n\nIt needs no privilege and changes "
		"nothing. Checks that pass are folded into one line per group; --all shows each.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct doctor_config),
	.looks = true,
	.run = run,
};
COMMAND(doctor_command);
