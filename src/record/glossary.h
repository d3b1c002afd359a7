/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel terms and their meaning, for nest explain: drop reasons, error names. A glossary is a table that registers
 * itself. Enum values have their own help (record/field.h) and need no glossary.
 */
#pragma once

#include "base/macros.h"

struct glossary_entry {
	const char *name;
	const char *text;
};

struct glossary {
	const char *kind;   /* kind of the terms: "drop reason" */
	const char *prefix; /* the kernel's prefix, also accepted; or NULL */
	const struct glossary_entry *entries;
	size_t count;
};

#define GLOSSARY(object) REGISTER(glossary, struct glossary, object)
REGISTRY(glossary, struct glossary);

/* NULL when the glossary does not have the word; ignores case, - equals _. */
const struct glossary_entry *glossary_find(const struct glossary *glossary, const char *word);
