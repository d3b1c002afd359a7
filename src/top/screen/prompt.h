/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line at the bottom in which one types: search, filter, command, file, time. */
#pragma once

#include "top/screen/screen.h"

void prompt_open(struct screen *screen, enum prompt_kind kind);
void prompt_press(struct screen *screen, uint32_t key);
/* Lines that it takes, with what is wrong and what could follow. */
unsigned prompt_height(const struct screen *screen);
void prompt_draw(struct screen *screen, struct canvas *canvas, const struct area *area);
/* The search again. */
void prompt_search_next(struct screen *screen);
