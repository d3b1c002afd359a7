/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Common to packet events. */
#pragma once

enum packet_dir { PACKET_RX = 1, PACKET_TX };

#define PACKET_DEV_LEN 16
