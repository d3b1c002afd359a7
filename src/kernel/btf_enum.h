/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernel enums that change with every version (drop reasons, reset reasons), from the kernel's BTF. */
#pragma once

#include "record/field.h"

/*
 * Fills names from an enum, each without the prefix; called from the load function of a struct enum_names. Without BTF
 * there are no names and numbers are shown.
 */
void btf_enum_load(struct enum_names *names, const char *enumeration, const char *prefix);
