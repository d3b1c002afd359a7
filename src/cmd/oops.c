/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest oops: what went wrong inside the kernel, from its log. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "kernel/kmsg.h"
#include "oops/oops_btf.h"
#include "oops/oops_debug.h"
#include "oops/oops_disasm.h"
#include "oops/oops_text.h"
#include "run/command.h"
#include "run/command_confine.h"
#include "run/oops_known.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

/* Logs of months; what is larger is split first. */
#define LOG_MAX ((size_t)512 << 20)

struct oops_config {
	const char *file;
	bool all;
	struct text_list debug;
	const char *btf;
	const char *recording;
	struct output_options output;
};

static const struct option_spec options[] = {
	POSITIONAL(struct oops_config, file, TEXT, "FILE",
		   "kernel log; -: standard input; default: this kernel's (/dev/kmsg)", .file = FILE_INPUT),
	OPTION(struct oops_config, all, FLAG, "all", 'a', NULL,
	       "print all registers and instructions, and every report of the same signature"),
	OPTION(struct oops_config, recording, TEXT, "recording", 'f', "RECORDING",
	       "print the reports of this recording; with FILE only the findings around the time of each report",
	       .file = FILE_INPUT),
	OPTION(struct oops_config, debug, TEXTS, "debug", 0, "FILE",
	       "read source lines and variables from this vmlinux or module with debug information; may be repeated",
	       .file = FILE_READ),
	OPTION(struct oops_config, btf, TEXT, "btf", 0, "FILE",
	       "read structures from this BTF file or vmlinux; default: of this kernel, for reports of the same "
	       "release",
	       .file = FILE_READ),
	OPTION_GROUP(struct oops_config, output, output_option_table),
	OPTION_END,
};

static bool wants_text(const struct output_options *output)
{
	return !output->json && !output->csv && !output->format && output->show.count == 0 && !output->wide;
}

static int read_file(const char *file, struct buf *text, struct why *why)
{
	int r = strcmp(file, "-") == 0 ? buf_read_fd(text, STDIN_FILENO) : buf_read_file(text, file);

	if (r == -E2BIG)
		return why_set(why, r, "it is larger than %zu MiB: split it", LOG_MAX >> 20);
	return r < 0 ? why_set(why, r, "%s", strerror(-r)) : 0;
}

/* How many other reports have its signature; ret_shown: an earlier one has. */
static uint32_t count_again(const struct oops_list *list, size_t number, bool *ret_shown)
{
	const char *signature = list->items.items[number]->report.signature;
	uint32_t again = 0;

	*ret_shown = false;
	for (size_t i = 0; i < list->items.count; i++) {
		if (i == number || strcmp(list->items.items[i]->report.signature, signature) != 0)
			continue;
		if (i < number)
			*ret_shown = true;
		again++;
	}
	return again;
}

static int show(const struct oops_config *config, const struct oops_list *list)
{
	struct shape shape = SHAPE_OF(&oops_type);
	bool text = wants_text(&config->output), any = false;
	struct output *output;
	struct why why;
	int r;

	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("oops", r, &why);
	for (size_t i = 0; i < list->items.count; i++) {
		const struct oops *oops = list->items.items[i];
		struct record record = RECORD_OF(&oops->report);
		bool shown = false;
		uint32_t again = 0;

		if (!text) {
			(void)output_record(output, &record);
			continue;
		}
		if (!config->all)
			again = count_again(list, i, &shown);
		if (shown || !output_wants(output, &record))
			continue;
		buf_add_text(&output_out(output)->pending, any ? "\n" : "");
		oops_text_print(oops, again, config->all, output_out(output));
		any = true;
	}
	if (text && !any)
		buf_add_text(&output_out(output)->pending,
			     list->items.count ? "No report matches.\n" : "No reports.\n");
	return output_exit_code("oops", output_close(output));
}

static void say_end(const struct oops_list *list)
{
	_cleanup_buf_ struct buf text = BUF_INIT(512);

	format_add_plural(&text, list->items.count, "report");
	buf_add_text(&text, " in ");
	format_add_plural(&text, list->lines, "line");
	if (list->dropped)
		buf_add_format(&text, "; %" PRIu64 " message%s dropped by the kernel", list->dropped,
			       text_plural(list->dropped));
	if (list->cut)
		buf_add_format(&text, "; %u further reports not read", list->cut);
	log_info("%s", buf_text(&text));
}

