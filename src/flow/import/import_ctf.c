/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CTF as written by LTTng: the calls recorded by its cyg-profile libraries, and the memory maps reported by its
 * processes, which provide the names. ctf_read.h reads it; this file turns its records into a trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "flow/import/ctf_torn.h"
#include "flow/import/import_map.h"
#include "flow/trace/elf_names.h"

#define THREADS_MAX   65536
#define FUNCTIONS_MAX ((size_t)1 << 20)
#define MODULES_MAX   65536
#define FILES_MAX     4096
/* A trace that needs more memory in the library was not recorded. */
#define READER_MEMORY_MAX ((rlim_t)4 << 30)

struct thread {
	struct import_thread base;
	VEC(uint64_t) open; /* addresses of open functions */
};

struct module {
	uint32_t pid;
	uint32_t id; /* in the trace; 0: not called yet */
	uint64_t begin, end;
	bool fixed;
	char *path;
	char build_id[129];
};

struct place {
	uint64_t pid;
	uint64_t address;
};

struct ctf {
	struct trace_writer *writer;
	struct import_maps maps;
	const char *program;
	struct map threads;         /* tid -> struct thread */
	struct map functions;       /* struct place -> number, until the function is identified */
	struct map files;           /* path -> struct elf_names * */
	VEC(struct module) modules; /* currently mapped */
	bool ended;
	bool damaged; /* invalid records */
	bool threadless;
	bool packets_lost;
	bool marked;  /* a loss is marked in a thread */
	uint64_t now; /* time of the current record */
	uint64_t events, unmatched, untimed;
	uint64_t early;   /* lost before the first thread */
	uint64_t changed; /* modules whose file has changed since */
	char failure[256];
	const struct ctf_torn *torn; /* omitted because of truncation; NULL: nothing */
};

/* --- functions ---------------------------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Functions of the file, read once; none if it is missing or not the traced one. */
static const struct elf_names *names_of(struct ctf *c, const struct module *module)
{
	const char *path = module->path;
	struct elf_names **known;
	struct why why;
	bool new;

	if (c->program && strcmp(last_part(c->program), last_part(path)) == 0)
		path = c->program;
	known = map_put(&c->files, path, &new);
	if (!known)
		return NULL;
	if (new) {
		*known = xzalloc(sizeof(**known));
		if (elf_names_read(path, *known, &why) < 0)
			return *known; /* without names */
	}
	return *known;
}

static void module_begin(struct ctf *c, struct module *module)
{
	const struct elf_names *names = names_of(c, module);

	module->id = trace_writer_module(c->writer, &(struct flow_module){
							    .path = module->path,
							    .build_id = module->build_id,
							    .bias = module->fixed ? 0 : module->begin,
							    .begin = module->begin,
							    .end = module->end,
						    });
	if (names && names->items.count && module->build_id[0] && strcmp(names->build_id, module->build_id) != 0)
		c->changed++;
}

static struct module *module_at(struct ctf *c, const struct place *place)
{
	vec_each(&c->modules, module)
		if (module->pid == place->pid && place->address >= module->begin && place->address < module->end)
			return module;
	return NULL;
}

static void settle_function(struct ctf *c, const struct place *place, uint32_t fn)
{
	struct module *module = module_at(c, place);
	const struct elf_names *names;
	const struct elf_name *name = NULL;
	uint64_t offset;

	if (!module) {
		trace_writer_function_is(c->writer, fn, 0, place->address, NULL, NULL);
		return;
	}
	if (!module->id)
		module_begin(c, module);
	offset = module->fixed ? place->address : place->address - module->begin;
	names = names_of(c, module);
	if (names && (!module->build_id[0] || strcmp(names->build_id, module->build_id) == 0))
		name = elf_names_find(names, offset);
	trace_writer_function_is(c->writer, fn, module->id, offset, name ? name->name : NULL, name ? name->file : NULL);
}

/* Names the functions called in a module: another file may take its address range. */
static void settle_functions(struct ctf *c, const struct module *only, const uint32_t *only_pid)
{
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&c->functions, &at, &key, &value)) {
		struct place place = *(const struct place *)key;

		if (only_pid && place.pid != *only_pid)
			continue;
		if (only && (place.address < only->begin || place.address >= only->end))
			continue;
		settle_function(c, &place, *(uint32_t *)value);
		map_remove(&c->functions, &place);
	}
}

