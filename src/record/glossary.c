/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <strings.h>

#include "record/enum.h"
#include "record/glossary.h"

const struct glossary_entry *glossary_find(const struct glossary *glossary, const char *word)
{
	size_t skipped = glossary->prefix ? strlen(glossary->prefix) : 0;

	if (skipped && strncasecmp(word, glossary->prefix, skipped) == 0)
		word += skipped;
	for (size_t i = 0; i < glossary->count; i++)
		if (enum_same_word(glossary->entries[i].name, word))
			return &glossary->entries[i];
	return NULL;
}
