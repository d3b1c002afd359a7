/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>

#include "base/addr.h"
#include "base/alloc.h"
#include "base/mask.h"

#define WORD_MIN 3
#define MAC_LEN  17 /* 00:11:22:33:44:55 */

static const char *find(const struct mask *mask, const char *word, size_t n)
{
	vec_each(&mask->words, known)
		if (strlen(known->word) == n && strncasecmp(known->word, word, n) == 0)
			return known->shown;
	return NULL;
}

static const char *add(struct mask *mask, const char *word, size_t n, char *shown)
{
	vec_push(&mask->words, (struct mask_word){xstrndup(word, n), shown});
	return shown;
}

void mask_add_word(struct mask *mask, const char *word, const char *shown)
{
	if (strlen(word) >= WORD_MIN && !find(mask, word, strlen(word)))
		(void)add(mask, word, strlen(word), xstrdup(shown));
}

static bool is_mac(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char)text[i]))
			return false;
	return n == MAC_LEN;
}

static bool is_anywhere(const struct addr *a)
{
	static const struct addr any4 = {.family = ADDR_V4, .bytes = {ADDR_MAPPED_HEAD}}, any6 = {.family = ADDR_V6};
	static const struct addr loopback = {.family = ADDR_V6, .bytes = {[15] = 1}};

	return addr_equal(a, &any4) || addr_equal(a, &any6) || addr_equal(a, &loopback) ||
	       (a->family == ADDR_V4 && a->bytes[12] == 127);
}

/* What to show for n characters of text that could be an address; NULL: it is none, or may be seen. */
static const char *address(struct mask *mask, const char *text, size_t n)
{
	char copy[ADDR_TEXT_MAX];
	struct addr parsed;
	const char *known;

	if (n >= sizeof(copy) || n < 2)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (!is_mac(copy, n) && (addr_parse(copy, &parsed) < 0 || is_anywhere(&parsed)))
		return NULL;
	known = find(mask, copy, n);
	if (known)
		return known;
	return add(mask, copy, n,
		   is_mac(copy, n) ? xasprintf("MAC-%u", ++mask->macs) : xasprintf("ADDRESS-%u", ++mask->addresses));
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Length of what could be an address; a full stop or colon behind it belongs to the sentence, as does a port. */
static size_t address_length(const char *text)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF.:"), plain = strspn(text, "0123456789.");

	if (is_of_word(text[n]))
		return 0;
	if (text[plain] == ':' && memchr(text, '.', plain))
		n = plain;
	while (n > 0 && (text[n - 1] == '.' || (text[n - 1] == ':' && (n == 1 || text[n - 2] != ':'))))
		n--;
	return n;
}

void mask_text(struct mask *mask, const char *text, struct buf *out)
{
	while (*text) {
		size_t word = address_length(text);
		const char *shown = address(mask, text, word);

		for (word = shown ? word : 0; !shown && is_of_word(text[word]); word++)
			;
		shown = shown ? shown : find(mask, text, word);
		if (shown)
			buf_add_text(out, shown);
		else
			buf_add(out, text, max_of(word, (size_t)1));
		text += max_of(word, (size_t)1);
	}
}

void mask_done(struct mask *mask)
{
	vec_each(&mask->words, known) {
		free(known->word);
		free(known->shown);
	}
	vec_done(&mask->words);
}
