/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that all pictures of journeys use. */
#pragma once

#include "base/buf.h"
#include "path/journey/journey.h"

/* What the packet did at a stage: waited, or somebody worked on it in some context. */
enum stage_kind { STAGE_WAITS, STAGE_HARDIRQ, STAGE_SOFTIRQ, STAGE_PROCESS };

enum stage_kind stage_kind(const struct journey_stage *stage);
/* "wait", "hardirq", "softirq", "process": classes of pictures. */
extern const char *const stage_kind_names[];

const char *stage_name(const struct journey_stage *stage);
/* "hard irq", "softirq", "process", or "-". */
const char *stage_context(const struct journey_stage *stage);
/* "1", or "-" where it is not known. */
void stage_add_cpu(struct buf *out, const struct journey_stage *stage);
/* Since the journey's beginning. */
uint64_t stage_offset(const struct journey *journey, const struct journey_stage *stage);

/* "receive tcp 10.0.0.1:80 from 10.0.0.2:4242, 500B, nginx (4711), eth0, delivered": not escaped, sinks do that. */
void journey_add_title(struct buf *out, const struct journey *journey);
/* The widest gap in words; nothing when there are no stages. */
void journey_add_widest(struct buf *out, const struct journey *journey);
/* "not visible: irq, gro"; nothing when all was visible. */
void journey_add_hidden(struct buf *out, const struct journey *journey);
