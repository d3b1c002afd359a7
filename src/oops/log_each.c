/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a log, also of the journal's export format, in which a message is one field of an entry. */
#include <string.h>

#include "base/parse.h"
#include "oops/log_line.h"

struct walk {
	const char *at, *end;
	log_line_fn *fn;
	void *context;
	struct log_line line;
};

static void hand_on(struct walk *walk, const char *raw, size_t len, uint64_t time_ns)
{
	walk->line.number++;
	log_line_clean(raw, len, &walk->line);
	if (walk->line.time_ns == UINT64_MAX)
		walk->line.time_ns = time_ns;
	walk->fn(&walk->line, walk->context);
}

/* A message may have several lines. */
static void hand_on_all(struct walk *walk, const char *text, size_t len, uint64_t time_ns)
{
	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		hand_on(walk, text, n, time_ns);
		n += newline != NULL;
		text += n;
		len -= n;
	}
}

struct entry {
	const char *message;
	size_t len;
	uint64_t time_ns;
	bool foreign; /* of a program, not of the kernel */
};

static bool is_named(const char *field, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(field, name, len) == 0;
}

static uint64_t read_micros(const char *text, size_t len)
{
	char digits[24];
	uint64_t micros;

	if (len >= sizeof(digits))
		return UINT64_MAX;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return parse_decimal(digits, 1, UINT64_MAX / 1000, &micros) == 0 ? micros * 1000 : UINT64_MAX;
}

static void take_field(struct entry *entry, const char *name, size_t name_len, const char *value, size_t len)
{
	if (is_named(name, name_len, "MESSAGE")) {
		entry->message = value;
		entry->len = len;
	} else if (is_named(name, name_len, "__REALTIME_TIMESTAMP")) {
		entry->time_ns = read_micros(value, len);
	} else if (is_named(name, name_len, "_TRANSPORT")) {
		entry->foreign = !is_named(value, len, "kernel");
	}
}

/* A field whose value has bytes that are no text: its name, the size in 8 bytes, the value. False: the file is cut. */
static bool take_binary(struct walk *walk, struct entry *entry, const char *name, size_t name_len)
{
	uint64_t size = 0;

	if (walk->end - walk->at < 8)
		return false;
	for (unsigned i = 0; i < 8; i++)
		size |= (uint64_t)(unsigned char)walk->at[i] << (8 * i);
	walk->at += 8;
	if (size > (uint64_t)(walk->end - walk->at))
		return false;
	take_field(entry, name, name_len, walk->at, (size_t)size);
	walk->at += size;
	walk->at += walk->at < walk->end && *walk->at == '\n';
	return true;
}

/* The next entry, up to an empty line. */
static void walk_entry(struct walk *walk)
{
	struct entry entry = {.time_ns = UINT64_MAX};

	while (walk->at < walk->end) {
		const char *line = walk->at, *newline = memchr(line, '\n', (size_t)(walk->end - line));
		size_t len = (size_t)((newline ? newline : walk->end) - line);
		const char *equals = memchr(line, '=', len);

		walk->at = line + len + (newline != NULL);
		if (len == 0)
			break;
		if (equals)
			take_field(&entry, line, (size_t)(equals - line), equals + 1,
				   (size_t)(line + len - equals - 1));
		else if (!take_binary(walk, &entry, line, len))
			walk->at = walk->end;
	}
	if (entry.message && !entry.foreign)
		hand_on_all(walk, entry.message, entry.len, entry.time_ns);
}

static bool is_export(const char *text, size_t len)
{
	static const char first[] = "__CURSOR=", other[] = "__REALTIME_TIMESTAMP=";

	return (len >= sizeof(first) && memcmp(text, first, sizeof(first) - 1) == 0) ||
	       (len >= sizeof(other) && memcmp(text, other, sizeof(other) - 1) == 0);
}

uint32_t log_line_each(const char *text, size_t len, log_line_fn *fn, void *context)
{
	struct walk walk = {.at = text, .end = text + len, .fn = fn, .context = context};

	if (is_export(text, len))
		while (walk.at < walk.end)
			walk_entry(&walk);
	else
		hand_on_all(&walk, text, len, UINT64_MAX);
	return walk.line.number;
}
