/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/sequence.h"

const char *const sequence_format_names[] = {"text", "svg", "html", "mermaid", "plantuml", "json", NULL};

void sequence_done(struct sequence *s)
{
	vec_each(&s->lines, line)
		free(*line);
	vec_each(&s->texts, text)
		free(*text);
	vec_done(&s->lines);
	vec_done(&s->texts);
	vec_done(&s->items);
	free(s->title);
	free(s->note);
}

const char *sequence_text(struct sequence *s, const char *text)
{
	vec_push(&s->texts, xstrdup(text));
	return s->texts.items[s->texts.count - 1];
}

void sequence_write(const struct sequence *s, enum sequence_format format, struct out *out)
{
	static void (*const writers[])(const struct sequence *, struct out *) = {
		[SEQUENCE_AS_TEXT] = sequence_write_text,         [SEQUENCE_AS_SVG] = sequence_write_svg,
		[SEQUENCE_AS_HTML] = sequence_write_html,         [SEQUENCE_AS_MERMAID] = sequence_write_mermaid,
		[SEQUENCE_AS_PLANTUML] = sequence_write_plantuml, [SEQUENCE_AS_JSON] = sequence_write_json,
	};

	writers[format](s, out);
}
