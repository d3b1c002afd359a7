/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/import/import.h"

#include <errno.h>

#include "base/buf.h"
#include "base/input_file.h"
#include "flow/trace/trace_text.h"

#define HEAD_BYTES 4096

static size_t read_head(const char *path, char *head)
{
	_cleanup_close_ int fd = input_file_open(path);
	ssize_t n = fd < 0 ? 0 : pread(fd, head, HEAD_BYTES, 0);

	return n > 0 ? (size_t)n : 0;
}

static const struct importer *recognise(const char *path, const char *head, size_t n)
{
	const struct importer *best = NULL;
	int best_score = 0;

	registry_each(importer, importer) {
		int score = (*importer)->recognise(path, head, n);

		if (score > best_score) {
			best = *importer;
			best_score = score;
		}
	}
	return best;
}

static const struct importer *by_name(const char *name)
{
	registry_each(importer, importer)
		if (strcmp((*importer)->name, name) == 0)
			return *importer;
	return NULL;
}

static void add_names(struct buf *out)
{
	registry_each(importer, importer)
		buf_add_format(out, "%s%s", out->len ? ", " : "", (*importer)->name);
}

static int find_importer(const char *path, const char *format, const struct importer **ret_importer, struct why *why)
{
	_cleanup_buf_ struct buf names = BUF_INIT(512);
	char head[HEAD_BYTES];

	add_names(&names);
	if (format) {
		*ret_importer = by_name(format);
		return *ret_importer
			       ? 0
			       : why_set(why, -EINVAL, "unknown format '%.40s' (known: %s)", format, buf_text(&names));
	}
	if (access(path, R_OK) < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	*ret_importer = recognise(path, head, read_head(path, head));
	return *ret_importer ? 0 : why_set(why, -EINVAL, "%s: unrecognised format (known: %s)", path, buf_text(&names));
}

/* The figures come from the written trace: they match what a reader will see. */
static int count(const char *path, struct import_result *result, struct why *why)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	int r = flow_trace_open(path, &trace, why);

	if (r < 0)
		return r;
	result->events = trace->events;
	result->lost = trace->lost;
	return 0;
}

int flow_import(const char *path, const char *format, const char *output, struct import_result *ret_result,
		struct why *why)
{
	struct trace_writer_options options = {};
	const struct importer *importer;
	struct trace_writer *writer;
	int r, closed;

	*ret_result = (struct import_result){.program = ret_result->program, .scratch = output};
	r = find_importer(path, format, &importer, why);
	if (r < 0)
		return r;
	ret_result->format = importer->name;
	if (importer->ticks_per_second)
		options.ticks_per_second = importer->ticks_per_second(path);
	r = trace_writer_open(output, &options, &writer, why);
	if (r < 0)
		return r;
	trace_writer_property(writer, "source", importer->name);
	r = importer->read(path, writer, ret_result, why);
	closed = trace_writer_close(writer);
	if (r == 0 && closed < 0)
		r = why_set(why, closed, "%s: %s", output, strerror(-closed));
	if (r < 0) {
		(void)unlink(output);
		return r;
	}
	return count(output, ret_result, why);
}

/* --- text --- */

#define TEXT_MAX ((size_t)1 << 30)

static int recognise_text(const char *path, const char *head, size_t n)
{
	(void)path;
	return memmem(head, n, "\nthread ", 8) || (n > 7 && memcmp(head, "thread ", 7) == 0) ? 50 : 0;
}

static int read_text(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	int r = buf_read_file(&text, path);

	(void)result;
	if (r < 0)
		return why_set(why, r, "%s: %s", path, strerror(-r));
	return trace_text_import(buf_text(&text), text.len, writer, why);
}

static const struct importer text_importer = {
	.name = "text",
	.summary = "text as printed by nest flow info --events",
	.recognise = recognise_text,
	.read = read_text,
};
IMPORTER(text_importer);
