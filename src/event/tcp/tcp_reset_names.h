/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of enum tcp_reset_after. */
#pragma once

#include "record/field.h"

extern struct enum_names tcp_reset_after_names;
