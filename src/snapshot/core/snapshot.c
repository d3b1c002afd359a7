/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/text.h"
#include "kernel/capability.h"
#include "snapshot/core/arena.h"
#include "snapshot/core/settings.h"
#include "snapshot/core/table_share.h"

/* Upper bounds of tables that grow with the host. */
#define RECORDS_MAX ((size_t)4 << 20)
#define TEXTS_MAX   ((size_t)256 << 20)
#define FILE_MAX    ((size_t)64 << 20)
#define SOURCES_MAX 64
#define HUGE_WORTH  ((size_t)4 << 20)

static const struct field gap_fields[] = {
	FIELD(struct gap_record, netns, ID, "network namespace", .zero_is_unknown = true),
	FIELD(struct gap_record, source, TEXT, "source that failed or is incomplete"),
	FIELD(struct gap_record, lost, TEXT, "missing data"),
	FIELD(struct gap_record, why, TEXT, "the reason"),
};
RECORD_TYPE(gap_type, "gap", struct gap_record, gap_fields, "missing data, and why");

struct snapshot_memory {
	struct arena texts;
	struct settings settings;
	const struct snapshot_source *sources[SOURCES_MAX]; /* in run order */
	void *states[SOURCES_MAX];
	size_t source_count;
};

static int by_stage(const void *a, const void *b)
{
	const struct snapshot_source *x = *(const struct snapshot_source *const *)a;
	const struct snapshot_source *y = *(const struct snapshot_source *const *)b;

	return x->stage != y->stage ? (int)x->stage - (int)y->stage : strcmp(x->name, y->name);
}

static void add_table(struct snapshot *snapshot, const struct record_type *type, bool on_demand)
{
	struct snapshot_table *table;

	if (snapshot_table(snapshot, type))
		return;
	snapshot->tables = xrealloc_array(snapshot->tables, snapshot->table_count + 1, sizeof(*snapshot->tables));
	table = &snapshot->tables[snapshot->table_count++];
	*table = (struct snapshot_table){
		.type = type, .cap = RECORDS_MAX, .on_demand = on_demand, .blank = xzalloc(type->size)};
	for (uint32_t i = 0; i < type->field_count; i++)
		value_set_unknown(&type->fields[i], table->blank);
}

struct snapshot *snapshot_new(void)
{
	struct snapshot *snapshot = xzalloc(sizeof(*snapshot));
	struct snapshot_memory *memory = xzalloc(sizeof(*memory));

	snapshot->memory = memory;
	snapshot->text = BUF_INIT(FILE_MAX);
	snapshot->message = xmalloc(SNAPSHOT_MESSAGE_MAX);
	memory->texts.cap = TEXTS_MAX;
	add_table(snapshot, &gap_type, false);
	add_table(snapshot, &netns_type, false);
	registry_each(snapshot_source, source) {
		if (memory->source_count == SOURCES_MAX)
			abort();
		memory->sources[memory->source_count++] = *source;
		for (const struct record_type *const *type = (*source)->types; *type; type++)
			add_table(snapshot, *type, (*source)->on_demand);
	}
	qsort(memory->sources, memory->source_count, sizeof(memory->sources[0]), by_stage);
	return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
	struct snapshot_memory *memory;

	if (!snapshot)
		return;
	memory = snapshot->memory;
	for (size_t i = 0; i < memory->source_count; i++) {
		if (memory->states[i] && memory->sources[i]->release)
			memory->sources[i]->release(memory->states[i]);
		free(memory->states[i]);
	}
	for (size_t i = 0; i < snapshot->table_count; i++) {
		free(snapshot->tables[i].items);
		free(snapshot->tables[i].blank);
	}
	arena_done(&memory->texts);
	settings_done(&memory->settings);
	free(memory);
	free(snapshot->tables);
	free(snapshot->message);
	buf_done(&snapshot->text);
	free(snapshot);
}

void snapshot_clear(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->table_count; i++) {
		snapshot->tables[i].count = 0;
		snapshot->tables[i].refused = 0;
	}
	arena_clear(&snapshot->memory->texts);
}

struct snapshot_table *snapshot_table(const struct snapshot *snapshot, const struct record_type *type)
{
	for (size_t i = 0; i < snapshot->table_count; i++)
		if (snapshot->tables[i].type == type)
			return &snapshot->tables[i];
	return NULL;
}

void *snapshot_first(const struct snapshot *snapshot, const struct record_type *type)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);

	return table ? table->items : NULL;
}

void *snapshot_last(const struct snapshot *snapshot, const struct record_type *type)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);

	return table && table->items ? table->items + table->count * type->size : NULL;
}

bool snapshot_wants(const struct snapshot *snapshot, const struct record_type *type)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);

	return table && table->wanted;
}

