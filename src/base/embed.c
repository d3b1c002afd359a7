/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/embed.h"

const struct embedded_file *embed_find(const char *name)
{
	registry_each(embedded_file, file)
		if (strcmp((*file)->name, name) == 0)
			return *file;
	return NULL;
}
