/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line is "   comm-123   [001] .....  456.789012: e12: (0x401126) a1=0x7f a2=0x1", where the time is a plain number with a clock
 * that counts cycles, or "CPU:1 [LOST 12 EVENTS]".
 */
#include "flow/probe_text.h"

#include <string.h>

#include "base/parse.h"

/* The number that the text begins with; the rest of the text goes to ret_rest. */
static bool take_number(const char *text, const char *digits, uint64_t *ret_value, const char **ret_rest)
{
	size_t n = strspn(text, digits);
	char number[24];

	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	*ret_rest = text + n;
	return parse_u64(number, 0, UINT64_MAX, ret_value) == 0;
}

static bool take_time(const char *text, uint64_t *ret_ticks, const char **ret_rest)
{
	const char *fraction;
	uint64_t micros;

	if (!take_number(text, "0123456789", ret_ticks, ret_rest))
		return false;
	if (**ret_rest != '.')
		return **ret_rest == ':';
	fraction = *ret_rest + 1;
	/* Leading zeros are no octal number. */
	if (strspn(fraction, "0123456789") != 6 || fraction[6] != ':')
		return false;
	while (*fraction == '0' && fraction[1] != ':')
		fraction++;
	if (!take_number(fraction, "0123456789", &micros, ret_rest) || *ret_ticks > UINT64_MAX / 2000000000)
		return false;
	*ret_ticks = *ret_ticks * 1000000000 + micros * 1000;
	return true;
}

static void take_args(const char *text, struct probe_line *line)
{
	while (line->arg_count < PROBE_ARGS_MAX && (text = strstr(text, "=0x"))) {
		text++;
		if (!take_number(text, "0123456789abcdefx", &line->args[line->arg_count], &text))
			return;
		line->arg_count++;
	}
}

/* "comm-123 [": the number after the last dash before the processor. */
static bool take_task(const char *text, const char *bracket, struct probe_line *line)
{
	const char *dash = bracket, *rest;
	uint64_t tid;
	size_t n;

	while (dash > text && *dash != '-')
		dash--;
	if (dash == text || !take_number(dash + 1, "0123456789", &tid, &rest) || tid > UINT32_MAX)
		return false;
	line->tid = (uint32_t)tid;
	text += strspn(text, " ");
	n = min_of((size_t)(dash > text ? dash - text : 0), sizeof(line->comm) - 1);
	memcpy(line->comm, text, n);
	return true;
}

static bool take_lost(const char *text, struct probe_line *line)
{
	const char *lost = strstr(text, "[LOST "), *rest;

	return lost && take_number(lost + 6, "0123456789", &line->lost, &rest) && line->lost;
}

bool probe_line_parse(const char *text, struct probe_line *ret_line)
{
	const char *bracket, *rest;
	struct probe_line line = {};
	uint64_t probe;

	if (take_lost(text, &line)) {
		*ret_line = line;
		return true;
	}
	bracket = strstr(text, " [");
	if (!bracket || !take_task(text, bracket, &line))
		return false;
	rest = strchr(bracket, ']');
	if (!rest)
		return false;
	/* Flags of the moment, then the time. */
	rest += 1 + strspn(rest + 1, " ");
	rest += strcspn(rest, " ");
	rest += strspn(rest, " ");
	if (!take_time(rest, &line.ticks, &rest))
		return false;
	rest += 1 + strspn(rest + 1, " ");
	if (*rest != 'e' && *rest != 'r')
		return false;
	line.enter = *rest == 'e';
	if (!take_number(rest + 1, "0123456789", &probe, &rest) || *rest != ':' || probe > UINT32_MAX)
		return false;
	line.probe = (uint32_t)probe;
	take_args(rest, &line);
	*ret_line = line;
	return true;
}