uint64_t snapshot_refused(const struct snapshot *snapshot)
{
	uint64_t sum = snapshot->memory->texts.refused;

	for (size_t i = 0; i < snapshot->table_count; i++)
		sum += snapshot->tables[i].refused;
	return sum;
}

/* One page fault per 2 MB instead of 512. */
static void use_huge_pages(void *items, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)items + page - 1) & ~(uintptr_t)(page - 1),
		  to = ((uintptr_t)items + size) & ~(uintptr_t)(page - 1);

	if (size >= HUGE_WORTH && to > from)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void snapshot_table_reserve(struct snapshot_table *table, size_t room)
{
	if (room <= table->room)
		return;
	table->room = room;
	table->items = xrealloc_array(table->items, room, table->type->size);
	use_huge_pages(table->items, room * table->type->size);
}

static bool more_room(struct snapshot_table *table)
{
	if (table->share)
		return table_share_more(table);
	snapshot_table_reserve(table, table->room * 2 + 16);
	return true;
}

void *snapshot_table_add(struct snapshot_table *table)
{
	size_t size = table->type->size;
	void *item;

	if (table->count >= table->cap || (table->count == table->room && !more_room(table))) {
		table->refused++;
		return NULL;
	}
	item = table->items + table->count++ * size;
	memcpy(item, table->blank, size);
	return item;
}

void snapshot_table_drop(struct snapshot_table *table)
{
	table->count--;
}

const char *snapshot_text(struct snapshot *snapshot, const char *text, size_t len)
{
	return arena_text(&snapshot->memory->texts, text, len);
}

char *snapshot_text_room(struct snapshot *snapshot, size_t size)
{
	return arena_room(&snapshot->memory->texts, size);
}

uint64_t snapshot_texts_refused(const struct snapshot *snapshot)
{
	return snapshot->memory->texts.refused;
}

void snapshot_refuse_texts(struct snapshot *snapshot, uint64_t count)
{
	snapshot->memory->texts.refused += count;
}

void *snapshot_state(struct snapshot *snapshot)
{
	struct snapshot_memory *memory = snapshot->memory;

	for (size_t i = 0; i < memory->source_count; i++) {
		if (memory->sources[i] != snapshot->source)
			continue;
		if (!memory->states[i])
			memory->states[i] = xzalloc(memory->sources[i]->state_size);
		return memory->states[i];
	}
	abort(); /* called outside a source's collect() */
}

void snapshot_gap(struct snapshot *snapshot, const char *lost, const char *format, ...)
{
	struct gap_record *gap = snapshot_table_add(snapshot_table(snapshot, &gap_type));
	char why[512];
	va_list args;

	if (!gap)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	gap->netns = snapshot->netns;
	gap->source = snapshot->source ? snapshot->source->name : "snapshot";
	gap->lost = snapshot_text(snapshot, lost ?: snapshot->source ? snapshot->source->lost : "", 512);
	gap->why = snapshot_text(snapshot, why, sizeof(why));
}

int snapshot_read(struct snapshot *snapshot, const char *path)
{
	buf_clear(&snapshot->text);
	return buf_read_file(&snapshot->text, path);
}

int snapshot_read_setting(struct snapshot *snapshot, const char *path)
{
	buf_clear(&snapshot->text);
	return settings_read(&snapshot->memory->settings, snapshot->netns, path, snapshot->begin_boot_ns,
			     &snapshot->text);
}

static bool wants_any(const struct snapshot *snapshot, const struct record_type *const *types)
{
	for (; *types; types++)
		if (snapshot_wants(snapshot, *types))
			return true;
	return false;
}

static bool source_wanted(const struct snapshot *snapshot, const struct snapshot_source *source)
{
	return wants_any(snapshot, source->types);
}

static void want_types(struct snapshot *snapshot, const struct record_type *const *types)
{
	for (; types && *types; types++) {
		struct snapshot_table *table = snapshot_table(snapshot, *types);

		if (table)
			table->wanted = true;
	}
}

static void want_needs(struct snapshot *snapshot, const struct snapshot_source *source)
{
	const struct record_type *const first[] = {source->needs ? source->needs[0] : NULL, NULL};

	if (!source->any_need)
		want_types(snapshot, source->needs);
	else if (!wants_any(snapshot, source->needs))
		want_types(snapshot, first);
}

/* What was asked for, and what that needs: sources run in the order of stages, so one pass backwards finds all. */
static void choose_tables(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct snapshot_memory *memory = snapshot->memory;

	for (size_t i = 0; i < snapshot->table_count; i++)
		snapshot->tables[i].wanted = request->types == NULL && !snapshot->tables[i].on_demand;
	want_types(snapshot, request->types);
	for (size_t i = memory->source_count; i-- > 0;)
		if (source_wanted(snapshot, memory->sources[i]))
			want_needs(snapshot, memory->sources[i]);
}

