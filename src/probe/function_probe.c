/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/function_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/text.h"
#include "base/vec.h"
#include "flow/trace/elf_names.h"
#include "flow/trace/trace_writer.h"
#include "probe/function_probe_sockets.h"
#include "probe/probe_text.h"

#define TRACEFS       "/sys/kernel/tracing"
#define FUNCTIONS_MAX 1000
#define DEPTH_MAX     512

struct target {
	char *name;
	char *file; /* source file; NULL: unknown */
	char *path;
	char *build_id;
	uint64_t value;  /* file address */
	uint64_t offset; /* file offset */
	bool quick;      /* the kernel emulates its first instruction: no single step */
	uint32_t fn;     /* function number in the trace */
};

struct thread {
	uint32_t number; /* thread number in the trace */
	uint32_t depth;
	uint32_t open[DEPTH_MAX]; /* probes */
};

struct function_probe {
	struct probe_options options;
	struct trace_writer *writer;
	struct map threads; /* tid -> struct thread * */
	uint64_t lost;
	bool cycles; /* the trace clock counts cycles */
	char group[32];
	char *instance;
	struct probe_sockets sockets;
	bool has_sockets;
	VEC(struct target) targets;
	int fd;          /* trace_pipe */
	struct buf text; /* read, incomplete last line */
	char *alive;     /* a path that exists while the process does */
};

/* --- selecting functions --- */

/* A file of the process: its program, or a library. */
struct module_file {
	const char *path, *base;
	bool is_program;
};

/* A probe is in the file: those of the C library and the loader would be in every process of the host. */
static bool is_everywhere(const char *base)
{
	static const char *const patterns[] = {"libc.so*", "libc-*", "libc.musl*", "ld-*", "ld.so*", "libpthread*"};

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (text_glob_match(patterns[i], base))
			return true;
	return false;
}

/* NAME is a function of the program, LIBRARY:NAME one of a library. */
static bool is_called_so(const char *pattern, const struct module_file *file, const char *name)
{
	/* C++ names have two. */
	const char *colon = strchr(pattern, ':');
	_cleanup_free_ char *library = NULL;

	if (!colon || colon[1] == ':')
		return file->is_program && text_glob_match(pattern, name);
	library = xstrndup(pattern, (size_t)(colon - pattern));
	return !file->is_program && text_glob_match(library, file->base) && text_glob_match(colon + 1, name);
}

static bool wanted(const struct probe_options *options, const struct module_file *file, const char *name)
{
	bool wants = false;

	for (size_t i = 0; i < options->only->count; i++)
		wants |= is_called_so(options->only->items[i], file, name);
	for (size_t i = 0; wants && i < options->without->count; i++)
		wants = !text_glob_match(options->without->items[i], name);
	return wants;
}

static bool file_offset(Elf *elf, uint64_t value, uint64_t *ret_offset)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X && value >= p.p_vaddr &&
		    value - p.p_vaddr < p.p_filesz) {
			*ret_offset = value - p.p_vaddr + p.p_offset;
			return true;
		}
	}
	return false;
}

/* push and the five-byte nop are emulated; any other instruction is single-stepped, which costs ten times as much. */
static bool is_quick(int fd, uint64_t offset)
{
	uint8_t code[5] = {};

	if (pread(fd, code, sizeof(code), (off_t)offset) < 1)
		return false;
	return (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) ||
	       memcmp(code, "\x0f\x1f\x44\x00\x00", 5) == 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct target *one = a, *other = b;
	int r = strcmp(one->path, other->path);

	return r ? r : one->offset < other->offset ? -1 : one->offset > other->offset;
}

static void read_module(struct function_probe *s, const struct module_file *file)
{
	_cleanup_close_ int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	struct elf_names names = {};

	if (elf)
		elf_names_take(elf, &names);
	vec_each(&names.items, item) {
		uint64_t offset;

		if (s->targets.count > FUNCTIONS_MAX)
			break;
		if (wanted(&s->options, file, item->name) && file_offset(elf, item->address, &offset))
			vec_push(&s->targets, (struct target){
						      .name = xstrdup(item->name),
						      .file = item->file ? xstrdup(item->file) : NULL,
						      .path = xstrdup(file->path),
						      .build_id = xstrdup(names.build_id),
						      .value = item->address,
						      .offset = offset,
						      .quick = is_quick(fd, offset),
					      });
	}
	elf_names_done(&names);
	elf_end(elf);
}