/* A function is numbered at its first call and identified later. 0: too many. */
static uint32_t function_at(struct ctf *c, uint32_t pid, uint64_t address)
{
	struct place place = {pid, address};
	bool new;
	uint32_t *fn = map_put(&c->functions, &place, &new);

	if (fn && new)
		*fn = trace_writer_function_number(c->writer);
	return fn ? *fn : 0;
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static void remove_module(struct ctf *c, size_t index)
{
	struct module *module = &c->modules.items[index];

	settle_functions(c, module, &module->pid);
	free(module->path);
	*module = c->modules.items[--c->modules.count];
}

/* A new memory map is a new program, unless it is the first one of the process. */
static void take_program(struct ctf *c, const struct ctf_record *record)
{
	for (size_t i = 0; i < c->modules.count;)
		if (c->modules.items[i].pid == record->pid)
			remove_module(c, i);
		else
			i++;
}

static void take_unload(struct ctf *c, const struct ctf_record *record)
{
	for (size_t i = 0; i < c->modules.count; i++)
		if (c->modules.items[i].pid == record->pid && c->modules.items[i].begin == record->address) {
			remove_module(c, i);
			return;
		}
}

static void take_module(struct ctf *c, const struct ctf_record *record, const char *path)
{
	struct module module = {
		.pid = record->pid,
		.begin = record->address,
		.end = record->address + record->bytes,
		.fixed = record->flags & CTF_FIXED,
	};

	if (!record->bytes || module.end < module.begin || path[0] != '/')
		return;
	vec_each(&c->modules, old)
		if (old->pid == module.pid && old->begin == module.begin && strcmp(old->path, path) == 0)
			return; /* duplicate */
	take_unload(c, record);
	if (c->modules.count >= MODULES_MAX)
		return;
	module.path = xstrdup(path);
	vec_push(&c->modules, module);
}

static void take_build_id(struct ctf *c, const struct ctf_record *record, const char *text)
{
	vec_each(&c->modules, module)
		if (module->pid == record->pid && module->begin == record->address && !module->id &&
		    strlen(text) < sizeof(module->build_id) && strspn(text, "0123456789abcdef") == strlen(text))
			memcpy(module->build_id, text, strlen(text) + 1);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static struct thread *thread_of(struct ctf *c, const struct ctf_record *record, const char *name)
{
	bool new;
	struct thread *thread = map_put(&c->threads, &record->tid, &new);

	if (thread && new)
		thread->base.thread = trace_writer_thread(c->writer, record->pid, record->tid, name);
	return thread;
}

static void take_call(struct ctf *c, const struct ctf_record *record)
{
	struct thread *thread = thread_of(c, record, NULL);
	uint32_t fn = thread ? function_at(c, record->pid, record->address) : 0;

	if (!fn)
		return;
	if (c->early)
		trace_writer_lost(c->writer, thread->base.thread, record->ns, c->early);
	c->early = 0;
	import_call(&c->maps, &thread->base, record->ns, fn);
	vec_push(&thread->open, record->address);
}

/* If the return names its function, calls above it on the stack ended without returning. */
static void take_return(struct ctf *c, const struct ctf_record *record)
{
	struct thread *thread = thread_of(c, record, NULL);
	size_t depth = thread ? thread->open.count : 0;

	while (depth && record->address && thread->open.items[depth - 1] != record->address)
		depth--;
	if (!depth) {
		c->unmatched++;
		return;
	}
	if (depth < thread->open.count) {
		uint32_t gone = (uint32_t)(thread->open.count - depth);

		trace_writer_unwind(c->writer, thread->base.thread, max_of(thread->base.last, record->ns), gone);
		thread->base.depth -= gone;
	}
	thread->open.count = depth - 1;
	(void)import_return(&c->maps, &thread->base, record->ns);
}

/* It is unknown which threads lost events: mark all of them, with the count in the first. */
static void take_lost(struct ctf *c, uint64_t count)
{
	const void *key;
	size_t at = 0;
	void *value;

	c->packets_lost |= !count;
	c->early += c->threads.count ? 0 : count;
	while (map_next(&c->threads, &at, &key, &value)) {
		struct thread *thread = value;

		thread->base.last = max_of(thread->base.last, c->now);
		trace_writer_lost(c->writer, thread->base.thread, thread->base.last, count);
		c->marked = true;
		thread->base.depth = 0;
		thread->open.count = 0;
		count = 0;
	}
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static void take_failure(struct ctf *c, const char *text)
{
	snprintf(c->failure, sizeof(c->failure), "%.*s", (int)sizeof(c->failure) - 1, text);
	for (char *at = c->failure; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at == 127)
			*at = ' ';
}

static void take_record(struct ctf *c, const struct ctf_record *record, const char *text)
{
	c->now = max_of(c->now, record->ns);
	switch (record->kind) {
	case CTF_CALL:
	case CTF_RETURN:
		c->events++;
		c->threadless |= record->flags & CTF_NO_THREAD;
		(record->kind == CTF_CALL ? take_call : take_return)(c, record);
		break;
	case CTF_NAME:
		(void)thread_of(c, record, text);
		break;
	case CTF_PROGRAM:
		take_program(c, record);
		break;
	case CTF_MODULE:
		take_module(c, record, text);
		break;
	case CTF_BUILD_ID:
		take_build_id(c, record, text);
		break;
	case CTF_UNLOAD:
		take_unload(c, record);
		break;
	case CTF_LOST:
		take_lost(c, record->bytes);
		break;
	case CTF_UNTIMED:
		c->untimed = record->bytes;
		break;
	case CTF_FAILED:
		take_failure(c, text);
		c->ended = true;
		break;
	case CTF_END:
		c->ended = true;
		break;
	default:
		c->damaged = true;
	}
}

/* Takes complete records; returns the bytes consumed. */
static size_t take_records(struct ctf *c, const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct ctf_record) && !c->damaged) {
		char text[CTF_TEXT_MAX + 1];
		struct ctf_record record;

		memcpy(&record, data + at, sizeof(record));
		if (record.text_bytes > CTF_TEXT_MAX)
			c->damaged = true;
		if (c->damaged || record.text_bytes > size - at - sizeof(record))
			break;
		memcpy(text, data + at + sizeof(record), record.text_bytes);
		text[record.text_bytes] = '\0';
		take_record(c, &record, text);
		at += sizeof(record) + record.text_bytes;
	}
	return at;
}

static void note_torn(const struct ctf *c, struct import_result *result)
{
	const struct ctf_torn_file *file = c->torn->files.items;
	size_t others = c->torn->files.count - 1;

	import_note(result, "%.60s is truncated (last %llu of %llu bytes are an incomplete packet): marked as lost",
		    file->name, (unsigned long long)(file->size - file->whole), (unsigned long long)file->size);
	if (others)
		import_note(result, "further truncated files: %zu", others);
}

static void add_notes(const struct ctf *c, struct import_result *result)
{
	result->note[0] = '\0'; /* discard the notes of the first attempt */
	if (c->torn)
		note_torn(c, result);
	if (c->failure[0])
		import_note(result, "the rest could not be read: %s", c->failure);
	if (c->threadless)
		import_note(result, "calls carry no thread ID (lttng add-context -u -t vtid -t vpid): all calls of "
				    "a process are assigned to one thread");
	if (c->changed)
		import_note(result, "files changed since the trace, functions without names: %llu",
			    (unsigned long long)c->changed);
	if (c->packets_lost)
		import_note(result, "entire packets were lost, number of events unknown");
	if (c->unmatched)
		import_note(result, "returns without calls omitted: %llu", (unsigned long long)c->unmatched);
	if (c->untimed)
		import_note(result, "events without time omitted: %llu", (unsigned long long)c->untimed);
}

static void begin(struct ctf *c, struct trace_writer *writer, const struct import_result *result)
{
	*c = (struct ctf){
		.writer = writer,
		.maps = {.writer = writer},
		.program = result->program,
		.threads = MAP_INIT(sizeof(uint32_t), sizeof(struct thread), THREADS_MAX),
		.functions = MAP_INIT(sizeof(struct place), sizeof(uint32_t), FUNCTIONS_MAX),
		.files = MAP_INIT(0, sizeof(struct elf_names *), FILES_MAX),
	};
}

/* A partial result is accepted, an empty one is not. */
static int end(struct ctf *c, struct import_result *result, struct why *why)
{
	const void *key;
	size_t at = 0;
	void *value;
	int r = 0;

	if (!c->ended || c->damaged)
		take_failure(c, "libbabeltrace2 crashed");
	/* The time of a file that cannot be read at all is unknown. */
	if (c->failure[0] || (c->torn && !c->marked))
		take_lost(c, 0);
	c->packets_lost &= !c->failure[0] && !c->torn;
	settle_functions(c, NULL, NULL);
	if (!c->events)
		r = why_set(why, -EBADMSG, "%s",
			    c->failure[0]
				    ? c->failure
				    : "no function calls (events lttng_ust_cyg_profile:func_entry, ..:func_exit)");
	add_notes(c, result);
	while (map_next(&c->files, &at, &key, &value)) {
		elf_names_done(*(struct elf_names **)value);
		free(*(struct elf_names **)value);
	}
	at = 0;
	while (map_next(&c->threads, &at, &key, &value))
		vec_done(&((struct thread *)value)->open);
	vec_each(&c->modules, module)
		free(module->path);
	vec_done(&c->modules);
	map_done(&c->files);
	map_done(&c->threads);
	map_done(&c->functions);
	return r;
}

int import_ctf_records(const uint8_t *data, size_t size, struct trace_writer *writer, struct import_result *result,
		       struct why *why)
{
	struct ctf c;

	begin(&c, writer, result);
	(void)take_records(&c, data, size);
	return end(&c, result, why);
}

/* --- the reading process ------------------------------------------------------------------------------------------ */

static void _noreturn_ read_apart(const struct ctf_directories *directories, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){});
#ifndef __SANITIZE_ADDRESS__ /* reserves far more than that */
	(void)setrlimit(RLIMIT_AS, &(struct rlimit){READER_MEMORY_MAX, READER_MEMORY_MAX});
