/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest checklist: network troubleshooting in ten steps, from broad to narrow, with findings and what to run next. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "report/checklist_steps.h"
#include "run/command.h"
#include "run/run_diagnosis.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "view/json.h"
#include "view/tree.h"

struct config {
	struct diagnosis_options live;
	uint64_t duration_ns;
	bool json;
	const char *file;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "observe for this long (default 3, at least 0.3; of a recording: all of it)"),
	OPTION(struct config, json, FLAG, "json", 'j', NULL, "print one JSON object per step"),
	OPTION_GROUP(struct config, live, diagnosis_option_table),
	OPTION(struct config, file, TEXT, "output", 'o', "FILE", "write to this file instead of standard output",
	       .file = FILE_WRITE),
	OPTION_END,
};

/* --- the record of a step ----------------------------------------------------------------------------------------- */

enum step_state { STEP_FINE = 1, STEP_FINDING, STEP_NOT_DONE, STEP_BUSY };

struct text_item {
	const char *text;
};

struct step_record {
	uint8_t step;
	const char *title;
	uint8_t state;
	const char *found;
	struct list findings; /* finding_record */
	struct list next;     /* text_item */
};

static const struct enum_name state_items[] = {
	{STEP_FINE, "fine", "no finding"},
	{STEP_FINDING, "finding", "the diagnosis has a finding here"},
	{STEP_NOT_DONE, "not-done", "left to the user"},
	{STEP_BUSY, "busy", "no finding, but a resource is used up"},
};
static struct enum_names state_names = {.items = state_items, .count = ARRAY_SIZE(state_items)};

static const struct field text_fields[] = {FIELD(struct text_item, text, TEXT, "a command")};
static const struct record_type text_type = {.name = "checklist_text",
					     .fields = text_fields,
					     .field_count = 1,
					     .size = sizeof(struct text_item),
					     .bare = true};

#define S struct step_record
static const struct field step_fields[] = {
	FIELD(S, step, ID, "number of the step"),
	FIELD(S, title, TEXT, "what it checks"),
	FIELD(S, state, ENUM, "result", .names = &state_names, .zero_is_unknown = true),
	FIELD(S, found, TEXT, "the figures, in one sentence"),
	FIELD(S, findings, LIST, "findings of the diagnosis that belong here", .element = &finding_type),
	FIELD(S, next, LIST, "what to run next", .element = &text_type),
};
#undef S
RECORD_TYPE(step_type, "checklist_step", struct step_record, step_fields, "a step of the checklist");

/* --- one look ----------------------------------------------------------------------------------------------------- */

struct checklist {
	struct run_sink sink;
	const struct config *config;
	struct run_snapshots *snapshots;
	struct snapshot *before;
	struct snapshot *after;
};

/* What rates are computed from. */
static int count(struct checklist *checklist, struct snapshot *snapshot, struct why *why)
{
	static const struct record_type *const types[] = {&counter_type, &link_type, NULL};

	return run_snapshots_take(checklist->snapshots, &(struct snapshot_request){.types = types}, snapshot, why);
}

struct step_content {
	struct buf found;
	VEC(struct finding_record) findings;
	VEC(struct text_item) next;
};

/* Takes ownership of the command. */
static void add_next(struct step_content *content, char *command)
{
	_cleanup_free_ char *owned = command;

	vec_each(&content->next, known)
		if (strcmp(known->text, command) == 0)
			return;
	vec_push(&content->next, (struct text_item){take_ptr(owned)});
}

/* The commands of the findings go first: they know the culprit. */
static void fill_step(struct step_content *content, const struct checklist_view *view, unsigned number,
		      const struct diagnosis_record *diagnosis, const struct run_diagnosis *live)
{
	const char *netns = live->run->recording ? NULL : live->options->netns;
	const struct finding_record *findings = diagnosis->findings.items;

	for (uint32_t i = 0; i < diagnosis->findings.count; i++) {
		const struct text_item *commands = findings[i].next.items;
		bool here = checklist_step_of(&findings[i]) == number;

		if (here)
			vec_push(&content->findings, findings[i]);
		/* The step of the tools has the tools of all findings. */
		for (uint32_t k = 0; (here || number == 7) && k < findings[i].next.count; k++)
			add_next(content, xstrdup(commands[k].text));
	}
	for (const char *const *next = checklist_steps[number].next; *next; next++)
		if (knowledge_can_run(live->knowledge, *next))
			add_next(content, knowledge_in_netns(live->knowledge, *next, netns));
	checklist_steps[number].describe(view, &content->found);
}

