/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* KSYM_NAME_LEN: the longest name, with the module in brackets behind it. */
#define SYMBOL_AT_MAX 512
