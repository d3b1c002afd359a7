/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems of the kernel that a container or a chroot may hide. */
#pragma once

/*
 * Why a file of /proc or /sys cannot be read, if its file system is hidden, and what to do: " (/proc is not mounted:
 * mount -t proc proc /proc)". Else "".
 */
const char *mounts_hint(const char *path);
