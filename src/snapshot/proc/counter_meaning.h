/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's protocol counters count, in a sentence each. */
#pragma once

/* The whole name of a counter that is called by its short one ("ListenOverflows"); NULL when there is none. */
const char *counter_full_name(const char *name);

/* NULL for a counter that is not known here. The text is a constant, or valid until the next call. */
const char *counter_meaning(const char *name);
