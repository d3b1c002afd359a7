/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Escaping for terminal, JSON and CSV: harmless for any bytes, and without loss where the form allows it. */
#include <jansson.h>

#include "base/text.h"
#include "fuzz.h"

static bool is_utf8(const char *s, size_t n)
{
	while (n > 0) {
		unsigned len = text_decode_utf8(s, n, NULL);

		if (len == 0)
			return false;
		s += len;
		n -= len;
	}
	return true;
}

static void check_json(const char *s, size_t n)
{
	_cleanup_buf_ struct buf out = BUF_INIT(0);
	json_t *value;

	buf_add_char(&out, '"');
	text_add_json(&out, s, n);
	buf_add_char(&out, '"');
	fuzz_require(!fuzz_has_control(out.data, out.len));
	value = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	fuzz_require(json_is_string(value));
	if (is_utf8(s, n)) {
		fuzz_require(json_string_length(value) == n);
		fuzz_require(memcmp(json_string_value(value), s, n) == 0);
	}
	json_decref(value);
}

/* The byte or code point that an escape stands for; -1 for a character that stands for itself. */
static long read_escape(const char **p)
{
	unsigned value;
	int used = 0;

	if (**p != '\\')
		return -1;
	if ((*p)[1] == '\\') {
		*p += 2;
		return '\\';
	}
	if ((*p)[1] == 'x')
		fuzz_require(sscanf(*p, "\\x%2x%n", &value, &used) == 1 && used == 4);
	else
		fuzz_require(sscanf(*p, "\\u{%x}%n", &value, &used) == 1 && used >= 5);
	*p += used;
	return value;
}

static void check_terminal(const char *s, size_t n)
{
	_cleanup_buf_ struct buf out = BUF_INIT(0);
	const char *p, *end = s + n;

	text_add_terminal(&out, s, n);
	fuzz_require(!fuzz_has_control(buf_text(&out), out.len));
	fuzz_require(is_utf8(buf_text(&out), out.len));
	fuzz_require(text_columns(buf_text(&out), out.len) <= out.len);
	/* Read back character by character, it is the input. */
	for (p = buf_text(&out); *p;) {
		uint32_t code = (uint8_t)*s;
		unsigned len;
		long escaped;

		fuzz_require(s < end);
		len = text_decode_utf8(s, (size_t)(end - s), &code);
		len = len ? len : 1;
		escaped = read_escape(&p);
		if (escaped < 0) {
			fuzz_require(memcmp(p, s, len) == 0);
			p += len;
		} else {
			fuzz_require((uint32_t)escaped == code);
		}
		s += len;
	}
	fuzz_require(s == end);
}

static void add_ascii(struct buf *to, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((s[i] >= 0x20 && s[i] < 0x7f) || (s[i] && memchr("\t\r\n", s[i], 3)))
			buf_add_char(to, s[i]);
}

/* Reads one cell as RFC 4180 says and compares. */
static void check_csv(const char *s, size_t n)
{
	_cleanup_buf_ struct buf out = BUF_INIT(0), cell = BUF_INIT(0), want = BUF_INIT(0), got = BUF_INIT(0);
	size_t formula = n > 0 && memchr("=+-@\t\r", s[0], 6);
	bool quoted;

	text_add_csv(&out, s, n);
	quoted = out.len > 0 && out.data[0] == '"';
	if (!quoted) {
		buf_add(&cell, buf_text(&out), out.len);
		for (size_t i = 0; i < out.len; i++)
			fuzz_require(!memchr("\",\r\n", out.data[i], 4));
	}
	for (size_t i = 1; quoted && i < out.len; i++) {
		if (out.data[i] == '"') {
			i++;
			fuzz_require(i == out.len || out.data[i] == '"');
			if (i == out.len)
				break;
		}
		buf_add_char(&cell, out.data[i]);
	}
	/* What is not safe is replaced, and ASCII text is as it was. */
	fuzz_require(is_utf8(buf_text(&cell), cell.len));
	add_ascii(&want, s, n);
	add_ascii(&got, buf_text(&cell) + formula, cell.len - formula);
	fuzz_require(got.len == want.len && memcmp(buf_text(&got), buf_text(&want), want.len) == 0);
	/* A formula is shifted by its apostrophe, and nothing may look like one. */
	fuzz_require(!formula || cell.data[0] == '\'');
	fuzz_require(cell.len == 0 || !memchr("=+-@\t\r", cell.data[0], 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;

	check_json(s, size);
	check_terminal(s, size);
	check_csv(s, size);
	return 0;
}
