/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/parse.h"
#include "kernel/proctext.h"
#include "snapshot/core/scan.h"

bool scan_word(const char **text, const char **ret_word, size_t *ret_len)
{
	*text += strspn(*text, " \t");
	*ret_word = *text;
	*ret_len = strcspn(*text, " \t\n");
	*text += *ret_len;
	return *ret_len > 0;
}

/* Terminated copy; false: the word does not fit and is no number. */
static bool copy_word(const char **text, char *copy, size_t size)
{
	const char *word;
	size_t n;

	if (!scan_word(text, &word, &n) || n >= size)
		return false;
	memcpy(copy, word, n);
	copy[n] = '\0';
	return true;
}

bool scan_u64(const char **text, uint64_t *ret_value)
{
	char word[32];

	return copy_word(text, word, sizeof(word)) && parse_u64(word, 0, UINT64_MAX, ret_value) == 0;
}

bool scan_i64(const char **text, int64_t *ret_value)
{
	char word[32];

	return copy_word(text, word, sizeof(word)) && parse_i64(word, INT64_MIN, INT64_MAX, ret_value) == 0;
}

bool scan_hex(const char **text, uint64_t *ret_value)
{
	char word[32] = "0x";

	return copy_word(text, word + 2, sizeof(word) - 2) && parse_u64(word, 0, UINT64_MAX, ret_value) == 0;
}

bool scan_skip(const char **text, unsigned words)
{
	const char *word;
	size_t n;

	for (; words > 0; words--)
		if (!scan_word(text, &word, &n))
			return false;
	return true;
}

bool scan_keyed(const char *text, const char *key, uint64_t *ret_value)
{
	size_t len = strlen(key), n;
	const char *line;

	while (proctext_line(&text, &line, &n)) {
		if (n <= len || memcmp(line, key, len) != 0 || !strchr(" \t:", line[len]))
			continue;
		line += len + (line[len] == ':');
		return scan_u64(&line, ret_value);
	}
	return false;
}

bool scan_next_line(const char **text)
{
	const char *end = strchr(*text, '\n');

	if (!end || end[1] == '\0')
		return false;
	*text = end + 1;
	return true;
}
