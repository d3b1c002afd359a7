/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the kernel's own numbers (drop reasons, reset reasons), which change with every version: from its BTF. */
#pragma once

#include "record/field.h"

/*
 * Fills names from an enumeration, each without the prefix: to be called from a struct enum_names' load. Without BTF
 * there are no names and numbers are shown. The first call costs about 20 ms.
 */
void btf_enum_load(struct enum_names *names, const char *enumeration, const char *prefix);
