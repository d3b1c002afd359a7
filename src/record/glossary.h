/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of the kernel and what they mean, for nest explain: drop reasons, error names. A glossary is a file with a
 * table that registers itself. Values of enums bring their own help (record/field.h) and need none.
 */
#pragma once

#include "base/macros.h"

struct glossary_entry {
	const char *name;
	const char *text;
};

struct glossary {
	const char *kind;   /* what such a word is: "drop reason" */
	const char *prefix; /* of the kernel's own spelling, which is understood as well; or NULL */
	const struct glossary_entry *entries;
	size_t count;
};

#define GLOSSARY(object) REGISTER(glossary, struct glossary, object)
REGISTRY(glossary, struct glossary);

/* NULL when the glossary does not have the word; case does not matter, and - is as good as _. */
const struct glossary_entry *glossary_find(const struct glossary *glossary, const char *word);
