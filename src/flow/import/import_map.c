/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/import/import_map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/input_file.h"

#define THREADS_MAX   65536
#define FUNCTIONS_MAX ((size_t)1 << 20)

void import_maps_init(struct import_maps *maps, struct trace_writer *writer)
{
	*maps = (struct import_maps){
		.writer = writer,
		.threads = MAP_INIT(sizeof(uint32_t), sizeof(struct import_thread), THREADS_MAX),
		.functions = MAP_INIT(0, sizeof(uint32_t), FUNCTIONS_MAX),
		.addresses = MAP_INIT(sizeof(uint64_t), sizeof(uint32_t), FUNCTIONS_MAX),
	};
}

void import_maps_done(struct import_maps *maps)
{
	map_done(&maps->threads);
	map_done(&maps->functions);
	map_done(&maps->addresses);
}

struct import_thread *import_thread(struct import_maps *maps, uint32_t pid, uint32_t tid, const char *name)
{
	bool new;
	struct import_thread *thread = map_put(&maps->threads, &tid, &new);

	if (thread && new)
		*thread = (struct import_thread){.thread = trace_writer_thread(maps->writer, pid, tid, name)};
	return thread;
}

uint32_t import_function(struct import_maps *maps, const char *name)
{
	bool new;
	uint32_t *fn = map_put(&maps->functions, name, &new);

	if (!fn)
		return 0;
	if (new)
		*fn = trace_writer_function(maps->writer, 0, 0, name);
	return *fn;
}

void import_call(struct import_maps *maps, struct import_thread *thread, uint64_t ticks, uint32_t fn)
{
	thread->last = max_of(thread->last, ticks);
	thread->depth++;
	trace_writer_call(maps->writer, thread->thread, thread->last, fn);
}

bool import_return(struct import_maps *maps, struct import_thread *thread, uint64_t ticks)
{
	thread->last = max_of(thread->last, ticks);
	if (!thread->depth)
		return false;
	thread->depth--;
	trace_writer_return(maps->writer, thread->thread, thread->last);
	return true;
}

void import_note(struct import_result *result, const char *format, ...)
{
	size_t used = strlen(result->note), room = sizeof(result->note) - used;
	int separator = used ? snprintf(result->note + used, room, "; ") : 0;
	va_list args;

	if ((size_t)separator >= room)
		return;
	va_start(args, format);
	vsnprintf(result->note + used + separator, room - (size_t)separator, format, args);
	va_end(args);
}

int import_file_open(const char *path, struct import_file *ret_file, struct why *why)
{
	_cleanup_close_ int fd = input_file_open(path);
	struct stat st;
	void *data;

	if (fd < 0)
		return why_set(why, fd, "%s: %s", path, input_file_error(fd));
	if (fstat(fd, &st) < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	if (!st.st_size)
		return why_set(why, -EBADMSG, "%s: empty file", path);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	*ret_file = (struct import_file){data, (size_t)st.st_size, true};
	return 0;
}

void import_file_close(struct import_file *file)
{
	if (file->mapped)
		munmap((void *)file->data, file->size);
	*file = (struct import_file){};
}
