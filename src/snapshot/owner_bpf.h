/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What the file iterator writes: one of these for each descriptor that is an IPv4 or IPv6 socket. */
#pragma once

#include <linux/types.h>

struct owner_found {
	__u32 inode;
	__u32 pid;
	__u32 fd;
};
