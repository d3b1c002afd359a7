/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "hardware/hardware.h"

/* Column of the values. */
#define VALUE_AT 15
#define INDENT   "               "

/* Names of interfaces, drivers and interrupts may hold anything. */
static void add_folded(struct out *out, const char *text)
{
	_cleanup_buf_ struct buf escaped = BUF_INIT(65536);

	text_add_terminal(&escaped, text, strlen(text));
	out_add_folded(out, buf_text(&escaped), VALUE_AT, INDENT);
}

static void print_row(struct out *out, enum out_style style, const char *name, const char *text)
{
	buf_add_format(&out->pending, "  %s%-*s%s", out_style_on(out, style), VALUE_AT - 2, name,
		       out_style_off(out, style));
	add_folded(out, text);
	out_end_line(out);
}

/* What is usual, what it costs, how to change it: below the value, and only where something is known. */
static void print_fact(const struct hardware_fact *fact, struct out *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	print_row(out, OUT_BOLD, fact->fact, fact->value ? fact->value : "-");
	if (fact->usual)
		buf_add_format(&text, "usual: %s", fact->usual);
	if (fact->cost)
		buf_add_format(&text, "%scost: %s", text.len ? "; " : "", fact->cost);
	if (fact->change)
		buf_add_format(&text, "%schange: %s", text.len ? "; " : "", fact->change);
	buf_add_format(&out->pending, "%s%s", INDENT, out_style_on(out, OUT_DIM));
	add_folded(out, buf_text(&text));
	buf_add_text(&out->pending, out_style_off(out, OUT_DIM));
	out_end_line(out);
}

static void print_irqs(const struct hardware *hardware, struct out *out)
{
	vec_each(&hardware->irqs, irq) {
		_cleanup_buf_ struct buf text = BUF_INIT(4096), name = BUF_INIT(32);
		const struct hardware_cpu *cpus = irq->cpus.items;

		buf_add_format(&name, "irq %u", irq->irq);
		if (irq->count != UINT64_MAX)
			buf_add_format(&text, "%llu", (unsigned long long)irq->count);
		buf_add_text(&text, " on CPU ");
		for (uint32_t i = 0; i < irq->cpus.count && i < 8; i++)
			buf_add_format(&text, "%s%u", i ? "," : "", cpus[i].cpu);
		buf_add_text(&text, irq->cpus.count > 8 ? ",..." : "");
		if (irq->queue)
			buf_add_format(&text, "  %s", irq->queue);
		print_row(out, OUT_PLAIN, buf_text(&name), buf_text(&text));
	}
}

static enum out_style style_of(const char *severity)
{
	return severity[0] == 'h' ? OUT_RED : severity[0] == 'm' ? OUT_YELLOW : OUT_CYAN;
}

static void print_judgements(const struct hardware *hardware, struct out *out)
{
	vec_each(&hardware->judgements, judgement) {
		_cleanup_buf_ struct buf text = BUF_INIT(8192);

		buf_add_format(&text, "%s: %s. %s", judgement->what, judgement->because, judgement->advice);
		print_row(out, style_of(judgement->severity), judgement->severity, buf_text(&text));
	}
	if (hardware->judgements.count == 0)
		print_row(out, OUT_GREEN, "ok", "nothing found that limits it");
}

void hardware_print(const struct hardware *hardware, bool all, struct out *out)
{
	const struct hardware_record *record = &hardware->record;
	_cleanup_buf_ struct buf head = BUF_INIT(512);
	size_t unknown = 0;

	buf_add_format(&head, "%s: %s%s%s", record->dev, record->driver ? record->driver : "no driver",
		       record->bus ? ", " : "", record->bus ? record->bus : "");
	buf_add_text(&out->pending, out_style_on(out, OUT_BOLD));
	text_add_terminal(&out->pending, buf_text(&head), head.len);
	buf_add_text(&out->pending, out_style_off(out, OUT_BOLD));
	out_end_line(out);
	print_judgements(hardware, out);
	vec_each(&hardware->facts, fact) {
		unknown += !fact->value;
		if (fact->value || all)
			print_fact(fact, out);
		if (strcmp(fact->fact, "interrupts") == 0)
			print_irqs(hardware, out);
	}
	if (unknown && !all) {
		buf_add_format(&out->pending,
			       "  (%zu setting%s hidden that the device does not report; --all shows all)", unknown,
			       text_plural(unknown));
		out_end_line(out);
	}
}
