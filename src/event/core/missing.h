/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host requirements of all events. */
#pragma once

#include "base/why.h"

/* -EPERM or -ENOTSUP with a message that names what is missing and how to get it. */
int event_check_host(struct why *why) _must_check_;
