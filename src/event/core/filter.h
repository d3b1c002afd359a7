/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates expressions into filter terms for the kernel. */
#pragma once

#include "event/core/config.h"
#include "event/core/event.h"
#include "record/expr.h"

/*
 * Adds the clauses that the kernel can evaluate to the configuration: it may pass more than the expression does, never
 * less. Returns whether that is the whole expression.
 */
bool event_filter_add(struct event_config *config, const struct expr *expr);

/* Clauses on early fields alone (struct event), and the parts of the head that they need. */
void event_filter_early(const struct event *event, const struct event_config *config, struct event_config *ret_early);

/* Numeric form of a field in the event; EVENT_FORM_NONE: not a number. */
enum event_form event_number_form(const struct field *field);
uint8_t event_number_flags(const struct field *field);

/*
 * Converts the key to that of config.brief if event and configuration allow it (struct event, adds_briefly); returns
 * whether they do.
 */
bool event_key_shorten(const struct event *event, struct event_config *config);
/* Adds the words that the kernel must group by for a key; keys may share them. False: no room, or too long. */
bool event_key_add(struct event_config *config, uint32_t offset, uint32_t size);
