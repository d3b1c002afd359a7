/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streaming JSON: raw numbers in base units, valid for any input byte. */
#pragma once

#include "base/buf.h"
#include "record/value.h"

/* A string; NULL is null. */
void json_add_text(struct buf *out, const char *text);
/* One value; unknown is null. */
void json_add_value(struct buf *out, const struct field *field, const struct value *value);
/* A record of one type as an object. */
void json_add_object(struct buf *out, const struct record_type *type, const void *data);
/* A record of several parts as one object. */
void json_add_record(struct buf *out, const struct shape *shape, const struct record *record);
