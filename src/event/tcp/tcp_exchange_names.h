/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of enum tcp_exchange_outcome. */
#pragma once

#include "record/field.h"

extern struct enum_names tcp_exchange_outcome_names;
