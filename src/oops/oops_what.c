/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_what.h"

#include <inttypes.h>
#include <string.h>

#include "oops/oops_layer.h"

/* Addresses below are offsets into a structure that was not there. */
#define NULL_MAX 4096

/* Patterns that the kernel leaves in memory; an address near one was read from there. */
static const struct {
	uint64_t from, to;
	const char *class;
	const char *meaning;
} poisons[] = {
	{0xdead000000000000, 0xdead0000000001ff, "list-poison", "list entry used after its removal (LIST_POISON)"},
	{0x00100100, 0x001002ff, "list-poison", "list entry used after its removal (LIST_POISON)"},
	{0x6b6b6b6b6b6b0000, 0x6b6b6b6b6b6bffff, "free-poison", "memory used after it was freed (slab poison 6b)"},
	{0x6b6b0000, 0x6b6bffff, "free-poison", "memory used after it was freed (slab poison 6b)"},
	{0x5a5a5a5a5a5a0000, 0x5a5a5a5a5a5affff, "new-poison", "memory used before it was set (slab poison 5a)"},
	{0xa5a5a5a5a5a50000, 0xa5a5a5a5a5a5ffff, "new-poison", "memory used before it was set (slab poison a5)"},
	{0xcccccccccccc0000, 0xccccccccccccffff, "stack-poison", "stack used before it was set (poison cc)"},
};

/* A word for what failed: part of the signature, so it never changes. */
static const char *class_of(const struct oops_report *report)
{
	if (report->kind != OOPS_FAULT || report->address == UINT64_MAX)
		return "";
	if (report->address < NULL_MAX)
		return "null";
	for (size_t i = 0; i < ARRAY_SIZE(poisons); i++)
		if (report->address >= poisons[i].from && report->address <= poisons[i].to)
			return poisons[i].class;
	return "address";
}

static const char *access_of(const struct oops_report *report)
{
	return report->access ? report->access : "access";
}

static void say_fault(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	if (report->address == UINT64_MAX) {
		if (!report->what)
			report->what = "general protection fault";
		return;
	}
	if (report->address == 0 && (!report->function || (report->access && report->access[0] == 'e'))) {
		report->what = "call of a NULL function pointer";
		return;
	}
	if (report->address < NULL_MAX) {
		report->what = oops_keep_format(oops, "NULL pointer dereference: %s at offset 0x%" PRIx64,
						access_of(report), report->address);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(poisons); i++)
		if (report->address >= poisons[i].from && report->address <= poisons[i].to) {
			report->what = oops_keep_format(oops, "%s: %s at 0x%" PRIx64, poisons[i].meaning,
							access_of(report), report->address);
			return;
		}
	report->what = oops_keep_format(oops, "%s at invalid address 0x%" PRIx64, access_of(report), report->address);
}

void oops_what_say(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	if (report->kind == OOPS_FAULT)
		say_fault(oops);
	else if ((report->kind == OOPS_WARN || report->kind == OOPS_BUG) && oops->message)
		report->what = oops->message;
	else if (!report->what && report->file && (report->kind == OOPS_WARN || report->kind == OOPS_BUG))
		report->what = oops_keep_format(oops, "%s at %s:%u", report->kind == OOPS_BUG ? "BUG" : "warning",
						report->file, report->line);
	if (!report->what)
		report->what = enum_name_find(&oops_kind_names, report->kind);
}

/* --- signature --- */

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Frames that count: callers further out differ from one way into the kernel to the next. */
#define SIGNED_FRAMES 6

static void hash(uint64_t *state, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*state = (*state ^ (unsigned char)text[i]) * FNV_PRIME;
	*state = (*state ^ 0xff) * FNV_PRIME;
}

/* Compilers append .isra.0, .constprop.0, .part.0, .cold: another build, the same function. */
static size_t base_len(const char *function)
{
	size_t n = strcspn(function, ".");

	return n ? n : strlen(function);
}

/* "bpf_prog_HASH_name": the name alone; the hash follows the program's version. */
static const char *base_name(const char *function)
{
	if (strncmp(function, "bpf_prog_", 9) == 0 && strlen(function) > 26 && function[25] == '_')
		return function + 26;
	return function;
}

static bool is_signed(const struct oops_frame *frame, bool with_unreliable)
{
	return (frame->reliable || with_unreliable) && frame->function[0] != '0' &&
	       !oops_layer_is_machinery(frame->function);
}

