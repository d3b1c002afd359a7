/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of enum tcp_role. */
#pragma once

#include "record/field.h"

extern struct enum_names tcp_role_names;
