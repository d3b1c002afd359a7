/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link modes of Ethernet devices (ETHTOOL_GLINKSETTINGS). */
#pragma once

#include "base/macros.h"

/* Bits per second of the fastest mode in the mask; 0: none is known. */
uint64_t link_modes_fastest(const uint32_t *mask, unsigned words);
