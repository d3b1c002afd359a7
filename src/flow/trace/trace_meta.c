/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata of a trace: properties, modules, functions. Several numbers of one function are unified here. */
#include "flow/trace/demangle.h"
#include "flow/trace/trace_file.h"

/* Higher numbers are shown as unknown: a hostile number must not cost memory. */
#define FN_IDS_MAX     (1u << 22)
#define PROPERTIES_MAX 256
#define ENTRIES_MAX    ((size_t)4 << 20)

struct place {
	uint64_t module;
	uint64_t offset;
};

static char *keep_text(struct flow_trace_file *file, const void *text, size_t n)
{
	char *copy = xstrndup(text, n);

	vec_push(&file->copies, copy);
	return copy;
}

void trace_begin_functions(struct flow_trace_file *file)
{
	file->module_numbers = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), ENTRIES_MAX);
	file->module_names = MAP_INIT(0, sizeof(uint32_t), ENTRIES_MAX);
	file->fn_places = MAP_INIT(sizeof(struct place), sizeof(uint32_t), ENTRIES_MAX);
	file->fn_names = MAP_INIT(0, sizeof(uint32_t), ENTRIES_MAX);
	file->properties = MAP_INIT(0, sizeof(char *), PROPERTIES_MAX);
	vec_push(&file->modules, (struct flow_module){.path = "?", .name = "?", .build_id = ""});
	vec_push(&file->functions, (struct flow_function){.name = "?"});
}

static void take_property(struct flow_trace_file *file, const uint8_t *line, size_t n)
{
	const uint8_t *blank = memchr(line, ' ', n);
	char **value;
	char *key;
	bool new;

	if (!blank)
		return;
	key = keep_text(file, line, (size_t)(blank - line));
	value = map_put(&file->properties, key, &new);
	if (value && new)
		*value = keep_text(file, blank + 1, n - (size_t)(blank + 1 - line));
}

void trace_take_properties(struct flow_trace_file *file, const uint8_t *text, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(text, '\n', size);

		if (!end)
			return;
		take_property(file, text, (size_t)(end - text));
		size -= (size_t)(end + 1 - text);
		text = end + 1;
	}
}

const char *flow_trace_property(const struct flow_trace *trace, const char *key)
{
	char **value = map_get(&trace->file->properties, key);

	return value ? *value : NULL;
}

static char *hex_of(struct flow_trace_file *file, const uint8_t *bytes, size_t n)
{
	char *text = xmalloc(n * 2 + 1);

	for (size_t i = 0; i < n; i++)
		snprintf(text + i * 2, 3, "%02x", bytes[i]);
	text[n * 2] = '\0';
	vec_push(&file->copies, text);
	return text;
}

/* The fixed part of a record; the variable part follows. */
static bool take_fixed(const uint8_t **body, size_t *size, void *ret_fixed, size_t bytes)
{
	if (*size < bytes)
		return false;
	memcpy(ret_fixed, *body, bytes);
	*body += bytes;
	*size -= bytes;
	return true;
}

static void take_module(struct flow_trace_file *file, const uint8_t *body, size_t size)
{
	struct flow_module module = {};
	struct flow_meta_module fixed;
	_cleanup_free_ char *key = NULL;
	uint32_t *index, *numbered;
	const char *slash;
	bool new;

	if (!take_fixed(&body, &size, &fixed, sizeof(fixed)))
		return;
	if (fixed.build_id_bytes > min_of(size, (size_t)64) || fixed.path_bytes > size - fixed.build_id_bytes)
		return;
	module.id = fixed.module;
	module.build_id = hex_of(file, body, fixed.build_id_bytes);
	module.path = keep_text(file, body + fixed.build_id_bytes, fixed.path_bytes);
	slash = strrchr(module.path, '/');
	module.name = slash && slash[1] ? slash + 1 : module.path;
	module.bias = fixed.bias;
	module.begin = fixed.begin;
	module.end = fixed.end;
	key = xasprintf("%s %s", module.build_id, module.path);
	index = map_put(&file->module_names, key, &new);
	numbered = map_put(&file->module_numbers, &fixed.module, NULL);
	if (!index || !numbered)
		return;
	if (new) {
		*index = (uint32_t)file->modules.count;
		vec_push(&file->modules, module);
	}
	*numbered = *index;
}