static void run_source(struct snapshot *snapshot, const struct snapshot_source *source,
		       const struct snapshot_request *request)
{
	struct why why = {};
	int r;

	snapshot->source = source;
	r = source->collect(snapshot, request, &why);
	if (r < 0)
		snapshot_gap(snapshot, NULL, "%s", why.text[0] ? why.text : strerror(-r));
	snapshot->source = NULL;
}

static void run_sources(struct snapshot *snapshot, const struct snapshot_request *request, enum snapshot_stage stage,
			bool per_netns)
{
	struct snapshot_memory *memory = snapshot->memory;

	for (size_t i = 0; i < memory->source_count; i++)
		if (memory->sources[i]->stage == stage && memory->sources[i]->per_netns == per_netns &&
		    source_wanted(snapshot, memory->sources[i]))
			run_source(snapshot, memory->sources[i], request);
}

static void begin_sources(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct snapshot_memory *memory = snapshot->memory;

	for (size_t i = 0; i < memory->source_count; i++) {
		if (!memory->sources[i]->begin || !source_wanted(snapshot, memory->sources[i]))
			continue;
		snapshot->source = memory->sources[i];
		memory->sources[i]->begin(snapshot, request);
		snapshot->source = NULL;
	}
}

/* One stage in all namespaces; a namespace that cannot be entered is a gap. */
static size_t run_stage(struct snapshot *snapshot, const struct snapshot_request *request,
			const struct netns_list *namespaces, enum snapshot_stage stage, struct why *why)
{
	size_t entered = 0;

	vec_each(&namespaces->items, netns) {
		struct netns_guard guard;
		struct why reason = {};

		if (netns->is_empty)
			continue;
		snapshot->netns = netns->inum;
		if (netns_enter(netns, &guard, &reason) < 0) {
			*why = reason;
			if (stage == STAGE_COUNTERS)
				snapshot_gap(snapshot, "everything in this namespace", "%s", reason.text);
			continue;
		}
		entered++;
		run_sources(snapshot, request, stage, true);
		netns_leave(&guard);
	}
	snapshot->netns = 0;
	run_sources(snapshot, request, stage, false);
	return entered;
}

static void list_namespaces(struct snapshot *snapshot, const struct netns_list *namespaces)
{
	char reason[160];

	vec_each(&namespaces->items, netns) {
		struct netns_record *record = snapshot_table_add(snapshot_table(snapshot, &netns_type));

		if (!record)
			break;
		record->netns = netns->inum;
		record->pid = netns->pid;
		record->container_of = netns->container_of;
		record->empty = netns->is_empty;
		memcpy(record->port, netns->port, sizeof(record->port));
		memcpy(record->name, netns->name, sizeof(record->name));
	}
	if (namespaces->hidden) {
		capability_refusal(CAP_BIT(CAP_SYS_PTRACE), reason, sizeof(reason));
		snapshot_gap(snapshot, "network namespaces of those processes",
			     "cannot read the namespaces of %llu process%s of other users (%s)",
			     (unsigned long long)namespaces->hidden, namespaces->hidden == 1 ? "" : "es", reason);
	}
	if (namespaces->left_out)
		snapshot_gap(snapshot, "the other containers", "%llu container%s beyond the limit of %zu",
			     (unsigned long long)namespaces->left_out, text_plural(namespaces->left_out),
			     namespaces->items.count - 1);
}

int snapshot_take(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_netns_ struct netns_list own = {};
	const struct netns_list *namespaces = request->namespaces;
	size_t entered = 0;
	int r;

	snapshot_clear(snapshot);
	if (!namespaces) {
		r = netns_find(NULL, &own, why);
		if (r < 0)
			return r;
		namespaces = &own;
	}
	snapshot->memory->settings.namespaces = namespaces->items.count;
	snapshot->begin_boot_ns = clock_ns(CLOCK_BOOTTIME);
	snapshot->begin_time_ns = clock_real_ns();
	list_namespaces(snapshot, namespaces);
	for (size_t i = 0; i < request->left_out_count; i++)
		snapshot_gap(snapshot, request->left_out[i].lost, "%s", request->left_out[i].why);
	choose_tables(snapshot, request);
	begin_sources(snapshot, request);
	for (enum snapshot_stage stage = 0; stage < STAGE_END; stage++) {
		entered = run_stage(snapshot, request, namespaces, stage, why);
		if (stage == 0 && entered == 0)
			return -EPERM;
	}
	snapshot->end_time_ns = clock_real_ns();
	snapshot->end_boot_ns = clock_ns(CLOCK_BOOTTIME);
	return 0;
}
