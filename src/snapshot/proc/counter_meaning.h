/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's protocol counters count, in a sentence each. */
#pragma once

/* NULL for a counter that is not known here. The text is a constant, or valid until the next call. */
const char *counter_meaning(const char *name);
