/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_debug.h"

#include <errno.h>
#include <string.h>

#include "oops/debug_variable.h"
#include "oops/libdw.h"

struct function {
	const char *name; /* of libdw */
	uint64_t address;
	uint64_t size;
};

struct debug_file {
	char *module; /* NULL: the kernel */
	Dwfl_Module *dwfl;
	VEC(struct function) functions; /* by name */
};

struct oops_debug {
	Dwfl *dwfl;
	VEC(struct debug_file) files;
};

/* Only the files that are given: nothing is searched for, nothing is fetched. */
static int find_nothing(Dwfl_Module *module _unused_, void **data _unused_, const char *name _unused_,
			Dwarf_Addr base _unused_, const char *file _unused_, const char *link _unused_,
			GElf_Word crc _unused_, char **ret_file _unused_)
{
	return -1;
}

int oops_debug_open(struct oops_debug **ret_debug, struct why *why)
{
	static Dwfl_Callbacks callbacks = {.find_debuginfo = find_nothing};
	struct oops_debug *debug;
	int r = libdw_load(why);

	if (r < 0)
		return r;
	callbacks.section_address = libdw.dwfl_offline_section_address;
	debug = xzalloc(sizeof(*debug));
	debug->dwfl = libdw.dwfl_begin(&callbacks);
	if (!debug->dwfl) {
		free(debug);
		return why_set(why, -ENOMEM, "libdw: %s", libdw.dwfl_errmsg(-1));
	}
	*ret_debug = debug;
	return 0;
}

void oops_debug_close(struct oops_debug *debug)
{
	if (!debug)
		return;
	vec_each(&debug->files, file) {
		free(file->module);
		vec_done(&file->functions);
	}
	vec_done(&debug->files);
	libdw.dwfl_end(debug->dwfl);
	free(debug);
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return strcmp(left->name, right->name);
}

/* "nf-tables.ko.debug" is the module nf_tables; vmlinux is none. */
static char *module_name(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *end = strstr(name, ".ko");
	char *module = end ? xstrndup(name, (size_t)(end - name)) : NULL;

	for (char *c = module; c && *c; c++)
		if (*c == '-')
			*c = '_';
	return module;
}

int oops_debug_add(struct oops_debug *debug, const char *path, struct why *why)
{
	struct debug_file *file;
	Dwfl_Module *module;
	Dwarf_Addr bias;
	int count;

	module = libdw.dwfl_report_offline(debug->dwfl, path, path, -1);
	if (!module)
		return why_set(why, -EINVAL, "%s", libdw.dwfl_errmsg(-1));
	if (!libdw.dwfl_module_getdwarf(module, &bias))
		return why_set(why, -EINVAL, "no debug information in it: %s", libdw.dwfl_errmsg(-1));
	count = libdw.dwfl_module_getsymtab(module);
	if (count < 0)
		return why_set(why, -EINVAL, "no symbols in it: %s", libdw.dwfl_errmsg(-1));
	file = vec_add(&debug->files);
	file->module = module_name(path);
	file->dwfl = module;
	for (int i = 0; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		const char *name = libdw.dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL, NULL);

		if (name && name[0] && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			vec_push(&file->functions, (struct function){name, address, sym.st_size});
	}
	vec_sort(&file->functions, compare_functions);
	return 0;
}

/* The symbol that the log means: its size there counts the padding up to the next symbol, up to a page in modules. */
struct wanted {
	const char *name;
	const char *module;
	uint32_t offset, size;
};

#define PADDING_MAX 64

static bool fits(const struct function *function, const struct wanted *wanted, bool exactly)
{
	return wanted->size == UINT32_MAX || (wanted->offset <= function->size && function->size <= wanted->size &&
					      (!exactly || wanted->size - function->size <= PADDING_MAX));
}

static const struct function *find_fitting(const struct function *first, const struct function *end,
					   const struct wanted *wanted, bool exactly)
{
	const struct function *one = NULL;

	for (const struct function *at = first; at < end && strcmp(at->name, wanted->name) == 0; at++) {
		if (!fits(at, wanted, exactly))
			continue;
		if (one && one->address != at->address)
			return NULL;
		one = at;
	}
	return one;
}

/* The function of that name and size; ambiguous ones are unknown. */
static const struct function *find_function(const struct debug_file *file, const struct wanted *wanted, bool *ret_named)
{
	const struct function key = {.name = wanted->name}, *first, *one;
	const struct function *end = file->functions.items + file->functions.count;

	first = file->functions.count
			? bsearch(&key, file->functions.items, file->functions.count, sizeof(key), compare_functions)
			: NULL;
	*ret_named = first;
	if (!first)
		return NULL;
	while (first > file->functions.items && strcmp(first[-1].name, wanted->name) == 0)
		first--;
	one = find_fitting(first, end, wanted, true);
	return one ? one : find_fitting(first, end, wanted, false);
}

