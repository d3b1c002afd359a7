/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/function_match.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "flow/trace/trace.h"

#define NOT_CLEAR UINT32_MAX /* ambiguous: several functions of this name with this caller */

struct copy {
	uint64_t offset;
	uint32_t fn;
};

struct matcher {
	const struct flow_trace *good;
	struct map places;  /* build ID and address -> good function */
	struct map names;   /* name and copy number -> good function */
	struct map callers; /* name and caller -> good function, or NOT_CLEAR */
	struct map shared;  /* name -> how many functions of one trace have it, at most */
	struct buf key;
};

static const struct flow_module *module_of(const struct flow_trace *trace, uint32_t fn)
{
	return &trace->modules[trace->functions[fn].module];
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *plain_key(struct matcher *m, const struct flow_trace *trace, uint32_t fn)
{
	buf_clear(&m->key);
	buf_add_format(&m->key, "%s!%s", module_of(trace, fn)->name, trace->functions[fn].name);
	return buf_text(&m->key);
}

static const char *name_key(struct matcher *m, const struct flow_trace *trace, uint32_t fn)
{
	const uint32_t *count = map_get(&m->shared, plain_key(m, trace, fn));

	/* A function alone with its name may have moved to another file, or become static. */
	if (count && *count > 1 && trace->functions[fn].file)
		buf_add_format(&m->key, " %s", file_name(trace->functions[fn].file));
	return buf_text(&m->key);
}

static void count_names(struct matcher *m, const struct flow_trace *trace)
{
	struct map counts = MAP_INIT(0, sizeof(uint32_t), 0);

	for (uint32_t i = 0; i < trace->function_count; i++) {
		uint32_t count = ++*(uint32_t *)map_put(&counts, plain_key(m, trace, i), NULL),
			 *most = map_put(&m->shared, plain_key(m, trace, i), NULL);

		*most = max_of(*most, count);
	}
	map_done(&counts);
}

static const char *copy_key(struct matcher *m, const struct flow_trace *trace, uint32_t fn, uint32_t number)
{
	(void)name_key(m, trace, fn);
	buf_add_format(&m->key, " %u", number);
	return buf_text(&m->key);
}

static const char *caller_key(struct matcher *m, const struct profile *profile, const struct profile_place *place)
{
	(void)name_key(m, profile->trace, place->fn);
	if (place->parent)
		buf_add_format(&m->key, " of %s",
			       profile->trace->functions[profile->places.items[place->parent].fn].name);
	return buf_text(&m->key);
}

/* NULL: build or address unknown. */
static const char *address_key(struct matcher *m, const struct flow_trace *trace, uint32_t fn)
{
	const struct flow_module *module = module_of(trace, fn);

	if (!module->build_id[0] || !trace->functions[fn].offset)
		return NULL;
	buf_clear(&m->key);
	buf_add_format(&m->key, "%s %llx", module->build_id, (unsigned long long)trace->functions[fn].offset);
	return buf_text(&m->key);
}

static int by_offset(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : (x->fn > y->fn) - (x->fn < y->fn);
}

/* Number of each function among those of the same name in its program. */
static uint32_t *number_copies(struct matcher *m, const struct flow_trace *trace)
{
	uint32_t *number = xzalloc((trace->function_count + 1) * sizeof(*number));
	struct map copies = MAP_INIT(0, sizeof(uint32_t), 0);
	VEC(struct copy) all = {};

	for (uint32_t i = 0; i < trace->function_count; i++)
		vec_push(&all, (struct copy){trace->functions[i].offset, i});
	vec_sort(&all, by_offset);
	vec_each(&all, copy)
		number[copy->fn] = (*(uint32_t *)map_put(&copies, name_key(m, trace, copy->fn), NULL))++;
	vec_done(&all);
	map_done(&copies);
	return number;
}

static void know_good(struct matcher *m, const struct profile *good)
{
	_cleanup_free_ uint32_t *number = number_copies(m, good->trace);

	for (uint32_t i = 0; i < good->trace->function_count; i++) {
		const char *key = address_key(m, good->trace, i);

		if (key)
			*(uint32_t *)map_put(&m->places, key, NULL) = i;
		*(uint32_t *)map_put(&m->names, copy_key(m, good->trace, i, number[i]), NULL) = i;
	}
	for (size_t i = 1; i < good->places.count; i++) {
		const struct profile_place *place = &good->places.items[i];
		bool is_new;
		uint32_t *fn = map_put(&m->callers, caller_key(m, good, place), &is_new);

		*fn = is_new || *fn == place->fn ? place->fn : NOT_CLEAR;
	}
}

/* The good trace may be of the same build and lack this function: then no other one of that name matches. */
static bool is_same_build(struct matcher *m, const struct flow_trace *bad, uint32_t fn)
{
	const char *id = module_of(bad, fn)->build_id;

	for (size_t i = 0; id[0] && i < m->good->module_count; i++)
		if (!strcmp(m->good->modules[i].build_id, id))
			return bad->functions[fn].offset;
	return false;
}

static void match_one(struct matcher *m, const struct flow_trace *bad, uint32_t fn, uint32_t number, uint32_t *of)
{
	const char *key = address_key(m, bad, fn);
	const uint32_t *found = key ? map_get(&m->places, key) : NULL;

	if (!found && !is_same_build(m, bad, fn))
		found = map_get(&m->names, copy_key(m, bad, fn, number));
	of[fn] = found ? *found : (uint32_t)(m->good->function_count + fn);
}

/* Copies of a function are matched by their callers: their numbering differs when a copy is added or removed. */
static void match_by_caller(struct matcher *m, const struct profile *bad, uint32_t *of)
{
	for (size_t i = 1; i < bad->places.count; i++) {
		const struct profile_place *place = &bad->places.items[i];
		const uint32_t *found;

		if (is_same_build(m, bad->trace, place->fn))
			continue;
		found = map_get(&m->callers, caller_key(m, bad, place));
		if (found && *found != NOT_CLEAR)
			of[place->fn] = *found;
	}
}

uint32_t *function_match_profiles(const struct profile *good, const struct profile *bad)
{
	uint32_t *of = xrealloc_array(NULL, bad->trace->function_count, sizeof(*of));
	_cleanup_free_ uint32_t *number = NULL;
	struct matcher m = {
		.good = good->trace,
		.places = MAP_INIT(0, sizeof(uint32_t), 0),
		.names = MAP_INIT(0, sizeof(uint32_t), 0),
		.callers = MAP_INIT(0, sizeof(uint32_t), 0),
		.key = BUF_INIT(16384),
		.shared = MAP_INIT(0, sizeof(uint32_t), 0),
	};

	count_names(&m, good->trace);
	count_names(&m, bad->trace);
	know_good(&m, good);
	number = number_copies(&m, bad->trace);
	for (uint32_t i = 0; i < bad->trace->function_count; i++)
		match_one(&m, bad->trace, i, number[i], of);
	match_by_caller(&m, bad, of);
	map_done(&m.places);
	map_done(&m.names);
	map_done(&m.callers);
	map_done(&m.shared);
	buf_done(&m.key);
	return of;
}
