/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/libbpf.h>
#include <elfutils/version.h>
#include <jansson.h>
#include <sqlite3.h>
#include <zlib.h>

#include "base/embed.h"
#include "run/build_info.h"

/* Unknown: neither a clone nor a tarball of make dist. */
#ifndef NEST_COMMIT
#define NEST_COMMIT ""
#endif

/* The version in use where the library reports it, else the one of the build. */
static void add_libraries(struct buf *text)
{
	buf_add_format(text, "libraries: libbpf %u.%u, elfutils 0.%u, ", libbpf_major_version(), libbpf_minor_version(),
		       _ELFUTILS_VERSION);
	buf_add_format(text, "jansson %s, SQLite %s, zlib %s\n", jansson_version_str(), sqlite3_libversion(),
		       zlibVersion());
}

static void add_objects(struct buf *text)
{
	const char *before = "";

	buf_add_text(text, "kernel objects: ");
	registry_each(embedded_file, file) {
		const char *end = strstr((*file)->name, ".bpf.o");

		if (!end)
			continue;
		buf_add_format(text, "%s%.*s (%td kB)", before, (int)(end - (*file)->name), (*file)->name,
			       ((*file)->end - (*file)->begin + 999) / 1000);
		before = ", ";
	}
	buf_add_char(text, '\n');
}

void build_info_add(struct buf *text)
{
	buf_add_text(text, "nest " NEST_VERSION "\n");
	buf_add_format(text, "commit: %s\n", NEST_COMMIT[0] ? NEST_COMMIT : "-");
	add_libraries(text);
	add_objects(text);
}
