/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line is "   comm-123   [001] .....  456.789012: e12: (0x401126) a1=0x7f a2=0x1", where the time is a plain number
 * if the clock counts cycles, or "CPU:1 [LOST 12 EVENTS]". After the time there may also be "sys_read(fd: 8, buf:
 * 0x7f00, count: 0x400)", "sys_read -> 0x10", and "inet_sock_set_state: family=AF_INET ... sport=80 dport=4567 ...
 * saddrv6=::ffff:10.0.0.1 daddrv6=...".
 */
#include "probe/probe_text.h"

#include <string.h>

#include "base/parse.h"

/* The number at the start of the text; *ret_rest: the text after it. */
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
	/* Leading zeros do not mean octal. */
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

/* Arguments of system calls are hexadecimal, with or without 0x. */
static bool take_hex(const char *text, uint64_t *ret_value)
{
	char number[24] = "0x";
	size_t n;

	text += strncmp(text, "0x", 2) == 0 ? 2 : 0;
	n = strspn(text, "0123456789abcdef");
	if (!n || n > 16)
		return false;
	memcpy(number + 2, text, n);
	number[n + 2] = '\0';
	return parse_u64(number, 0, UINT64_MAX, ret_value) == 0;
}

static bool take_syscall(const char *text, struct probe_line *line)
{
	size_t n = strcspn(text, "( ");
	uint64_t value;

	if (!n || n >= sizeof(line->syscall))
		return false;
	memcpy(line->syscall, text, n);
	line->syscall[n] = '\0';
	text += n;
	if (strncmp(text, " -> ", 4) == 0) {
		line->what = PROBE_SYSCALL_END;
		if (!take_hex(text + 4, &value))
			return false;
		line->result = (int64_t)value;
		return true;
	}
	line->what = PROBE_SYSCALL;
	while (line->arg_count < PROBE_ARGS_MAX && (text = strstr(text, ": "))) {
		if (!take_hex(text + 2, &line->args[line->arg_count]))
			break;
		line->arg_count++;
		text += 2;
	}
	return true;
}

static bool take_key(const char *text, const char *key, char *ret_value, size_t room)
{
	const char *at = strstr(text, key);
	size_t n;

	if (!at)
		return false;
	at += strlen(key);
	n = strcspn(at, " ");
	if (!n || n >= room)
		return false;
	memcpy(ret_value, at, n);
	ret_value[n] = '\0';
	return true;
}

static bool take_end(const char *text, const char *port_key, const char *addr_key, struct endpoint *ret_end)
{
	char word[64];
	uint64_t port;

	if (!take_key(text, port_key, word, sizeof(word)) || parse_u64(word, 0, 65535, &port) < 0 ||
	    !take_key(text, addr_key, word, sizeof(word)) || addr_parse(word, &ret_end->addr) < 0)
		return false;
	ret_end->port = (uint16_t)port;
	return true;
}

/* "comm-123 [": the number after the last dash before the CPU. */
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
	/* Latency flags, then the time. */
	rest += 1 + strspn(rest + 1, " ");
	line.in_interrupt = strcspn(rest, " ") >= 3 && rest[2] != '.';
	rest += strcspn(rest, " ");
	rest += strspn(rest, " ");
	if (!take_time(rest, &line.ticks, &rest))
		return false;
	rest += 1 + strspn(rest + 1, " ");
	if (strncmp(rest, "sys_", 4) == 0 || strncmp(rest, "inet_sock_set_state: ", 21) == 0) {
		line.what = PROBE_STATE;
		if (*rest == 's' ? !take_syscall(rest + 4, &line)
				 : !take_end(rest, " sport=", " saddrv6=", &line.local) ||
					   !take_end(rest, " dport=", " daddrv6=", &line.remote))
			return false;
		*ret_line = line;
		return true;
	}
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
