/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/parse.h"
#include "kernel/libbpf_words.h"

/* A verifier log can have megabytes; the reason is at its end, so older text is dropped. */
#define WORDS_MAX 65536

/* libbpf has one callback per process, so there is one buffer. */
static struct {
	char text[WORDS_MAX];
	size_t len;
	char gist[256];
} words;

static int words_add(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t len, room = sizeof(words.text) - 2, keep;
	_cleanup_free_ char *said = NULL;
	const char *end;
	va_list again;
	int n;

	/* Formatting its debug messages takes milliseconds. */
	if (level != LIBBPF_WARN && !log_speaks(LOG_LEVEL_DEBUG))
		return 0;
	/* A whole log arrives in one call. */
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n <= 0)
		return 0;
	said = xmalloc((size_t)n + 1);
	len = (size_t)vsnprintf(said, (size_t)n + 1, format, args);
	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	if (len == 0)
		return 0;
	log_debug("%s", said);
	if (level != LIBBPF_WARN)
		return 0;
	end = said + len;
	len = min_of(len, room);
	keep = min_of(words.len, room - len);
	memmove(words.text, words.text + words.len - keep, keep);
	memcpy(words.text + keep, end - len, len);
	words.len = keep + len;
	words.text[words.len++] = '\n';
	words.text[words.len] = '\0';
	return 0;
}

void libbpf_words_begin(void)
{
	words.len = 0;
	words.text[0] = '\0';
	libbpf_set_print(words_add);
}

static bool starts_with(const char *text, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* Lines that never hold the reason: frames, repetitions, statistics. */
static bool line_is_frame(const char *line, size_t n)
{
	static const char *const frames[] = {
		"--",
		"processed ",
		"verification time",
		"stack depth",
		"failed to load object",
		"Error in bpf_object",
		/* Guesses of libbpf, usually wrong. */
		"permission error while running as root",
		"Failed to bump RLIMIT_MEMLOCK",
		/* Followed only by the text of the errno. */
		"BPF program load failed: ",
		"failed to attach",
		"failed to create ",
		/* Printed for every program without line info (slim.h). */
		"missing .BTF.ext line info",
	};

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		if (starts_with(line, n, frames[i]))
			return true;
	return n == 0 || memmem(line, n, "failed to load: -", 17) || memmem(line, n, "PROG LOAD LOG", 13);
}

/* Strips prefixes of a line: "libbpf: " and "prog 'x': ", "map 'x': ", "elf: ". */
static void line_trim(const char **line, size_t *n)
{
	static const char *const prefixes[] = {"libbpf: ", "prog '", "map '", "elf: "};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t skip = strlen(prefixes[i]);

		if (!starts_with(*line, *n, prefixes[i]))
			continue;
		if (prefixes[i][skip - 1] == '\'') {
			const char *end = memmem(*line + skip, *n - skip, "': ", 3);

			if (!end)
				continue;
			skip = (size_t)(end - *line) + 3;
		}
		*line += skip;
		*n -= skip;
	}
	while (*n > 0 && strchr(" \t\r", (*line)[*n - 1]))
		(*n)--;
}

#define HELPER_NAME(name) [BPF_FUNC_##name] = "bpf_" #name

/* "invalid func unknown#174" or "unknown func bpf_get_attach_cookie#174": a helper that the kernel lacks or refuses. */
static void name_helper(char *gist, size_t size)
{
	static const char *const helpers[] = {__BPF_FUNC_MAPPER(HELPER_NAME)};
	const char *number = starts_with(gist, strlen(gist), "invalid func unknown#") ||
					     starts_with(gist, strlen(gist), "unknown func ")
				     ? strchr(gist, '#')
				     : NULL;
	uint64_t helper;

	if (number && parse_decimal(number + 1, 1, ARRAY_SIZE(helpers) - 1, &helper) == 0 && helpers[helper])
		snprintf(gist, size, "programs of this kind have no helper %s on this kernel", helpers[helper]);
}

void libbpf_words_gist_of(const char *text, char *gist, size_t size)
{
	gist[0] = '\0';
	for (const char *line = text; *line;) {
		size_t whole = strcspn(line, "\n"), n = whole;
		const char *inner = line;

		line_trim(&inner, &n);
		/* The verifier's message is better than libbpf's summary, and comes later. */
		if (!line_is_frame(inner, n))
			snprintf(gist, size, "%.*s", (int)min_of(n, (size_t)INT32_MAX), inner);
		line += whole + (line[whole] == '\n');
	}
	name_helper(gist, size);
}

const char *libbpf_words_gist(void)
{
	libbpf_words_gist_of(words.text, words.gist, sizeof(words.gist));
	return words.gist;
}

const char *libbpf_words_blamed(void)
{
	static char name[64];
	const char *at = words.text;

	name[0] = '\0';
	while ((at = strstr(at, "prog '"))) {
		const char *end;

		at += strlen("prog '");
		end = strchr(at, '\'');
		if (!end)
			break;
		snprintf(name, sizeof(name), "%.*s", (int)min_of(end - at, (ptrdiff_t)sizeof(name) - 1), at);
	}
	return name;
}
