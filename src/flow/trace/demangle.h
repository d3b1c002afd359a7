/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangled C++ names, without argument types. */
#pragma once

/* NULL when the name is not mangled, or the result would be too long. The caller frees it. */
char *flow_demangle(const char *name);
