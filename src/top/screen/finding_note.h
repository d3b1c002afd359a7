/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Below the findings of the overview: the selected one in full, where there is room. */
#pragma once

#include "top/screen/screen.h"

/* Draws it into the area and returns its lines; canvas NULL: counts them, whatever the height. */
unsigned finding_note_draw(struct canvas *canvas, const struct area *area, const struct board *board);