void oops_what_sign(struct oops *oops)
{
	const char *kind = enum_name_find(&oops_kind_names, oops->report.kind), *class = class_of(&oops->report);
	const char *function = oops->report.function ? base_name(oops->report.function) : "";
	uint64_t state = FNV_START;
	bool any = false;
	unsigned used = 0;

	hash(&state, kind, strlen(kind));
	hash(&state, class, strlen(class));
	hash(&state, function, base_len(function));
	vec_each(&oops->frames, frame)
		any = any || is_signed(frame, false);
	vec_each(&oops->frames, frame) {
		const char *name = base_name(frame->function);

		if (used >= SIGNED_FRAMES || !is_signed(frame, !any))
			continue;
		hash(&state, name, base_len(name));
		used++;
	}
	oops->report.signature = oops_keep_format(oops, "%016" PRIx64, state);
}

/* --- what was before --- */

static const struct {
	char flag;
	const char *meaning;
	const char *before; /* what happened before; NULL: the flag is no event of this kind */
} taints[] = {
	{'P', "proprietary module", NULL},
	{'F', "module loaded by force", NULL},
	{'S', "CPU out of specification", NULL},
	{'R', "module removed by force", NULL},
	{'M', "machine check", "a machine check"},
	{'B', "bad page", "a bad page"},
	{'U', "set by a user", NULL},
	{'D', "oops before", "an oops"},
	{'A', "ACPI table replaced", NULL},
	{'W', "warning before", "a warning"},
	{'C', "staging driver", NULL},
	{'I', "firmware bug worked around", NULL},
	{'O', "module from outside the kernel tree", NULL},
	{'E', "unsigned module", NULL},
	{'L', "soft lockup before", "a soft lockup"},
	{'K', "live patch", NULL},
	{'X', "set by the distribution", NULL},
	{'T', "randomised structures", NULL},
	{'N', "test module", NULL},
	{'J', "fwctl used", NULL},
};

const char *oops_what_taint(char flag)
{
	for (size_t i = 0; i < ARRAY_SIZE(taints); i++)
		if (taints[i].flag == flag)
			return taints[i].meaning;
	return NULL;
}

static const char *before_of(const struct oops *oops)
{
	static const char order[] = "DMBLW";

	if (!oops->report.tainted || strcmp(oops->report.tainted, "not tainted") == 0)
		return NULL;
	for (size_t k = 0; order[k]; k++)
		for (size_t i = 0; i < ARRAY_SIZE(taints); i++)
			if (taints[i].flag == order[k] && strchr(oops->report.tainted, order[k]))
				return taints[i].before;
	return NULL;
}

/* A log that starts again at a small uptime is of another boot. */
static bool is_same_boot(const struct oops *earlier, const struct oops *later)
{
	return earlier->report.uptime_ns == UINT64_MAX || later->report.uptime_ns == UINT64_MAX ||
	       earlier->report.uptime_ns <= later->report.uptime_ns;
}

/* Whether it leaves the kernel in a state that breaks other things. */
static bool does_harm(const struct oops *oops)
{
	switch (oops->report.kind) {
	case OOPS_FAULT:
	case OOPS_BUG:
	case OOPS_KASAN:
	case OOPS_KFENCE:
	case OOPS_REFCOUNT:
		return true;
	default:
		return false;
	}
}

void oops_what_relate(struct oops_list *list)
{
	const struct oops *first = NULL; /* of this boot, that does harm */

	for (size_t i = 0; i < list->items.count; i++) {
		struct oops *oops = list->items.items[i];
		struct oops_report *report = &oops->report;
		const char *before = before_of(oops);

		if (i > 0 && !is_same_boot(list->items.items[i - 1], oops))
			first = NULL;
		/* A kernel that is not tainted has not been in trouble. */
		if (first && (before || !report->tainted))
			report->after = oops_keep_format(oops, "%s in line %u of this log",
							 enum_name_find(&oops_kind_names, first->report.kind),
							 first->report.log_line);
		else if (before)
			report->after = oops_keep_format(oops, "%s, by the taint flags", before);
		else if (oops->number > 1)
			report->after = oops_keep_format(oops, "%u earlier, by its number", oops->number - 1);
		if (!first && does_harm(oops))
			first = oops;
	}
}
