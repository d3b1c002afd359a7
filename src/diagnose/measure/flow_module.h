/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module of a flow: one name, whoever finds it first. */
#pragma once

#include "base/addr.h"
#include "diagnose/graph/module.h"
#include "diagnose/measure/dropped.h"

/* "flow:tcp 10.1.1.2:40000-10.2.2.2:80", waiting. Its measures are made with it: addresses and ports alone. */
struct module *flow_module_of(struct graph *graph, uint8_t proto, const struct endpoint *from,
			      const struct endpoint *to);
/* The same measures, to be completed: they live in the graph. */
struct flow_measures *flow_module_measures(struct module *flow);
/* A module named "KIND:NAME". */
struct module *flow_module_below(struct graph *graph, enum module_kind kind, const char *name);