/* What debug information and BTF know; 0, or an exit code. */
static int look_up(const struct oops_config *config, struct oops_list *list)
{
	_cleanup_(oops_debug_closep) struct oops_debug *debug = NULL;
	_cleanup_buf_ struct buf path = BUF_INIT(8192);
	struct why why;
	uint32_t stale;

	if (config->debug.count && oops_debug_open(&debug, &why) < 0)
		return command_fail(EXIT_IO, "oops: %s", why.text);
	for (size_t i = 0; i < config->debug.count; i++)
		if (oops_debug_add(debug, config->debug.items[i], &why) < 0) {
			text_add_terminal(&path, config->debug.items[i], strnlen(config->debug.items[i], 1000));
			return command_fail(EXIT_IO, "oops: --debug %s: %s", buf_text(&path), why.text);
		}
	stale = debug ? oops_debug_apply(debug, list) : 0;
	if (stale)
		log_warn("oops: the debug information is of another build: it has another size for %u function%s",
			 stale, text_plural(stale));
	if (oops_btf_all(list, config->btf, &why) < 0) {
		text_add_terminal(&path, config->btf, strnlen(config->btf, 1000));
		return command_fail(EXIT_IO, "oops: --btf %s: %s", buf_text(&path), why.text);
	}
	return 0;
}

static int look_back(const struct oops_config *config, struct oops_list *list)
{
	_cleanup_buf_ struct buf path = BUF_INIT(8192);
	struct why why;
	int covered = oops_known_add(list, config->recording, &why);

	if (covered < 0) {
		text_add_terminal(&path, config->recording, strnlen(config->recording, 1000));
		return command_fail(EXIT_IO, "oops: -f %s: %s", buf_text(&path), why.text);
	}
	if (covered == 0 && list->items.count)
		log_warn("oops: the recording covers none of the reports, or the log has no wall clock times");
	return 0;
}

/* Where the reports come from: the named log, else the one in the recording, else that of this kernel. */
static int read_reports(const struct oops_config *config, struct oops_list *list)
{
	_cleanup_buf_ struct buf text = BUF_INIT(LOG_MAX), path = BUF_INIT(8192);
	_cleanup_(oops_times_done) struct oops_times times = {};
	bool recorded = !config->file && config->recording;
	struct why why;
	int r = 0;

	if (config->file && read_file(config->file, &text, &why) < 0) {
		text_add_terminal(&path, config->file, strnlen(config->file, 1000));
		return command_fail(EXIT_IO, "oops: cannot read '%s': %s", buf_text(&path), why.text);
	}
	if (recorded && oops_known_log(config->recording, &text, &times, &why) < 0) {
		text_add_terminal(&path, config->recording, strnlen(config->recording, 1000));
		return command_fail(EXIT_IO, "oops: -f %s: %s", buf_text(&path), why.text);
	}
	if (!config->file && !recorded)
		r = kmsg_read(&text, &why);
	/* The log holds what programs and devices wrote into it. */
	if (r == 0)
		r = command_confine_live(MAY_READ_PROC, 0, &why);
	if (r < 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "oops: %s", why.text);
	oops_read(buf_text(&text), text.len, list);
	if (recorded)
		oops_known_date(list, &times);
	else if (!config->file)
		oops_date(list, kmsg_start_ns());
	return EXIT_DONE;
}

static int run(const void *argument)
{
	const struct oops_config *config = argument;
	_cleanup_oops_ struct oops_list list = {};
	struct why why;
	int code = read_reports(config, &list);

	if (code != EXIT_DONE)
		return code;
	if (oops_disasm_all(&list, &why) < 0)
		log_warn("oops: %s", why.text);
	code = look_up(config, &list);
	if (code == EXIT_DONE && config->recording)
		code = look_back(config, &list);
	if (code != EXIT_DONE)
		return code;
	code = show(config, &list);
	if (code == EXIT_DONE)
		say_end(&list);
	return code;
}

static const char *const examples[] = {
	"nest oops",
	"reports in the log of the running kernel",
	"journalctl -k -b -1 -o export | nest oops -",
	"reports of the previous boot",
	"nest oops dmesg.txt --debug /usr/lib/debug/boot/vmlinux-6.1.0-54-amd64",
	"with source lines, and the variables that registers held",
	"journalctl -k -o export | nest oops - -f day.nest",
	"with the findings of nest record at that time",
	"nest oops -f day.nest",
	"reports that the kernel logged while nest record ran, with the findings of that time",
	"cat /sys/fs/pstore/dmesg-* | nest oops - --json",
	"reports of the crashed kernel, one JSON object each",
	NULL,
};

static const struct command oops_command = {
	.name = "oops",
	.summary = "oopses, warnings, lockups and stalls in a kernel log",
	.description =
		"Finds kernel reports: oops, BUG, WARN, soft and hard lockup, RCU stall, hung task, transmit timeout, "
		"failed page allocation, refcount_t, KASAN and more. Reads dmesg, /dev/kmsg, syslog, journalctl -o "
		"export, pstore and serial consoles, x86_64 and arm64, from Linux 2.6.34 on.\n\nPrints what happened, "
		"in which function, layer of the network stack and context, the call trace without unreliable "
		"entries, the instructions around the fault, what tainted the kernel, and a signature that is the "
		"same for the same failure.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct oops_config),
	.looks = true,
	.run = run,
};
COMMAND(oops_command);
