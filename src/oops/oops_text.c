/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "oops/oops_layer.h"
#include "oops/oops_what.h"

/* Column of the values. */
#define VALUE_AT 13

static void add_escaped(struct buf *out, const char *text)
{
	text_add_terminal(out, text, strlen(text));
}

/* "  name       text", folded to the terminal. Nothing without text. */
static void print_row(struct out *out, const char *name, const struct buf *text)
{
	if (text->len == 0)
		return;
	buf_add_format(&out->pending, "  %s%-*s%s", out_style_on(out, OUT_DIM), VALUE_AT - 2, name,
		       out_style_off(out, OUT_DIM));
	out_add_folded(out, buf_text(text), VALUE_AT, "             ");
	out_end_line(out);
}

static void print_text(struct out *out, const char *name, const char *text)
{
	_cleanup_buf_ struct buf escaped = BUF_INIT(BUF_CAP_DEFAULT);

	if (text)
		add_escaped(&escaped, text);
	print_row(out, name, &escaped);
}

/* "f+0x1/0x2 [module]" */
static void add_place(struct buf *text, const char *function, uint32_t offset, uint32_t size, const char *module)
{
	add_escaped(text, function);
	if (offset != UINT32_MAX)
		buf_add_format(text, "+0x%x/0x%x", offset, size);
	if (module) {
		buf_add_text(text, " [");
		add_escaped(text, module);
		buf_add_char(text, ']');
	}
}

static void print_place(const struct oops_report *report, struct out *out)
{
	_cleanup_buf_ struct buf place = BUF_INIT(4096), source = BUF_INIT(4096);

	if (report->function)
		add_place(&place, report->function, report->offset, report->size, report->module);
	if (report->layer)
		buf_add_format(&place, "%slayer %s", place.len ? ", " : "", report->layer);
	print_row(out, "where", &place);
	if (report->file) {
		add_escaped(&source, report->file);
		buf_add_format(&source, ":%u", report->line);
	}
	print_row(out, "source", &source);
	print_text(out, "member", report->member);
	print_text(out, "interface", report->dev);
	print_text(out, "allocated", report->allocated);
	print_text(out, "freed", report->freed);
}

/* "softirq (NAPI poll e1000_clean), CPU 1, interrupted swapper/1 (0)" */
static void print_context(const struct oops_report *report, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	bool interrupts =
		report->context && (strcmp(report->context, "softirq") == 0 || strcmp(report->context, "irq") == 0);

	bool is_ksoftirqd = report->comm && strncmp(report->comm, "ksoftirqd/", 10) == 0;

	if (report->context)
		buf_add_text(&text, report->context);
	if (report->napi) {
		buf_add_text(&text, " (NAPI poll ");
		add_escaped(&text, report->napi);
		buf_add_char(&text, ')');
	}
	if (report->comm) {
		buf_add_text(&text, text.len == 0 ? "" : !interrupts ? " " : is_ksoftirqd ? ", in " : ", interrupted ");
		add_escaped(&text, report->comm);
		if (report->pid != UINT32_MAX)
			buf_add_format(&text, " (%u)", report->pid);
	}
	if (report->cpu != UINT32_MAX)
		buf_add_format(&text, "%sCPU %u", text.len ? ", " : "", report->cpu);
	if (report->workqueue) {
		buf_add_text(&text, ", workqueue ");
		add_escaped(&text, report->workqueue);
	}
	print_row(out, "context", &text);
}

/* The flags with their meaning. */
static void add_taint(struct buf *text, const struct oops_report *report)
{
	bool any = false;

	if (strcmp(report->tainted, "not tainted") == 0) {
		buf_add_text(text, "not tainted");
		return;
	}
	buf_add_text(text, "tainted ");
	add_escaped(text, report->tainted);
	for (const char *flag = report->tainted; *flag; flag++)
		if (oops_what_taint(*flag)) {
			buf_add_format(text, "%s%s", any ? ", " : " (", oops_what_taint(*flag));
			any = true;
		}
	buf_add_text(text, any ? ")" : "");
	if (report->taint_modules) {
		buf_add_text(text, " by ");
		add_escaped(text, report->taint_modules);
	}
}

static void print_kernel(const struct oops_report *report, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(8192);

	if (report->kernel)
		add_escaped(&text, report->kernel);
	if (report->arch)
		buf_add_format(&text, "%s%s", text.len ? ", " : "", report->arch);
	if (report->tainted) {
		buf_add_text(&text, text.len ? ", " : "");
		add_taint(&text, report);
	}
	print_row(out, "kernel", &text);
}

/* Logs are of any day: with the date, local time. */
static void add_date(struct buf *text, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char date[32];
	struct tm tm;

	if (localtime_r(&seconds, &tm) && strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm))
		buf_add_format(text, ", %s", date);
}