static void free_target(struct target *target)
{
	free(target->name);
	free(target->file);
	free(target->path);
	free(target->build_id);
}

/* .symtab and .dynsym list the same functions, and a function may have several names: one probe per offset. */
static void drop_doubles(struct function_probe *s)
{
	size_t kept = 0;

	vec_sort(&s->targets, by_offset);
	for (size_t i = 0; i < s->targets.count; i++) {
		if (kept && by_offset(&s->targets.items[kept - 1], &s->targets.items[i]) == 0)
			free_target(&s->targets.items[i]);
		else
			s->targets.items[kept++] = s->targets.items[i];
	}
	s->targets.count = kept;
}

/* A mapping of the program, or of a library that not every process has. */
static void read_mapping(struct function_probe *s, const char *path, const char *program)
{
	const char *slash = strrchr(path, '/');
	struct module_file file = {path, slash ? slash + 1 : path, strcmp(path, program) == 0};

	if (!is_everywhere(file.base))
		read_module(s, &file);
}

/* The program and its executable mappings. */
static int find_targets(struct function_probe *s)
{
	_cleanup_free_ char *program_path = xasprintf("/proc/%u/exe", s->options.pid);
	char program[PATH_MAX] = "";
	_cleanup_free_ char *maps_path = xasprintf("/proc/%u/maps", s->options.pid);
	_cleanup_buf_ struct buf maps = BUF_INIT((size_t)64 << 20);
	_cleanup_free_ char *last = xstrdup("");
	int r = buf_read_file(&maps, maps_path);
	ssize_t length = readlink(program_path, program, sizeof(program) - 1);

	if (r < 0)
		return r;
	if (length < 0)
		return -errno;
	program[length] = '\0';
	(void)elf_version(EV_CURRENT);
	for (const char *line = buf_text(&maps); *line;) {
		size_t n = strcspn(line, "\n");
		const char *slash = memchr(line, '/', n);

		if (slash && memmem(line, n, " r-xp ", 6)) {
			char *path = xstrndup(slash, n - (size_t)(slash - line));

			if (strcmp(path, last) != 0)
				read_mapping(s, path, program);
			free(last);
			last = path;
		}
		line += n + (line[n] == '\n');
	}
	drop_doubles(s);
	return 0;
}

/* --- tracefs --- */

static int write_text(const char *path, int flags, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | flags);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int instance_write(const struct function_probe *s, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", s->instance, file);

	return write_text(path, O_TRUNC, text);
}

/* In a private mount namespace: the host's mounts do not change. */
static int mount_tracefs(void)
{
	if (access(TRACEFS "/uprobe_events", F_OK) == 0)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tracefs", TRACEFS, "tracefs", 0, NULL) < 0)
		return -errno;
	return access(TRACEFS "/uprobe_events", F_OK) < 0 ? -errno : 0;
}

static void add_arguments(const struct function_probe *s, struct buf *text)
{
#if defined(__x86_64__)
	static const char *const registers[PROBE_ARGS_MAX] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
#elif defined(__aarch64__) || defined(__CPPCHECK__)
	static const char *const registers[PROBE_ARGS_MAX] = {"%x0", "%x1", "%x2", "%x3", "%x4", "%x5"};
#else
#error "which registers hold the arguments of a function on this architecture?"
#endif

	for (uint64_t i = 0; i < min_of(s->options.args, (uint64_t)PROBE_ARGS_MAX); i++)
		buf_add_format(text, " a%u=%s:x64", (unsigned)i + 1, registers[i]);
}