static const struct debug_file *find_file(const struct oops_debug *debug, const char *module)
{
	vec_each(&debug->files, file)
		if (module ? file->module && strcmp(file->module, module) == 0 : !file->module)
			return file;
	return NULL;
}

struct place {
	const struct debug_file *file;
	uint64_t entry;
};

/* 0, -ENOENT: no file has it, -ESTALE: a file has another one of that name. */
static int find_place(const struct oops_debug *debug, const struct wanted *wanted, struct place *ret_place)
{
	const struct debug_file *file = find_file(debug, wanted->module);
	const struct function *function;
	bool named;

	if (!file)
		return -ENOENT;
	function = find_function(file, wanted, &named);
	if (!function)
		return named ? -ESTALE : -ENOENT;
	*ret_place = (struct place){file, function->address};
	return 0;
}

/* As the compiler was called; the path of the build directory in front of it says nothing. */
static const char *short_source(const char *path)
{
	static const char *const roots[] = {"/arch/", "/block/",    "/crypto/",   "/drivers/", "/fs/",  "/include/",
					    "/init/", "/io_uring/", "/ipc/",      "/kernel/",  "/lib/", "/mm/",
					    "/net/",  "/rust/",     "/security/", "/sound/",   "/virt/"};
	const char *best = NULL;

	if (path[0] != '/') {
		while (strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0)
			path = strchr(path, '/') + 1;
		return path;
	}
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		const char *at = strstr(path, roots[i]);

		if (at && (!best || at < best))
			best = at;
	}
	return best ? best + 1 : path;
}

static const char *without_build_directory(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attribute;
	const char *directory = libdw.dwarf_attr_integrate(unit, DW_AT_comp_dir, &attribute)
					? libdw.dwarf_formstring(&attribute)
					: NULL;
	size_t len = directory ? strlen(directory) : 0;

	return len && strncmp(path, directory, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

static void set_source(struct oops *oops, const struct place *place, uint64_t offset, const char **file, uint32_t *line)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = debug_unit_find(place->file->dwfl, place->entry + offset, &bias);
	Dwarf_Line *found = unit ? libdw.dwarf_getsrc_die(unit, place->entry + offset - bias) : NULL;
	const char *path = found ? libdw.dwarf_linesrc(found, NULL, NULL) : NULL;
	int number = 0;

	if (!path || libdw.dwarf_lineno(found, &number) != 0 || number <= 0)
		return;
	path = short_source(without_build_directory(unit, path));
	*file = oops_keep(oops, path, strlen(path));
	*line = (uint32_t)number;
}

/* The instruction before a return address made the call. */
static uint64_t call_of(uint32_t offset)
{
	return offset ? offset - 1 : 0;
}

static uint32_t apply_frames(const struct oops_debug *debug, struct oops *oops)
{
	uint32_t stale = 0;

	for (size_t i = 0; i < oops->frames.count; i++) {
		struct oops_frame *frame = &oops->frames.items[i];
		struct place place;
		/* arm64 begins the trace with the fault itself. */
		bool is_fault = i == 0 && oops->report.function && frame->offset == oops->report.offset &&
				strcmp(frame->function, oops->report.function) == 0 && !oops->is_return;
		int r;

		if (frame->offset == UINT32_MAX)
			continue;
		r = find_place(debug, &(struct wanted){frame->function, frame->module, frame->offset, frame->size},
			       &place);
		stale += r == -ESTALE && frame->reliable;
		if (r == 0)
			set_source(oops, &place, is_fault ? frame->offset : call_of(frame->offset), &frame->file,
				   &frame->line);
	}
	return stale;
}

static uint32_t apply_report(const struct oops_debug *debug, struct oops *oops)
{
	struct oops_report *report = &oops->report;
	struct place place;
	int r;

	if (!report->function || report->offset == UINT32_MAX)
		return 0;
	r = find_place(debug, &(struct wanted){report->function, report->module, report->offset, report->size}, &place);
	if (r < 0)
		return r == -ESTALE;
	/* A warning names its line itself, that of the macro's use. */
	if (!report->file)
		set_source(oops, &place, oops->is_return ? call_of(report->offset) : report->offset, &report->file,
			   &report->line);
	if (!oops->is_return)
		debug_variable_name(oops, place.file->dwfl, place.entry);
	return 0;
}

uint32_t oops_debug_apply(struct oops_debug *debug, struct oops_list *list)
{
	uint32_t stale = 0;

	vec_each(&list->items, item) {
		stale += apply_report(debug, *item);
		stale += apply_frames(debug, *item);
	}
	return stale;
}
