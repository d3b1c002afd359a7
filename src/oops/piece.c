/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/piece.h"

#include <ctype.h>
#include <string.h>

/* Longest name of a kernel symbol. */
#define SYMBOL_MAX 512

const char *piece_after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

const char *piece_behind(const char *text, const char *part)
{
	const char *at = strstr(text, part);

	return at ? at + strlen(part) : NULL;
}

const char *piece_blanks(const char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *piece_hex(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned n = 0;

	if (text[0] == '0' && text[1] == 'x' && hex_digit(text[2]) >= 0)
		text += 2;
	for (; hex_digit(text[n]) >= 0; n++) {
		if (n == 16)
			return NULL;
		value = value << 4 | (uint64_t)hex_digit(text[n]);
	}
	if (n == 0)
		return NULL;
	*ret_value = value;
	return text + n;
}

const char *piece_number(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > max)
			return NULL;
	}
	if (at == text)
		return NULL;
	*ret_value = value;
	return at;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* " [module]", also with flags or a build identifier behind the name. */
static const char *piece_module(const char *text, struct piece_symbol *symbol)
{
	const char *at = piece_blanks(text), *name = at + 1;
	size_t n = 0;

	if (*at != '[')
		return text;
	while (is_name(name[n]) || name[n] == '-')
		n++;
	at = strchr(name, ']');
	if (n == 0 || !at)
		return text;
	symbol->module = name;
	symbol->module_len = n;
	return at + 1;
}

const char *piece_symbol(const char *text, struct piece_symbol *ret_symbol)
{
	struct piece_symbol symbol = {.name = text};
	uint64_t offset, size;
	const char *at = text;

	while (is_name(*at))
		at++;
	symbol.name_len = (size_t)(at - text);
	if (symbol.name_len == 0 || symbol.name_len > SYMBOL_MAX || isdigit((unsigned char)*text))
		return NULL;
	if (at[0] != '+' || at[1] != '0' || at[2] != 'x')
		return NULL;
	at = piece_hex(at + 1, &offset);
	if (!at || at[0] != '/' || at[1] != '0' || at[2] != 'x')
		return NULL;
	at = piece_hex(at + 1, &size);
	if (!at || offset >= UINT32_MAX || size >= UINT32_MAX)
		return NULL;
	symbol.offset = (uint32_t)offset;
	symbol.size = (uint32_t)size;
	at = piece_module(at, &symbol);
	*ret_symbol = symbol;
	return at;
}

const char *piece_find_symbol(const char *text, struct piece_symbol *ret_symbol)
{
	const char *plus = text;

	/* Back from each +0x to the start of its name: one pass, whatever the text. */
	while ((plus = strstr(plus, "+0x"))) {
		const char *name = plus, *after;

		while (name > text && is_name(name[-1]) && plus - name < SYMBOL_MAX)
			name--;
		after = piece_symbol(name, ret_symbol);
		if (after)
			return after;
		plus += 3;
	}
	return NULL;
}

size_t piece_source(const char *text, size_t *ret_file_len, uint32_t *ret_line)
{
	size_t n = strcspn(text, ": ()");
	const char *at;
	uint64_t line;

	if (text[n] != ':' || n < 3 || !memchr(text, '.', n))
		return 0;
	at = piece_number(text + n + 1, UINT32_MAX - 1, &line);
	if (!at || line == 0)
		return 0;
	*ret_file_len = n;
	*ret_line = (uint32_t)line;
	return (size_t)(at - text);
}
