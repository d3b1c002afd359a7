/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Manual pages in mdoc, from the declarations of commands. */
#include "run/command.h"

/*
 * Text for roff: a leading dot or quote would be a request, a backslash an escape, a dash a hyphen. A list without
 * spaces may be broken after its commas.
 */
static void add_roff(struct buf *out, const char *text)
{
	for (bool line_start = true; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			buf_add_text(out, "\\&");
		if (*text == '\\')
			buf_add_text(out, "\\e");
		else if (*text == '-')
			buf_add_text(out, "\\-");
		else
			buf_add_char(out, *text);
		if (*text == ',' && text[1] > ' ')
			buf_add_text(out, "\\:");
		line_start = *text == '\n';
	}
}

/* The same inside a macro's argument, where quotes and lines end things. */
static void add_roff_word(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_add_text(out, "\\(dq");
		else if (*text == '\\')
			buf_add_text(out, "\\e");
		else if (*text == '-')
			buf_add_text(out, "\\-");
		else
			buf_add_char(out, *text == '\n' ? ' ' : *text);
	}
	buf_add_char(out, '"');
}

static void add_paragraph(struct buf *out, const char *text)
{
	buf_add_text(out, ".Pp\n");
	add_roff(out, text);
	buf_add_char(out, '\n');
}

static bool add_option(const struct option_spec *spec, void *context)
{
	struct buf *out = context;

	if (spec->kind == OPT_COMMAND) {
		buf_add_text(out, ".It Fl \\- Ar command ...\n");
	} else if (!spec->name) {
		buf_add_format(out, ".It Ar %s\n", spec->arg);
	} else {
		buf_add_text(out, ".It");
		if (spec->letter)
			buf_add_format(out, " Fl %c ,", spec->letter);
		buf_add_format(out, " Fl \\-%s", spec->name);
		if (spec->kind != OPT_FLAG)
			buf_add_format(out, " Ar %s", spec->arg);
		buf_add_char(out, '\n');
	}
	add_roff(out, spec->help);
	if (spec->choices) {
		buf_add_text(out, ":\n");
		for (unsigned i = 0; spec->choices[i]; i++)
			buf_add_format(out, "%s%s", i ? ", " : "", spec->choices[i]);
	}
	buf_add_text(out, ".\n");
	return true;
}

void command_add_man_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_add_char(out, *name == ' ' ? '-' : *name);
}

void command_add_man(const struct command *command, struct buf *out)
{
	_cleanup_buf_ struct buf synopsis = BUF_INIT(1024);

	/* No date: the page must come out the same from the same source. */
	buf_add_text(out, ".Dd $Mdocdate$\n.Dt NEST-");
	command_add_man_name(out, command->name);
	buf_add_text(out, " 8\n.Os nest " NEST_VERSION "\n.Sh NAME\n.Nm nest\\-");
	command_add_man_name(out, command->name);
	buf_add_text(out, "\n.Nd ");
	add_roff(out, command->summary);
	buf_add_format(out, "\n.Sh SYNOPSIS\n.Nm nest %s\n.Op Ar options\n", command->name);
	option_add_synopsis(command->options, &synopsis);
	if (synopsis.len) {
		add_roff(out, buf_text(&synopsis) + 1);
		buf_add_char(out, '\n');
	}
	buf_add_text(out, ".Sh DESCRIPTION\n");
	add_roff(out, command->summary);
	buf_add_text(out, ".\n");
	command_add_paragraphs(command, out, add_paragraph);
	buf_add_text(out, ".Pp\n.Bl -tag -width indent\n");
	option_each(command->options, add_option, out);
	(void)add_option(
		&(struct option_spec){.kind = OPT_FLAG, .name = "help", .letter = 'h', .help = "show the options"},
		out);
	buf_add_text(out, ".El\n");
	if (command->examples) {
		buf_add_text(out, ".Sh EXAMPLES\n");
		for (const char *const *example = command->examples; *example; example += 2) {
			add_roff(out, example[1]);
			buf_add_text(out, ":\n.Dl ");
			add_roff_word(out, example[0]);
			buf_add_char(out, '\n');
		}
	}
	buf_add_text(out, ".Sh EXIT STATUS\n"
			  "0 done, 1 findings at or above \\-\\-fail\\-on, 2 usage, 3 cannot observe, 4 loss above "
			  "\\-\\-max\\-loss,\n"
			  "5 input or output failed, 128+n ended by signal n.\n"
			  ".Sh SEE ALSO\n.Xr nest 8\n");
}
