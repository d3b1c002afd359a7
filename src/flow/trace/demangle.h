/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of C++ functions as their authors know them, without the types of arguments. */
#pragma once

/* NULL when it is no such name, or one that would become too long. The caller's to free. */
char *flow_demangle(const char *name);
