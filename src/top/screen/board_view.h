/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws a board: headings and the lines that fit. Only these are formatted. */
#pragma once

#include "top/screen/screen.h"

/* focused: the selected line is marked. */
void board_view_draw(struct screen *screen, struct canvas *canvas, struct board *board, const struct area *area,
		     bool focused);
/* " connections  12 of 10234 rows, by rx_rate, tree by comm" */
void board_view_add_info(const struct board *board, struct buf *out);
