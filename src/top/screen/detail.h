/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The details of one row: where one can go from it, figures over time, all fields. */
#pragma once

#include "top/screen/screen.h"

/* Takes the row as it is now from the board below, and the figures of the plots. */
void detail_update(struct screen *screen, struct screen_page *page);
void detail_draw(struct screen *screen, struct canvas *canvas, struct screen_page *page, const struct area *area);
/* Follows the chosen link. */
void detail_follow(struct screen *screen, struct screen_page *page);