static void print_when(const struct oops *oops, uint32_t again, struct out *out)
{
	const struct oops_report *report = &oops->report;
	_cleanup_buf_ struct buf text = BUF_INIT(512);

	buf_add_format(&text, "line %u of the log", report->log_line);
	if (report->time_ns != UINT64_MAX)
		add_date(&text, report->time_ns);
	if (report->uptime_ns != UINT64_MAX)
		buf_add_format(&text, ", %.3f s after boot", (double)report->uptime_ns / 1e9);
	if (again)
		buf_add_format(&text, "; %u more of the same signature", again);
	print_row(out, "when", &text);
	/* Whether it is the first, only the flags know: a log may start late. */
	if (report->after || report->tainted)
		print_text(out, "after", report->after ? report->after : "no earlier report, by the taint flags");
	print_text(out, "panic", report->panic);
}

static void print_frame(const struct oops_frame *frame, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(8192);

	add_place(&text, frame->function, frame->offset, frame->size, frame->module);
	if (frame->file) {
		buf_add_text(&text, "  ");
		add_escaped(&text, frame->file);
		buf_add_format(&text, ":%u", frame->line);
	}
	buf_add_format(&out->pending, "    %-9s%s", frame->layer ? frame->layer : "", buf_text(&text));
	out_end_line(out);
}

/* The functions that printed the report, and those that are not certain and could have, are of no use. */
static bool is_shown(const struct oops *oops, const struct oops_frame *frame, bool reliable, bool all)
{
	const struct oops_frame *inner = oops->frames.items;

	if (frame->reliable != reliable || all)
		return frame->reliable == reliable;
	if (!reliable)
		return !oops_layer_is_machinery(frame->function);
	while (inner < frame && (!inner->reliable || oops_layer_is_machinery(inner->function)))
		inner++;
	return inner < frame || !oops_layer_is_machinery(frame->function);
}

static void print_frames(const struct oops *oops, bool reliable, bool all, struct out *out)
{
	const char *name = reliable ? "trace" : "trace, not reliable (?)";
	size_t count = 0;

	vec_each(&oops->frames, frame)
		count += is_shown(oops, frame, reliable, all);
	if (count == 0)
		return;
	buf_add_format(&out->pending, "  %s%s%s", out_style_on(out, OUT_DIM), name, out_style_off(out, OUT_DIM));
	out_end_line(out);
	vec_each(&oops->frames, frame)
		if (is_shown(oops, frame, reliable, all))
			print_frame(frame, out);
}

/* Few instructions before the fault say where its operands come from. */
#define CODE_BEFORE 6
#define CODE_AFTER  3

static void print_code(const struct oops *oops, bool all, struct out *out)
{
	size_t fault = SIZE_MAX;

	for (size_t i = 0; i < oops->instructions.count; i++)
		if (oops->instructions.items[i].fault)
			fault = i;
	if (fault == SIZE_MAX)
		return;
	buf_add_format(&out->pending, "  %scode%s", out_style_on(out, OUT_DIM), out_style_off(out, OUT_DIM));
	out_end_line(out);
	for (size_t i = 0; i < oops->instructions.count; i++) {
		const struct oops_instruction *insn = &oops->instructions.items[i];

		if (!all && (i + CODE_BEFORE < fault || i > fault + CODE_AFTER))
			continue;
		buf_add_format(&out->pending, "    %-24s %s%s", insn->bytes, insn->text,
			       insn->fault ? "    <- fault" : "");
		out_end_line(out);
	}
}

static void print_registers(const struct oops *oops, bool all, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(16384);

	vec_each(&oops->registers, reg) {
		if (!all && !reg->holds)
			continue;
		buf_add_text(&text, text.len ? ", " : "");
		add_escaped(&text, reg->name);
		buf_add_format(&text, " 0x%" PRIx64, reg->value);
		if (reg->holds) {
			buf_add_text(&text, " = ");
			add_escaped(&text, reg->holds);
		}
	}
	print_row(out, "registers", &text);
}

static void print_known(const struct oops *oops, struct out *out)
{
	vec_each(&oops->findings, finding) {
		_cleanup_buf_ struct buf text = BUF_INIT(8192);

		add_escaped(&text, finding->cause);
		buf_add_text(&text, " (");
		add_escaped(&text, finding->module);
		buf_add_text(&text, ")");
		if (finding->because) {
			buf_add_text(&text, ": ");
			add_escaped(&text, finding->because);
		}
		print_row(out, "recorded", &text);
	}
}

void oops_text_print(const struct oops *oops, uint32_t again, bool all, struct out *out)
{
	const struct oops_report *report = &oops->report;
	_cleanup_buf_ struct buf what = BUF_INIT(8192);

	add_escaped(&what, report->what);
	buf_add_format(&out->pending, "%s%s%s: ", out_style_on(out, OUT_RED),
		       enum_name_find(&oops_kind_names, report->kind), out_style_off(out, OUT_RED));
	out_add_folded(out, buf_text(&what), strlen(enum_name_find(&oops_kind_names, report->kind)) + 2, "  ");
	out_end_line(out);
	print_place(report, out);
	print_context(report, out);
	print_kernel(report, out);
	print_when(oops, again, out);
	print_known(oops, out);
	print_frames(oops, true, all, out);
	print_frames(oops, false, all, out);
	if (oops->frames_cut)
		buf_add_format(&out->pending, "    (%u more)\n", oops->frames_cut);
	print_code(oops, all, out);
	print_registers(oops, all, out);
	print_text(out, "signature", report->signature);
}
