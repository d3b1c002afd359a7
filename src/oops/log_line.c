/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/log_line.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

#define NSEC_PER_SEC  UINT64_C(1000000000)
#define NSEC_PER_USEC UINT64_C(1000)

/* The time of the kernel stands this near to the start, whatever a console or a logger put before it. */
#define PREFIX_MAX 160

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Copies what is printable: no escape sequences, no control characters, tabs as blanks. */
static void copy_printable(const char *raw, size_t len, char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < LOG_LINE_MAX; i++) {
		unsigned char c = (unsigned char)raw[i];

		if (c == 0x1b && i + 1 < len && raw[i + 1] == '[') {
			i += 2;
			while (i < len && !(raw[i] >= '@' && raw[i] <= '~'))
				i++;
		} else if (c == '\t') {
			text[n++] = ' ';
		} else if (c >= 0x20 && c != 0x7f) {
			text[n++] = (char)c;
		}
	}
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
}

/* A number of at most `room` digits; returns what follows, or NULL. */
static const char *skip_number(const char *s, unsigned room, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned n = 0;

	while (n < room && is_digit(s[n]))
		value = value * 10 + (uint64_t)(s[n++] - '0');
	*ret_value = value;
	return n > 0 && !is_digit(s[n]) ? s + n : NULL;
}

/* "[   12.345678]": returns what follows, or NULL. */
static const char *skip_uptime(const char *s, uint64_t *ret_ns)
{
	uint64_t seconds, micros;
	const char *at;

	if (*s != '[')
		return NULL;
	for (s++; *s == ' '; s++)
		;
	at = skip_number(s, 10, &seconds);
	if (!at || *at != '.')
		return NULL;
	s = at + 1;
	at = skip_number(s, 6, &micros);
	if (!at || at - s != 6 || *at != ']')
		return NULL;
	*ret_ns = seconds * NSEC_PER_SEC + micros * NSEC_PER_USEC;
	return at + 1;
}

/* "[  T600]" or "[    C1]" after the time. */
static const char *skip_caller(const char *s, char *caller, size_t room)
{
	const char *at = s + 1;
	size_t n;

	if (*s != '[')
		return s;
	while (*at == ' ')
		at++;
	if (*at != 'T' && *at != 'C')
		return s;
	n = 1 + strspn(at + 1, "0123456789");
	if (n < 2 || n >= room || at[n] != ']')
		return s;
	memcpy(caller, at, n);
	caller[n] = '\0';
	return at + n + 1;
}

/* "<4>" of dmesg -r and of old consoles; "kern  :warn  : " of dmesg -x. */
static const char *skip_level(const char *s)
{
	static const char facility[] = "kern  :";
	uint64_t level;
	const char *at;

	while (*s == '<') {
		at = skip_number(s + 1, 3, &level);
		if (!at || *at != '>')
			break;
		s = at + 1;
	}
	if (strncmp(s, facility, sizeof(facility) - 1) == 0) {
		at = strstr(s + sizeof(facility) - 1, ": ");
		if (at)
			s = at + 2;
	}
	return s;
}

/* "6,339,5140900,-;text": the format of /dev/kmsg and of extended netconsole. NULL: another format. */
static const char *skip_kmsg(const char *s, struct log_line *line)
{
	uint64_t level, sequence, micros;
	const char *at = skip_number(s, 4, &level);

	if (!at || *at != ',')
		return NULL;
	at = skip_number(at + 1, 19, &sequence);
	if (!at || *at != ',')
		return NULL;
	at = skip_number(at + 1, 15, &micros);
	if (!at || *at != ',')
		return NULL;
	at = strchr(at, ';');
	if (!at)
		return NULL;
	line->uptime_ns = micros * NSEC_PER_USEC;
	return at + 1;
}

/* The date and time at the start of s, as journalctl -o short-iso and rsyslog write it. */
static bool read_iso_time(const char *s, struct log_line *line)
{
	size_t n = strcspn(s, " ");
	char text[48];

	if (n < 19 || n > sizeof(text) - 2 || s[4] != '-' || s[10] != 'T')
		return false;
	memcpy(text, s, n);
	text[n] = '\0';
	/* 16:38:03,123456 of dmesg; +0100 of systemd. */
	if (text[19] == ',')
		text[19] = '.';
	if ((text[n - 5] == '+' || text[n - 5] == '-') && !memchr(text + n - 5, ':', 5)) {
		memmove(text + n - 1, text + n - 2, 3);
		text[n - 2] = ':';
	}
	/* A time without a zone is of the host that wrote it: only that host knows the moment. */
	if (text[n - 1] == 'Z' || strchr(text + 19, '+') || strchr(text + 19, '-'))
		return parse_time_ns(text, &line->time_ns) == 0;
	return false;
}

/* What a logger put before the kernel's text: its time, the host, "kernel:". */
static const char *skip_logger(const char *s, struct log_line *line)
{
	static const char *const names[] = {" kernel: ", " kernel[0]: ", " vmunix: "};

	bool dated = is_digit(s[0]) && strlen(s) > 19 && read_iso_time(s, line);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = strstr(s, names[i]);

		if (at && at - s < PREFIX_MAX)
			return at + strlen(names[i]);
	}
	if (dated)
		return s + strcspn(s, " ") + (s[strcspn(s, " ")] == ' ');
	return s;
}

/* "[Mon Nov 16 16:38:03 2026] " of dmesg -T. */
static const char *skip_ctime(const char *s, struct log_line *line)
{
	struct tm tm = {.tm_isdst = -1};
	const char *at = *s == '[' ? strptime(s + 1, "%a %b %d %H:%M:%S %Y", &tm) : NULL;
	time_t seconds;

	if (!at || *at != ']')
		return s;
	seconds = mktime(&tm);
	if (seconds > 0)
		line->time_ns = (uint64_t)seconds * NSEC_PER_SEC;
	return at + 1 + (at[1] == ' ');
}

/* The place after the kernel's own time; NULL: the line has none. */
static const char *find_uptime(const char *s, struct log_line *line)
{
	for (const char *at = s; *at && at - s < PREFIX_MAX; at++) {
		const char *after = skip_uptime(at, &line->uptime_ns);

		if (after)
			return after;
	}
	return NULL;
}

void log_line_clean(const char *raw, size_t len, struct log_line *line)
{
	const char *text, *after;

	line->uptime_ns = UINT64_MAX;
	line->time_ns = UINT64_MAX;
	line->caller[0] = '\0';
	copy_printable(raw, len, line->text);
	text = skip_kmsg(line->text, line);
	if (!text) {
		text = skip_level(line->text);
		after = find_uptime(text, line);
		if (after) {
			(void)skip_logger(text, line);
			text = skip_caller(after, line->caller, sizeof(line->caller));
			text += *text == ' ';
		} else {
			text = skip_logger(skip_ctime(text, line), line);
		}
		text = skip_level(text);
	}
	memmove(line->text, text, strlen(text) + 1);
}
