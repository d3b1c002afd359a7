/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without a test: the harness must call that a failure. */
#include "../unit/unit.h"
