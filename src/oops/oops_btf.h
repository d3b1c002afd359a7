/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters and structures from BTF. */
#pragma once

#include "base/why.h"
#include "oops/oops.h"

/*
 * Names registers and members of every report whose kernel has this BTF: that of a file (BTF or ELF), or for NULL the
 * running kernel's, if the report is of the same release.
 */
int oops_btf_all(struct oops_list *list, const char *path, struct why *why) _must_check_;
