/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys and clicks as the screen sees them, whatever the terminal sends. Characters are themselves. */
#pragma once

#include "base/macros.h"

enum key {
	KEY_NO = 0,
	KEY_TAB_ = '\t',
	KEY_RETURN = '\r',
	KEY_ESCAPE = 27,
	KEY_DELETE_BACK = 127,
	KEY_SPECIAL = 0x200000, /* beyond Unicode */
	KEY_GO_UP,
	KEY_GO_DOWN,
	KEY_GO_LEFT,
	KEY_GO_RIGHT,
	KEY_GO_HOME,
	KEY_GO_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_BACKTAB,
	KEY_FUNCTION, /* + 1 for F1 */
	KEY_FUNCTION_LAST = KEY_FUNCTION + 12,
	KEY_CLICK, /* with a position */
	KEY_DOUBLE_CLICK,
	KEY_WHEEL_UP,
	KEY_WHEEL_DOWN,
};

#define KEY_F_(n)   (KEY_FUNCTION + (n))
#define KEY_CTRL(c) ((c)&0x1f)

struct key_press {
	uint32_t key;
	unsigned x, y; /* of a click */
};
