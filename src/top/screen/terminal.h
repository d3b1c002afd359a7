/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal: shows a canvas, reads keys and the mouse. The only file that knows curses. */
#pragma once

#include "base/why.h"
#include "top/draw/theme.h"
#include "top/screen/key.h"

struct terminal;

/* Whether there is one that can show a screen, without touching it. */
int terminal_check(struct why *why) _must_check_;
/* -ENOTTY with a sentence where there is no terminal that can show a screen. */
int terminal_open(struct terminal **ret_terminal, struct why *why) _must_check_;
/* Leaves it as it was; may be called twice. */
void terminal_close(struct terminal *terminal);
bool terminal_is_utf8(const struct terminal *terminal);
/* Its size now. */
void terminal_size(struct terminal *terminal, unsigned *ret_width, unsigned *ret_height);
/* Without colour where NO_COLOR is set or the terminal has none. */
void terminal_set_theme(struct terminal *terminal, const struct theme *theme);
void terminal_show(struct terminal *terminal, const struct canvas *canvas);
/* 1, 0 when nothing is pressed, -EIO when the terminal is gone. */
int terminal_read(struct terminal *terminal, struct key_press *ret_press);
/* Stops the process, and redraws when it is continued. */
void terminal_suspend(struct terminal *terminal);
/* Into the clipboard of terminals that have one (OSC 52). */
void terminal_copy(struct terminal *terminal, const char *text);
