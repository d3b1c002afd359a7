/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What view/json.h writes for records of a shape, as a schema of OpenAPI 3.0. */
#pragma once

#include "base/buf.h"
#include "record/value.h"

/* whole: all fields are there, in contrast to those that a reader chose. */
void json_schema_add(struct buf *out, const struct shape *shape, bool whole);
