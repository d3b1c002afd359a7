/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Meanings of the kernel's SNMP counters. */
#pragma once

/* Full name of a counter by its short one ("ListenOverflows"), case-insensitive; NULL: unknown. */
const char *counter_full_name(const char *name);

/* NULL: unknown counter. The text is valid until the next call. */
const char *counter_meaning(const char *name);