static int add_probe(const struct function_probe *s, char kind, size_t index)
{
	const struct target *target = &s->targets.items[index];
	_cleanup_buf_ struct buf text = BUF_INIT(8192);

	buf_add_format(&text, "%c:%s/%c%zu %s:0x%llx", kind == 'e' ? 'p' : 'r', s->group, kind, index, target->path,
		       (unsigned long long)target->offset);
	if (kind == 'e')
		add_arguments(s, &text);
	buf_add_char(&text, '\n');
	return write_text(TRACEFS "/uprobe_events", O_APPEND, buf_text(&text));
}

static void remove_probes(const struct function_probe *s)
{
	for (size_t i = 0; i < s->targets.count; i++)
		for (const char *kind = "er"; *kind; kind++) {
			_cleanup_free_ char *text = xasprintf("-:%s/%c%zu\n", s->group, *kind, i);

			(void)write_text(TRACEFS "/uprobe_events", O_APPEND, text);
		}
}

/* All existing threads; event-fork adds new ones. */
static int watch_threads(const struct function_probe *s)
{
	_cleanup_free_ char *path = xasprintf("/proc/%u/task", s->options.pid);
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			buf_add_format(&text, "%s ", entry->d_name);
	closedir(dir);
	(void)instance_write(s, "options/event-fork", "1");
	return instance_write(s, "set_event_pid", buf_text(&text));
}

/* System calls on sockets; without these tracepoints the trace has function calls only. */
static void enable_sockets(struct function_probe *s)
{
	for (size_t i = 0; !s->options.no_sockets && probe_socket_events[i]; i++) {
		_cleanup_free_ char *path = xasprintf("events/%s/enable", probe_socket_events[i]);

		s->has_sockets |= instance_write(s, path, "1") == 0;
	}
}

static int attach_probes(struct function_probe *s, struct why *why)
{
	_cleanup_free_ char *enable = xasprintf("events/%s/enable", s->group);
	int r = mount_tracefs();

	if (r < 0)
		return why_set(why, r, "tracefs with uprobe_events is not available: %s", strerror(-r));
	s->instance = xasprintf(TRACEFS "/instances/%s", s->group);
	if (mkdir(s->instance, 0700) < 0) {
		r = -errno;
		s->instance = NULL;
		return why_set(why, r, "cannot create a tracefs instance: %s", strerror(-r));
	}
	s->cycles = instance_write(s, "trace_clock", "x86-tsc") == 0;
	if (!s->cycles)
		(void)instance_write(s, "trace_clock", "mono");
	(void)instance_write(s, "buffer_size_kb", "8192");
	for (size_t i = 0; i < s->targets.count; i++) {
		r = add_probe(s, 'e', i);
		if (r == 0)
			r = add_probe(s, 'r', i);
		if (r < 0)
			return why_set(why, r, "cannot probe %s: %s", s->targets.items[i].name, strerror(-r));
	}
	/* Probes are enabled one by one: recording starts when all are attached. */
	(void)instance_write(s, "tracing_on", "0");
	r = watch_threads(s);
	if (r == 0)
		r = instance_write(s, enable, "1");
	enable_sockets(s);
	probe_sockets_look(&s->sockets);
	if (r == 0)
		r = instance_write(s, "tracing_on", "1");
	probe_sockets_look(&s->sockets);
	return r < 0 ? why_set(why, r, "cannot enable the probes: %s", strerror(-r)) : 0;
}

static void detach(struct function_probe *s)
{
	_cleanup_free_ char *enable = xasprintf("events/%s/enable", s->group);

	if (!s->instance)
		return;
	(void)instance_write(s, enable, "0");
	(void)rmdir(s->instance);
	remove_probes(s);
}

/* --- events --- */

static struct thread *thread_of(struct function_probe *s, const struct probe_line *line)
{
	bool new;
	struct thread **thread = map_put(&s->threads, &line->tid, &new);

	if (!thread)
		return NULL;
	if (new) {
		*thread = xzalloc(sizeof(**thread));
		(*thread)->number = trace_writer_thread(s->writer, s->options.pid, line->tid, line->comm);
	}
	return *thread;
}

static void take_call(struct function_probe *s, struct thread *thread, const struct probe_line *line)
{
	trace_writer_call(s->writer, thread->number, line->ticks, s->targets.items[line->probe].fn);
	if (line->arg_count)
		trace_writer_args(s->writer, thread->number, line->args, line->arg_count);
	if (thread->depth < DEPTH_MAX)
		thread->open[thread->depth] = line->probe;
	thread->depth++;
}

