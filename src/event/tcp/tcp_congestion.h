/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the congestion states. */
#pragma once

#include "record/field.h"

extern struct enum_names tcp_congestion_names;
