/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/openmetrics.h"

#include <math.h>

#include "base/text.h"
#include "view/format.h"

static const char *const kind_names[] = {
	[OPENMETRICS_GAUGE] = "gauge", [OPENMETRICS_COUNTER] = "counter", [OPENMETRICS_HISTOGRAM] = "histogram"};

/* Of a label's value or a help text: backslash, quote and newline are escaped; what is no text becomes U+FFFD. */
static void add_escaped(struct buf *out, const char *text)
{
	for (size_t len = strlen(text), n; len > 0; text += n, len -= n) {
		n = text_decode_utf8(text, len, NULL);
		if (n == 0) {
			buf_add_text(out, "\xef\xbf\xbd");
			n = 1;
		} else if (*text == '\n') {
			buf_add_text(out, "\\n");
		} else if (*text == '"' || *text == '\\') {
			buf_add_char(out, '\\');
			buf_add_char(out, *text);
		} else {
			buf_add(out, text, n);
		}
	}
}

static void add_number(struct buf *out, double value)
{
	if (isnan(value))
		buf_add_text(out, "NaN");
	else if (isinf(value))
		buf_add_text(out, value > 0 ? "+Inf" : "-Inf");
	else if (buf_grow(out, 32)) {
		out->len = (size_t)(format_put_real(out->data + out->len, value) - out->data);
		out->data[out->len] = '\0';
	}
}

static void add_meta(struct openmetrics *m, const char *what, const char *text)
{
	bool suffixed = m->old_format && m->family->kind == OPENMETRICS_COUNTER;

	buf_add_format(m->out, "# %s %s%s ", what, m->family->name, suffixed ? "_total" : "");
	add_escaped(m->out, text);
	buf_add_char(m->out, '\n');
}

void openmetrics_begin(struct openmetrics *m, const struct openmetrics_family *family)
{
	m->family = family;
	add_meta(m, "HELP", family->help);
	add_meta(m, "TYPE", kind_names[family->kind]);
	if (family->unit && !m->old_format)
		add_meta(m, "UNIT", family->unit);
}

static bool has_room(struct openmetrics *m, uint64_t series)
{
	if (m->series_max && m->series + series > m->series_max) {
		m->dropped += series;
		return false;
	}
	m->series += series;
	return true;
}

static void add_sample(struct openmetrics *m, const char *suffix, const struct openmetrics_label *labels, size_t count,
		       const char *bound, double value)
{
	char separator = '{';

	buf_add_text(m->out, m->family->name);
	buf_add_text(m->out, suffix);
	for (size_t i = 0; i < count; i++) {
		if (!labels[i].value)
			continue;
		buf_add_char(m->out, separator);
		buf_add_format(m->out, "%s=\"", labels[i].name);
		add_escaped(m->out, labels[i].value);
		buf_add_char(m->out, '"');
		separator = ',';
	}
	if (bound) {
		buf_add_format(m->out, "%cle=\"%s\"", separator, bound);
		separator = ',';
	}
	buf_add_text(m->out, separator == ',' ? "} " : " ");
	add_number(m->out, value);
	buf_add_char(m->out, '\n');
}

void openmetrics_add(struct openmetrics *m, const struct openmetrics_label *labels, size_t count, double value)
{
	if (has_room(m, 1))
		add_sample(m, m->family->kind == OPENMETRICS_COUNTER ? "_total" : "", labels, count, NULL, value);
}

void openmetrics_add_histogram(struct openmetrics *m, const struct openmetrics_label *labels, size_t label_count,
			       const double *bounds, size_t bound_count, const uint64_t *counts, double sum)
{
	uint64_t total = 0;

	if (!has_room(m, bound_count + 3))
		return;
	for (size_t i = 0; i <= bound_count; i++) {
		_cleanup_buf_ struct buf bound = BUF_INIT(64);

		add_number(&bound, i < bound_count ? bounds[i] : INFINITY);
		/* OpenMetrics wants a float. */
		if (i < bound_count && !strpbrk(buf_text(&bound), ".e"))
			buf_add_text(&bound, ".0");
		total += counts[i];
		add_sample(m, "_bucket", labels, label_count, buf_text(&bound), (double)total);
	}
	add_sample(m, "_count", labels, label_count, NULL, (double)total);
	add_sample(m, "_sum", labels, label_count, NULL, sum);
}

void openmetrics_end(struct openmetrics *m)
{
	buf_add_text(m->out, "# EOF\n");
}