/* Calls above the returning one were left by longjmp; a return without a call began before tracing. */
static void take_return(struct function_probe *s, struct thread *thread, const struct probe_line *line)
{
	uint32_t depth = min_of(thread->depth, (uint32_t)DEPTH_MAX);

	while (depth && thread->open[depth - 1] != line->probe)
		depth--;
	if (!depth)
		return;
	if (depth < thread->depth)
		trace_writer_unwind(s->writer, thread->number, line->ticks, thread->depth - depth);
	trace_writer_return(s->writer, thread->number, line->ticks);
	thread->depth = depth - 1;
}

static void take_lost(struct function_probe *s, uint64_t count)
{
	const void *key;
	size_t at = 0;
	void *value;

	s->lost += count;
	probe_sockets_lost(&s->sockets);
	/* Unknown which threads lost events: the first gets the count, all get the mark. */
	while (map_next(&s->threads, &at, &key, &value)) {
		struct thread *thread = *(struct thread **)value;

		trace_writer_lost(s->writer, thread->number, 0, count);
		thread->depth = 0;
		count = 0;
	}
}

static void take_line(struct function_probe *s, const char *text)
{
	struct probe_line line;
	struct thread *thread;

	if (!probe_line_parse(text, &line))
		return;
	if (line.lost) {
		take_lost(s, line.lost);
		return;
	}
	if (line.what != PROBE_FUNCTION) {
		thread = thread_of(s, &line);
		if (thread)
			probe_sockets_take(&s->sockets, thread->number, &line);
		return;
	}
	thread = line.probe < s->targets.count ? thread_of(s, &line) : NULL;
	if (thread && line.enter)
		take_call(s, thread, &line);
	else if (thread)
		take_return(s, thread, &line);
}

/* Handles complete lines; keeps the rest. */
static void take_lines(struct function_probe *s, struct buf *text)
{
	char *line = text->data, *end;
	size_t rest;

	while ((end = memchr(line, '\n', text->len - (size_t)(line - text->data)))) {
		*end = '\0';
		take_line(s, line);
		line = end + 1;
	}
	rest = text->len - (size_t)(line - text->data);
	memmove(text->data, line, rest);
	text->len = rest;
	text->data[rest] = '\0';
}

int function_probe_read(struct function_probe *s)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(s->fd, piece, sizeof(piece))) > 0) {
		buf_add(&s->text, piece, (size_t)n);
		if (s->text.len)
			take_lines(s, &s->text);
	}
	return access(s->alive, F_OK) == 0;
}

static int open_trace(struct function_probe *s, struct why *why)
{
	_cleanup_free_ char *command = xasprintf("process %u", s->options.pid);
	struct map modules = MAP_INIT(0, sizeof(uint32_t), 0);
	struct trace_writer_options options = {};
	struct utsname host;
	int r;

	if (s->cycles) {
		/* Calibrates the cycle counter against CLOCK_REALTIME over 0.1 s. */
#if defined(__x86_64__)
		uint64_t ns = clock_monotonic_ns(), ticks = __builtin_ia32_rdtsc();
		const struct timespec pause = {0, 100000000};

		(void)nanosleep(&pause, NULL);
		ticks = __builtin_ia32_rdtsc() - ticks;
		options.ticks_per_second =
			(uint64_t)((unsigned __int128)ticks * NSEC_PER_SEC / (clock_monotonic_ns() - ns));
		options.start_real_ns = clock_real_ns() - (uint64_t)((unsigned __int128)__builtin_ia32_rdtsc() *
								     NSEC_PER_SEC / options.ticks_per_second);
#endif
	} else {
		options.start_real_ns = clock_real_ns() - clock_monotonic_ns();
	}
	r = trace_writer_open(s->options.output, &options, &s->writer, why);
	if (r < 0)
		return r;
	trace_writer_property(s->writer, "source", "uprobes");
	if (uname(&host) == 0) {
		trace_writer_property(s->writer, "host", host.nodename);
		trace_writer_property(s->writer, "kernel", host.release);
	}
	trace_writer_property(s->writer, "command", command);
	vec_each(&s->targets, target) {
		bool new;
		uint32_t *module = map_put(&modules, target->path, &new);

		if (new)
			*module = trace_writer_module(
				s->writer, &(struct flow_module){.path = target->path, .build_id = target->build_id});
		target->fn = trace_writer_function_number(s->writer);
		trace_writer_function_is(s->writer, target->fn, *module, target->value, target->name, target->file);
	}
	map_done(&modules);
	return 0;
}

