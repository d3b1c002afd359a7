/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list above the page to choose from. */
#pragma once

#include "top/screen/screen.h"

void menu_open(struct screen *screen, const char *title, void (*chosen)(struct screen *screen, const char *value));
void menu_add(struct screen *screen, bool marked, const char *value, const char *format, ...) _printf_(4, 5);
void menu_close(struct screen *screen);
bool menu_is_open(const struct screen *screen);
void menu_press(struct screen *screen, uint32_t key);
void menu_draw(struct screen *screen, struct canvas *canvas, const struct area *area);

/* The menus. */
void menu_sort(struct screen *screen);
void menu_columns(struct screen *screen);
void menu_tables(struct screen *screen);
void menu_trees(struct screen *screen);
void menu_themes(struct screen *screen);
