/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of an expression the kernel can evaluate, and in which form it is told. */
#pragma once

#include "event/core/config.h"
#include "event/core/event.h"
#include "record/expr.h"

/*
 * Adds what the kernel can decide to the configuration; what it lets through may be more than the expression does,
 * never less. Returns whether that is the whole expression.
 */
bool event_filter_add(struct event_config *config, const struct expr *expr);

/* Of a filter, the clauses about the event's early fields alone (struct event), and what they need of the head. */
void event_filter_early(const struct event *event, const struct event_config *config, struct event_config *ret_early);

/* How a field lies in the event, as a number; EVENT_FORM_NONE when it is none. */
enum event_form event_number_form(const struct field *field);
uint8_t event_number_flags(const struct field *field);

/*
 * Puts the key into the words of config.brief where event and configuration allow it (struct event, adds_briefly);
 * whether they do.
 */
bool event_key_shorten(const struct event *event, struct event_config *config);