int function_probe_attach(struct function_probe *s, int *ret_fd, struct why *why)
{
	_cleanup_free_ char *path = NULL;
	int r = attach_probes(s, why);

	if (r == 0)
		r = open_trace(s, why);
	if (r < 0)
		return r;
	s->sockets.writer = s->writer;
	path = xasprintf("%s/trace_pipe", s->instance);
	s->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	*ret_fd = s->fd;
	return s->fd < 0 ? why_set(why, -errno, "%s: %s", path, strerror(errno)) : 0;
}

int function_probe_finish(struct function_probe *s, struct why *why)
{
	int r;

	/* Drain the ring buffer. */
	(void)function_probe_read(s);
	probe_sockets_end(&s->sockets);
	r = trace_writer_close(take_ptr(s->writer));
	return r < 0 ? why_set(why, r, "%s: %s", s->options.output, strerror(-r)) : 0;
}

struct function_probe_counts function_probe_counts(const struct function_probe *s)
{
	struct function_probe_counts counts = {
		.functions = s->targets.count, .lost = s->lost, .blind = !s->options.no_sockets && !s->has_sockets};

	vec_each(&s->targets, target)
		counts.slow += !target->quick;
	return counts;
}

/* Capabilities of the program (SECURITY.md) let its users see what others do, not what is in their memory. */
static int check_owner(const struct function_probe *s, struct why *why)
{
	struct stat process;

	if (getuid() == 0 || stat(s->alive, &process) < 0 || process.st_uid == getuid())
		return 0;
	return why_set(why, -EACCES, "process %u belongs to another user: only root may record its functions",
		       s->options.pid);
}

int function_probe_new(const struct probe_options *options, struct function_probe **ret_probe, struct why *why)
{
	struct function_probe *s = xzalloc(sizeof(*s));
	int r;

	*s = (struct function_probe){.options = *options,
				     .threads = MAP_INIT(sizeof(uint32_t), sizeof(void *), 65536),
				     .text = BUF_INIT((size_t)8 << 20),
				     .fd = -1};
	*ret_probe = s;
	s->alive = xasprintf("/proc/%u", options->pid);
	snprintf(s->group, sizeof(s->group), "nest_flow_%d", (int)getpid());
	probe_sockets_init(&s->sockets, options->pid);
	r = check_owner(s, why);
	if (r < 0)
		return r;
	r = find_targets(s);
	if (r < 0)
		return why_set(why, r == -ENOENT ? -ESRCH : r, "process %u: %s", options->pid,
			       r == -ENOENT ? "no such process" : strerror(-r));
	if (!s->targets.count)
		return why_set(why, -EINVAL, "no function of process %u matches; for those of a library: LIBRARY:NAME",
			       options->pid);
	if (s->targets.count > FUNCTIONS_MAX)
		return why_set(why, -EINVAL, "more than %d functions match: narrow the pattern", FUNCTIONS_MAX);
	return 0;
}

void function_probe_free(struct function_probe *s)
{
	const void *key;
	size_t at = 0;
	void *value;

	if (!s)
		return;
	closep(&s->fd);
	if (s->writer)
		(void)!trace_writer_close(s->writer);
	detach(s);
	probe_sockets_done(&s->sockets);
	while (map_next(&s->threads, &at, &key, &value))
		free(*(struct thread **)value);
	map_done(&s->threads);
	vec_each(&s->targets, target)
		free_target(target);
	vec_done(&s->targets);
	buf_done(&s->text);
	free(s->alive);
	free(s->instance);
	free(s);
}
