// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "relay_words.h"

#define MS   NS_PER_MS
#define PCT  10000u
#define MBIT 1000000ull
#define ALL  (100 * PCT)

static const struct word {
	const char *name;
	size_t offset; /* in struct line_settings */
	uint64_t scale;
	uint64_t min;
	uint64_t max;
	const char *help;
} words[] = {
#define WORD(word, member) .name = word, .offset = offsetof(struct line_settings, member)
	{WORD("delay", delay_ns), MS, 0, 60000 * MS, "one-way delay, ms"},
	{WORD("jitter", jitter_ns), MS, 0, 10000 * MS, "delay variation, plus or minus, without reordering, ms"},
	{WORD("loss", loss_ppm), PCT, 0, ALL, "packet loss, %"},
	{WORD("collide", collide_ppm), PCT, 0, ALL,
	 "packets lost of those that arrive while the other direction transmits (needs rate), %"},
	{WORD("burst", burst_milli), 1000, 1000, 1000000, "mean length of a loss burst, packets (1: independent)"},
	{WORD("dup", dup_ppm), PCT, 0, ALL, "duplicated packets, %"},
	{WORD("reorder", reorder_ppm), PCT, 0, ALL, "reordered packets, %"},
	{WORD("reorder_by", reorder_ns), MS, 0, 10000 * MS,
	 "extra delay of a reordered packet, ms (0: half of delay, at least 1)"},
	{WORD("corrupt", corrupt_ppm), PCT, 0, ALL, "corrupted packets: one bit flipped after the IP header, %"},
	{WORD("rate", rate_bps), MBIT, 0, 100000 * MBIT, "link rate, Mbit/s (0: unlimited)"},
	{WORD("limit", limit_bytes), 1, 0, LINE_MEMORY_MAX, "queue limit of the link, bytes"},
	{WORD("maxlen", maxlen), 1, 0, 65536, "silently drop longer IP packets, bytes (0: none)"},
	{WORD("hole", hole), 1, 0, 1, "1: drop everything"},
	{WORD("neigh", neigh), 1, 0, 1, "1: also impair ARP and IPv6 neighbour discovery (0: forward them at once)"},
};

static const struct word *word_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
			return &words[i];
	return NULL;
}

static int word_parse(const struct word *word, const char *text, uint64_t *ret_value, struct why *why)
{
	uint64_t value = 0;
	int r = lab_parse_scaled(text, word->scale, word->max, &value);

	/* Integers only: maxlen=1400.5 is an error. */
	if (r == 0 && word->scale == 1)
		r = parse_u64(text, word->min, word->max, &value);
	if (r == 0 && value < word->min)
		r = -ERANGE;
	if (r == -ERANGE)
		return why_set(why, -EINVAL, "%s=%s: must be %g to %g", word->name, text,
			       (double)word->min / (double)word->scale, (double)word->max / (double)word->scale);
	if (r < 0)
		return why_set(why, -EINVAL, "%s=%s: not a number", word->name, text);
	*ret_value = value;
	return 0;
}

int words_apply(struct relay_settings *set, const char *text, struct why *why)
{
	bool only_ab = strncmp(text, "ab.", 3) == 0, only_ba = strncmp(text, "ba.", 3) == 0;
	const char *name = only_ab || only_ba ? text + 3 : text, *equals = strchr(name, '=');
	const struct word *word;
	uint64_t value = 0;
	int r;

	if (!equals)
		return why_set(why, -EINVAL, "%s: expected word=value", text);
	if (strncmp(text, "seed=", 5) == 0) {
		r = parse_u64(equals + 1, 0, UINT64_MAX, &set->seed);
		set->seed_given = true;
		return r < 0 ? why_set(why, -EINVAL, "%s: not a whole number", text) : 0;
	}
	word = word_find(name, (size_t)(equals - name));
	if (!word)
		return why_set(why, -EINVAL, "%s: unknown word (known: delay, loss, rate ...; see relay --help)", text);
	r = word_parse(word, equals + 1, &value, why);
	if (r < 0)
		return r;
	if (!only_ba)
		memcpy((char *)&set->ab + word->offset, &value, sizeof(value));
	if (!only_ab)
		memcpy((char *)&set->ba + word->offset, &value, sizeof(value));
	return 0;
}

int words_apply_line(struct relay_settings *set, char *text, struct why *why)
{
	struct relay_settings next = *set;
	char *word;

	while ((word = strsep(&text, " \t\r"))) {
		int r = *word ? words_apply(&next, word, why) : 0;

		if (r < 0)
			return r;
	}
	*set = next;
	return 0;
}

void words_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		fprintf(out, "  %-11s %s\n", words[i].name, words[i].help);
	fprintf(out, "  %-11s %s\n", "seed", "random seed of both directions");
}
