/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A uftrace record directory: TID.dat holds 16-byte records, sid-*.map the module mappings, MODULE.sym their symbols,
 * task.txt the process of each thread. Records with arguments are not supported: their length depends on the recording
 * options.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/parse.h"
#include "base/vec.h"
#include "flow/import/import_map.h"

#define TEXT_MAX ((size_t)64 << 20)
#define MAGIC    5u

struct symbol {
	uint64_t address;
	char *name;
};

struct module {
	uint64_t begin, end;
	uint32_t id; /* in the trace */
	VEC(struct symbol) symbols;
};

struct uftrace {
	const char *dir;
	struct import_maps maps;
	VEC(struct module) modules;
	uint64_t unmatched; /* returns */
	uint64_t unread;    /* bytes */
};

static bool hex_of(const char *text, size_t n, uint64_t *ret_value)
{
	char number[24] = "0x";

	if (!n || n > 16)
		return false;
	memcpy(number + 2, text, n);
	number[2 + n] = '\0';
	return parse_u64(number, 0, UINT64_MAX, ret_value) == 0;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

/* "0000000000001250 t leaf_add" */
static void read_symbols(struct uftrace *u, struct module *module, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *file = xasprintf("%s/%s.sym", u->dir, slash ? slash + 1 : path);
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	char *line, *rest;

	if (buf_read_file(&text, file) < 0 || !text.len)
		return;
	for (line = text.data; line; line = rest) {
		size_t n = strcspn(line, " \n");
		uint64_t address;

		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (line[0] != '#' && hex_of(line, n, &address) && line[n] == ' ' && line[n + 1] &&
		    line[n + 2] == ' ' && line[n + 1] != '?')
			vec_push(&module->symbols, (struct symbol){address, xstrdup(line + n + 3)});
	}
	vec_sort(&module->symbols, by_address);
}

/* "begin-end perms offset dev inode path [build-id:hex]": the first mapping of a path is its start. */
static void read_map_line(struct uftrace *u, char *line)
{
	char *dash = strchr(line, '-'), *path = strchr(line, '/'), *id;
	struct module module = {};

	if (!dash || !path || !hex_of(line, (size_t)(dash - line), &module.begin) ||
	    !hex_of(dash + 1, strcspn(dash + 1, " "), &module.end))
		return;
	id = strstr(path, " build-id:");
	if (id) {
		*id = '\0';
		id += 10;
	}
	module.id = trace_writer_module(
		u->maps.writer, &(struct flow_module){
					.path = path,
					.build_id = id && strspn(id, "0123456789abcdef") == strlen(id) ? id : NULL,
					.bias = module.begin,
					.begin = module.begin,
					.end = module.end,
				});
	read_symbols(u, &module, path);
	vec_push(&u->modules, module);
}

static void read_map(struct uftrace *u, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", u->dir, name);
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	char *line, *rest;

	if (buf_read_file(&text, path) < 0 || !text.len)
		return;
	for (line = text.data; line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		read_map_line(u, line);
	}
}

static const char *symbol_name(const struct module *module, uint64_t offset)
{
	size_t low = bisect(module->symbols.items, module->symbols.count, address, offset);

	return low ? module->symbols.items[low - 1].name : NULL;
}

static uint32_t function_of(struct uftrace *u, uint64_t address)
{
	bool new;
	uint32_t *fn = map_put(&u->maps.addresses, &address, &new);

	if (!fn || !new)
		return fn ? *fn : 0;
	*fn = 0;
	vec_each(&u->modules, module)
		if (address >= module->begin && address < module->end) {
			uint64_t offset = address - module->begin;

			*fn = trace_writer_function(u->maps.writer, module->id, offset, symbol_name(module, offset));
			return *fn;
		}
	*fn = trace_writer_function(u->maps.writer, 0, address, NULL);
	return *fn;
}

static void take_record(struct uftrace *u, struct import_thread *thread, uint64_t time, uint64_t data)
{
	switch (data & 3) {
	case 0:
		import_call(&u->maps, thread, time, function_of(u, data >> 16));
		break;
	case 1:
		if (!import_return(&u->maps, thread, time))
			u->unmatched++;
		break;
	case 2:
		thread->depth = 0;
		trace_writer_lost(u->maps.writer, thread->thread, max_of(time, thread->last), data >> 16);
		break;
	default:
		break; /* uftrace's own events */
	}
}

static int read_data(struct uftrace *u, const char *name, uint32_t pid, uint32_t tid, struct why *why)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", u->dir, name);
	_cleanup_import_file_ struct import_file file = {};
	struct import_thread *thread;
	struct stat st;
	size_t at = 0;
	int r;

	if (stat(path, &st) == 0 && !st.st_size)
		return 0;
	r = import_file_open(path, &file, why);
	if (r < 0)
		return r;
	thread = import_thread(&u->maps, pid, tid, NULL);
	for (; thread && file.size - at >= 16; at += 16) {
		uint64_t words[2];

		memcpy(words, file.data + at, sizeof(words));
		if ((words[1] >> 3 & 7) != MAGIC || words[1] & 4)
			break;
		take_record(u, thread, words[0], words[1]);
	}
	if (thread && at < file.size) {
		u->unread += file.size - at;
		trace_writer_lost(u->maps.writer, thread->thread, thread->last, 0);
	}
	return 0;
}

