/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enum names common to packet events. */
#pragma once

#include "record/field.h"

/* enum packet_dir: rx, tx. */
extern struct enum_names packet_dir_names;
/* Bits of the flags byte in a TCP header. */
extern struct enum_names tcp_flag_names;
/* enum skb_drop_reason of the running kernel. */
extern struct enum_names drop_reason_names;
