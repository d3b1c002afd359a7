/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest export: a recording in the formats of other programs. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "report/export.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "run/run_diagnosis.h"

static const char *const formats[] = {"csv", "jsonl", "pcapng", "perfetto", "folded", "dot", NULL};
enum format { FORMAT_CSV, FORMAT_JSONL, FORMAT_PCAPNG, FORMAT_PERFETTO, FORMAT_FOLDED, FORMAT_DOT, FORMAT_NONE };

struct config {
	const char *file;
	unsigned format;
	const char *table;
	const char *from;
	const char *to; /* a time; a format in the spelling of before */
	const char *output;
};

static const struct option_spec options[] = {
	OPTION(struct config, format, CHOICE, "format", 'F', "NAME", "output format", .choices = formats),
	OPTION(struct config, table, TEXT, "table", 0, "TABLE", "limit to this table (csv needs one)"),
	OPTION(struct config, from, TEXT, "from", 0, "TIME", "start here (02:13; +10s: after the start)"),
	OPTION(struct config, to, TEXT, "to", 0, "TIME", "end here (-1m: before the end)"),
	OPTION(struct config, to, TEXT, "until", 0, "TIME", "same as --to"),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file instead of standard output",
	       .file = FILE_WRITE),
	POSITIONAL(struct config, file, TEXT, "FILE", "the recording", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

/* --- the graph of modules --- */

static bool is_accused(const struct diagnosis_record *record, const char *id)
{
	const struct finding_record *findings = record->findings.items;

	for (uint32_t i = 0; i < record->findings.count; i++)
		if (strcmp(findings[i].module, id) == 0)
			return true;
	return false;
}

static void add_quoted(struct buf *out, const char *text)
{
	_cleanup_buf_ struct buf plain = BUF_INIT(4096);

	/* What the terminal's escaping leaves is printable; a backslash is doubled by it, as DOT wants it. */
	text_add_terminal(&plain, text, strnlen(text, 500));
	buf_add_char(out, '"');
	for (const char *c = buf_text(&plain); *c; c++) {
		if (*c == '"')
			buf_add_char(out, '\\');
		buf_add_char(out, *c);
	}
	buf_add_char(out, '"');
}

static void write_graph(const struct diagnosis_record *record, struct out *out)
{
	const struct module_record *modules = record->modules.items;

	buf_add_text(&out->pending, "digraph nest {\n\trankdir=TB;\n\tnode [shape=box, style=rounded];");
	out_end_line(out);
	for (uint32_t i = 0; i < record->modules.count; i++) {
		buf_add_char(&out->pending, '\t');
		add_quoted(&out->pending, modules[i].id);
		buf_add_text(&out->pending, " [tooltip=");
		add_quoted(&out->pending, modules[i].state);
		buf_add_text(&out->pending, is_accused(record, modules[i].id) ? ", color=red, penwidth=2];" : "];");
		out_end_line(out);
		for (uint32_t d = 0; d < modules[i].depends_on.count; d++) {
			buf_add_char(&out->pending, '\t');
			add_quoted(&out->pending, modules[i].id);
			buf_add_text(&out->pending, " -> ");
			add_quoted(&out->pending, text_record_at(&modules[i].depends_on, d));
			buf_add_char(&out->pending, ';');
			out_end_line(out);
		}
	}
	buf_add_char(&out->pending, '}');
	out_end_line(out);
}

static int report_graph(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	if (live->last && !view->gone)
		write_graph(diagnosis_get(view->diagnosis), &live->out);
	return 0;
}

/* The modules of the last window, with their dependencies. */
static int export_dot(const struct config *config)
{
	struct diagnosis_options options_of = {.input = {.file = config->file, .from = config->from, .to = config->to}};
	struct run run = {.options.name = "export"};
	struct run_diagnosis live = {.options = &options_of, .file = config->output, .report = report_graph};

	run_diagnosis_init(&live, &run);
	return run_carry_out(&run);
}

/* --- the others --- */

static int export_file(const struct config *config, struct out *out, struct why *why)
{
	static int (*const exporters[])(const struct export_request *request, struct out *out, struct why *why) = {
		[FORMAT_CSV] = export_csv,           [FORMAT_JSONL] = export_jsonl,   [FORMAT_PCAPNG] = export_pcapng,
		[FORMAT_PERFETTO] = export_perfetto, [FORMAT_FOLDED] = export_folded,
	};
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct input_options input = {.file = config->file, .from = config->from, .to = config->to};
	struct export_request request = {.table = config->table};
	int r = input_open(&input, &recording, &request.range, why);

	request.recording = recording;
	if (r < 0)
		return r == -EINVAL ? r : -EIO;
	return exporters[config->format](&request, out, why);
}

/* --to was the format once, and no format is a time. */
static void take_old_spelling(struct config *config)
{
	for (unsigned i = 0; config->format == FORMAT_NONE && config->to && i < FORMAT_NONE; i++)
		if (strcmp(config->to, formats[i]) == 0) {
			config->format = i;
			config->to = NULL;
		}
}

static int run(const void *data)
{
	struct config chosen = *(const struct config *)data;
	const struct config *config = &chosen;
	struct why why = {};
	struct out out;
	int r;

	take_old_spelling(&chosen);
	if (config->format == FORMAT_NONE)
		return command_fail(EXIT_USAGE,
				    "export: --format is missing: csv, jsonl, pcapng, perfetto, folded or dot");
	if (config->format == FORMAT_DOT)
		return export_dot(config);
	r = out_open(&out, config->output);
	if (r < 0)
		return command_fail(EXIT_IO, "export: cannot write %s: %s", config->output, new_file_error(r));
	if (config->format == FORMAT_PCAPNG && out.is_terminal) {
		out_drop(&out);
		return command_fail(EXIT_USAGE,
				    "export: refusing to write a capture to a terminal: -o FILE, or | tcpdump -r -");
	}
	r = export_file(config, &out, &why);
	if (r < 0)
		out_drop(&out);
	if (why.text[0])
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_IO, "export: %s", why.text);
	return output_exit_code("export", r < 0 ? r : out_done(&out));
}

static const char *const examples[] = {
	"nest export day.nest --format jsonl --table finding",
	"the findings as JSON lines",
	"nest export day.nest --format perfetto -o day.json",
	"findings, counters and events on one timeline, for ui.perfetto.dev",
	"nest export drops.nest --format pcapng | tshark -r -",
	"dropped and retransmitted packets, with process and verdict as comments",
	NULL,
};

static const struct config defaults = {.format = FORMAT_NONE};

static const struct command export_command = {
	.name = "export",
	.summary = "recordings as CSV, JSON, pcapng, Perfetto, folded stacks, DOT",
	.description =
		"csv and jsonl write tables as recorded; rows of snapshots carry the first and last sample in which "
		"they were valid (first, last: milliseconds since 1970). pcapng holds the packet headers of "
		"events, perfetto findings, counters and events on a timeline, folded the stacks of events, "
		"dot the module graph of the last window of the diagnosis.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(export_command);
