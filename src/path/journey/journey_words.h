/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text shared by all views of journeys. */
#pragma once

#include "base/buf.h"
#include "path/journey/journey.h"

/* What happened at a stage: the packet waited, or was processed in a context. */
enum stage_kind { STAGE_WAITS, STAGE_HARDIRQ, STAGE_SOFTIRQ, STAGE_PROCESS };

enum stage_kind stage_kind(const struct journey_stage *stage);
/* "wait", "hardirq", "softirq", "process": CSS classes. */
extern const char *const stage_kind_names[];

const char *stage_name(const struct journey_stage *stage);
/* "hard irq", "softirq", "process", or "-". */
const char *stage_context(const struct journey_stage *stage);
/* "1", or "-" when unknown. */
void stage_add_cpu(struct buf *out, const struct journey_stage *stage);
/* Time since the journey's start. */
uint64_t stage_offset(const struct journey *journey, const struct journey_stage *stage);

/* "receive tcp 10.0.0.1:80 from 10.0.0.2:4242, 500B, nginx (4711), eth0, delivered": unescaped, sinks escape it. */
void journey_add_title(struct buf *out, const struct journey *journey);
/* The longest stage in words; empty without stages. */
void journey_add_widest(struct buf *out, const struct journey *journey);
/* "not visible: irq, gro"; empty when all stages are traced. */
void journey_add_hidden(struct buf *out, const struct journey *journey);