#endif
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
	}
	ctf_read(directories, fd);
	_exit(0);
}

static void take_all(struct ctf *c, int fd)
{
	size_t used = 0, room = 1 << 18;
	_cleanup_free_ uint8_t *buffer = xmalloc(room);

	while (!c->damaged) {
		ssize_t n = read(fd, buffer + used, room - used);
		size_t taken;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		used += (size_t)n;
		taken = take_records(c, buffer, used);
		used -= taken;
		memmove(buffer, buffer + taken, used);
	}
}

static int read_directories(const struct ctf_directories *directories, struct ctf *c, struct why *why)
{
	int fds[2], status;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return why_set(why, -errno, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(fds[0]);
		read_apart(directories, fds[1]);
	}
	close(fds[1]);
	if (child > 0)
		take_all(c, fds[0]);
	close(fds[0]);
	if (child < 0)
		return why_set(why, -errno, "cannot start a process: %s", strerror(errno));
	/* It may still be running after it sent an invalid record. */
	(void)kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int read_once(const struct ctf_directories *directories, const struct ctf_torn *torn,
		     struct trace_writer *writer, struct import_result *result, struct why *why)
{
	struct why second = {}; /* the first failure is reported */
	struct ctf c;
	int r, ended;

	begin(&c, writer, result);
	c.torn = torn;
	r = read_directories(directories, &c, why);
	ended = end(&c, result, r < 0 ? &second : why);
	return r < 0 ? r : ended;
}

/* The library may reject a trace because it is truncated. Reports the first failure unless the repair helps. */
static int read_again(struct ctf_directories *directories, struct trace_writer *writer, struct import_result *result,
		      struct why *why)
{
	_cleanup_ctf_torn_ struct ctf_torn torn = {};
	int r;

	if (!result->scratch)
		return -EBADMSG;
	r = ctf_torn_mend(result->scratch, directories, &torn, why);
	if (r < 0)
		return r;
	return torn.files.count ? read_once(directories, &torn, writer, result, &(struct why){}) : -EBADMSG;
}

static int read_trace(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	_cleanup_ctf_directories_ struct ctf_directories directories = {};
	struct why what = {};
	int r;

	ctf_directories_find(path, &directories);
	if (!directories.items.count)
		return why_set(why, -EBADMSG, "%s: no file 'metadata' at or below it", path);
	vec_each(&directories.items, directory) {
		r = ctf_check_metadata(*directory, &what);
		if (r < 0)
			return why_set(why, r, "%.200s: %.200s", *directory, what.text);
	}
	r = read_once(&directories, NULL, writer, result, &what);
	if (r == -EBADMSG)
		r = read_again(&directories, writer, result, &what);
	return r < 0 ? why_set(why, r, "%s: %s", path, what.text) : 0;
}

static int recognise(const char *path, const char *head, size_t n)
{
	_cleanup_ctf_directories_ struct ctf_directories directories = {};

	(void)head;
	(void)n;
	ctf_directories_find(path, &directories);
	return directories.items.count ? 90 : 0;
}

static const struct importer ctf_importer = {
	.name = "ctf",
	.summary = "LTTng function events (CTF)",
	.recognise = recognise,
	.read = read_trace,
};
IMPORTER(ctf_importer);
