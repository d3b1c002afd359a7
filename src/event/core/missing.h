/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What no event can do without. */
#pragma once

#include "base/why.h"

/* -EPERM or -ENOTSUP with a sentence that says what is missing and how to get it. */
int event_check_host(struct why *why) _must_check_;