static void draw_step(const struct step_record *step, struct out *out)
{
	static const char *const marks[] = {
		[STEP_FINE] = "ok", [STEP_FINDING] = "!!", [STEP_NOT_DONE] = "--", [STEP_BUSY] = "!!"};
	_cleanup_(tree_freep) struct tree *tree = tree_new();
	const struct finding_record *findings = step->findings.items;
	const struct text_item *next = step->next.items;
	/* The title up to its colon, the figures behind it: a step that is fine needs no more. */
	struct tree_node *root = tree_add(tree, NULL, OUT_BOLD, marks[step->state], "%u. %.*s: %s", step->step,
					  (int)strcspn(step->title, ":"), step->title, step->found);

	for (uint32_t i = 0; i < step->findings.count; i++)
		tree_add(tree, root, OUT_BOLD, findings[i].cause, "%s: %s (certainty %.2f)", findings[i].module,
			 findings[i].because, findings[i].certainty);
	for (uint32_t i = 0; step->state != STEP_FINE && i < step->next.count; i++)
		tree_add(tree, root, OUT_PLAIN, "next:", "%s", next[i].text);
	tree_print(tree, out);
}

static void show_step(struct run_diagnosis *live, const struct checklist_view *view, unsigned number,
		      const struct diagnosis_record *diagnosis, bool json)
{
	struct step_content content = {.found = BUF_INIT(4096)};
	struct step_record step = {.step = (uint8_t)(number + 1), .title = checklist_steps[number].title};

	fill_step(&content, view, number, diagnosis, live);
	step.found = buf_text(&content.found);
	/* None is known to be none. */
	step.findings = (struct list){content.findings.items ?: (void *)&step, (uint32_t)content.findings.count};
	step.next = (struct list){content.next.items, (uint32_t)content.next.count};
	step.state = content.findings.count            ? STEP_FINDING
		     : checklist_steps[number].open    ? STEP_NOT_DONE
		     : checklist_is_busy(number, view) ? STEP_BUSY
						       : STEP_FINE;
	if (json) {
		json_add_object(&live->out.pending, &step_type, &step);
		out_end_line(&live->out);
	} else {
		draw_step(&step, &live->out);
	}
	vec_each(&content.next, next)
		free((char *)next->text);
	vec_done(&content.findings);
	vec_done(&content.next);
	buf_done(&content.found);
}

static int report(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	struct checklist *checklist = live->context;
	const struct diagnosis_record *diagnosis;
	struct checklist_view seen = {};
	int r = 0;

	if (!live->last || view->gone)
		return 0;
	diagnosis = diagnosis_get(view->diagnosis);
	seen.graph = diagnosis_graph(view->diagnosis);
	if (!diagnosis || !seen.graph)
		return 0;
	if (checklist->before)
		r = count(checklist, checklist->after, &live->run->why);
	if (r < 0)
		return r;
	seen.before = checklist->before;
	seen.after = checklist->after;
	for (unsigned i = 0; i < CHECKLIST_STEPS; i++)
		show_step(live, &seen, i, diagnosis, checklist->config->json);
	return 0;
}

/* The start, to compare with the end. A recording has no kernel to read it from. */
static int begin(struct run_sink *sink, struct run *run)
{
	struct checklist *checklist = (struct checklist *)sink;

	if (run->recording)
		return 0;
	checklist->before = snapshot_new();
	checklist->after = snapshot_new();
	return count(checklist, checklist->before, &run->why);
}

static void close_checklist(struct run_sink *sink)
{
	struct checklist *checklist = (struct checklist *)sink;

	snapshot_free(checklist->before);
	snapshot_free(checklist->after);
}

static const struct run_sink_ops checklist_ops = {.begin = begin, .close = close_checklist};

static int run(const void *data)
{
	const struct config *config = data;
	struct run run = {.options.name = "checklist"};
	struct checklist checklist = {.sink.ops = &checklist_ops, .config = config};
	struct run_diagnosis live = {.options = &config->live,
				     .duration_ns = config->duration_ns,
				     .file = config->file,
				     .report = report,
				     .context = &checklist};

	if (config->live.netns && strcmp(config->live.netns, "all") == 0)
		return command_fail(EXIT_USAGE, "checklist: one namespace at a time (nest diagnose -N all covers all)");
	if (!live.duration_ns && !config->live.input.file)
		live.duration_ns = DIAGNOSIS_WINDOWS * NSEC_PER_SEC;
	run_diagnosis_init(&live, &run);
	checklist.snapshots = &live.snapshots;
	run_add_sink(&run, NULL, &checklist.sink);
	return run_carry_out(&run);
}

static const char *const examples[] = {
	"nest checklist",
	"first steps for an unknown problem",
	"nest checklist -N web --json",
	"the namespace web, as JSON",
	NULL,
};

static const struct command checklist_command = {
	.name = "checklist",
	.summary = "network troubleshooting in ten steps, from broad to narrow",
	.description =
		"Observes for 3 s, then goes through the steps in order: key figures, new connections, interfaces, "
		"unusual events, name resolution, latency, load, tools, CPU time, stack internals. Findings of the "
		"diagnosis (nest diagnose) appear under the step they belong to. It generates no load.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(checklist_command);