/* Index of a function that may already exist under another number. */
static uint32_t *find_function(struct flow_trace_file *file, const struct flow_function *function, bool *ret_new)
{
	struct place place = {function->module, function->offset};

	if (function->module && function->offset)
		return map_put(&file->fn_places, &place, ret_new);
	return map_put(&file->fn_names, function->name, ret_new);
}

static const char *readable_name(struct flow_trace_file *file, const char *symbol)
{
	char *name = flow_demangle(symbol);

	if (!name)
		return symbol;
	vec_push(&file->copies, (void *)name);
	return name;
}

static void take_function(struct flow_trace_file *file, const uint8_t *body, size_t size)
{
	struct flow_function function = {};
	struct flow_meta_function fixed;
	uint32_t *index, *module;
	bool new;

	if (!take_fixed(&body, &size, &fixed, sizeof(fixed)))
		return;
	if ((size_t)fixed.name_bytes + fixed.file_bytes > size || !fixed.fn || fixed.fn >= FN_IDS_MAX)
		return;
	module = map_get(&file->module_numbers, &fixed.module);
	function.id = fixed.fn;
	function.module = module ? *module : 0;
	function.offset = fixed.offset;
	function.line = fixed.line;
	function.named = fixed.name_bytes > 0;
	if (fixed.name_bytes) {
		function.name = keep_text(file, body, fixed.name_bytes);
	} else {
		char *name = xasprintf("%s+0x%llx", file->modules.items[function.module].name,
				       (unsigned long long)fixed.offset);

		vec_push(&file->copies, name);
		function.name = name;
	}
	if (fixed.file_bytes)
		function.file = keep_text(file, body + fixed.name_bytes, fixed.file_bytes);
	/* By symbol: overloaded functions differ. */
	index = find_function(file, &function, &new);
	if (!index)
		return;
	function.name = readable_name(file, function.name);
	if (new) {
		*index = (uint32_t)file->functions.count;
		vec_push(&file->functions, function);
	} else if (function.named && !file->functions.items[*index].named) {
		/* A later record has the name: keep the index. */
		file->functions.items[*index] = function;
	}
	vec_push(&file->fn_numbers, (struct numbered){fixed.fn, *index});
}

static void take_thread(struct flow_trace_file *file, const uint8_t *body, size_t size)
{
	struct flow_meta_thread fixed;
	char *name;

	if (!take_fixed(&body, &size, &fixed, sizeof(fixed)))
		return;
	name = map_put(&file->thread_names, &fixed.thread, NULL);
	if (name)
		memcpy(name, fixed.name, sizeof(fixed.name));
}

void trace_take_meta(struct flow_trace_file *file, const uint8_t *data, size_t size)
{
	while (size >= sizeof(struct flow_meta)) {
		struct flow_meta meta;
		size_t padded;

		memcpy(&meta, data, sizeof(meta));
		data += sizeof(meta);
		size -= sizeof(meta);
		if (meta.bytes > size)
			return;
		if (meta.kind == FLOW_META_MODULE)
			take_module(file, data, meta.bytes);
		else if (meta.kind == FLOW_META_FUNCTION)
			take_function(file, data, meta.bytes);
		else if (meta.kind == FLOW_META_THREAD)
			take_thread(file, data, meta.bytes);
		padded = min_of(((size_t)meta.bytes + 7) & ~(size_t)7, size);
		data += padded;
		size -= padded;
	}
}

void trace_settle_functions(struct flow_trace_file *file)
{
	struct flow_trace *trace = &file->trace;
	uint32_t count = FLOW_SHORT_FN;

	vec_each(&file->fn_numbers, number)
		count = max_of(count, number->id + 1);
	file->fn_index = xzalloc(count * sizeof(*file->fn_index));
	vec_each(&file->fn_numbers, number)
		file->fn_index[number->id] = number->index;
	trace->fn_index = file->fn_index;
	trace->fn_index_count = count;
	trace->functions = file->functions.items;
	trace->function_count = file->functions.count;
	trace->modules = file->modules.items;
	trace->module_count = file->modules.count;
}

void trace_free_functions(struct flow_trace_file *file)
{
	map_done(&file->thread_names);
	map_done(&file->module_numbers);
	map_done(&file->module_names);
	map_done(&file->fn_places);
	map_done(&file->fn_names);
	map_done(&file->properties);
	vec_done(&file->functions);
	vec_done(&file->modules);
	vec_done(&file->fn_numbers);
	free(file->fn_index);
}