/* "TASK timestamp=.. tid=1 pid=1" */
static uint32_t process_of(const struct buf *tasks, uint32_t tid)
{
	char key[32];
	const char *found;
	uint64_t pid;
	char digits[12];
	size_t n;

	snprintf(key, sizeof(key), " tid=%u pid=", tid);
	found = strstr(buf_text(tasks), key);
	if (!found)
		return tid;
	found += strlen(key);
	n = strspn(found, "0123456789");
	if (!n || n >= sizeof(digits))
		return tid;
	memcpy(digits, found, n);
	digits[n] = '\0';
	return parse_decimal(digits, 1, UINT32_MAX, &pid) < 0 ? tid : (uint32_t)pid;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

static int read_all(struct uftrace *u, struct why *why)
{
	_cleanup_free_ char *tasks_path = xasprintf("%s/task.txt", u->dir);
	_cleanup_buf_ struct buf tasks = BUF_INIT(TEXT_MAX);
	struct dirent **names;
	int count = scandir(u->dir, &names, NULL, alphasort), r = 0;

	if (count < 0)
		return why_set(why, -errno, "%s: %s", u->dir, strerror(errno));
	if (buf_read_file(&tasks, tasks_path) < 0)
		r = why_set(why, -EBADMSG, "%s: no task.txt", u->dir);
	for (int i = 0; i < count; i++)
		if (has_suffix(names[i]->d_name, ".map"))
			read_map(u, names[i]->d_name);
	for (int i = 0; i < count; i++) {
		char *dot = strrchr(names[i]->d_name, '.');
		uint64_t tid;

		if (r == 0 && dot && strcmp(dot, ".dat") == 0) {
			_cleanup_free_ char *digits = xstrndup(names[i]->d_name, (size_t)(dot - names[i]->d_name));

			if (parse_decimal(digits, 1, UINT32_MAX, &tid) == 0)
				r = read_data(u, names[i]->d_name, process_of(&tasks, (uint32_t)tid), (uint32_t)tid,
					      why);
		}
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return r;
}

static void add_notes(const struct uftrace *u, struct import_result *result)
{
	if (u->unread)
		import_note(result, "bytes with arguments or invalid records omitted: %llu",
			    (unsigned long long)u->unread);
	if (u->unmatched)
		import_note(result, "returns of calls before the trace omitted: %llu",
			    (unsigned long long)u->unmatched);
}

static int read_dir(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	struct uftrace u = {.dir = path};
	int r;

	import_maps_init(&u.maps, writer);
	r = read_all(&u, why);
	add_notes(&u, result);
	vec_each(&u.modules, module) {
		vec_each(&module->symbols, symbol)
			free(symbol->name);
		vec_done(&module->symbols);
	}
	vec_done(&u.modules);
	import_maps_done(&u.maps);
	return r;
}

static int recognise(const char *path, const char *head, size_t n)
{
	_cleanup_free_ char *tasks = xasprintf("%s/task.txt", path);

	(void)head;
	(void)n;
	return access(tasks, R_OK) == 0 ? 100 : 0;
}

static const struct importer uftrace_importer = {
	.name = "uftrace",
	.summary = "uftrace record directory",
	.recognise = recognise,
	.read = read_dir,
};
IMPORTER(uftrace_importer);
