/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of the whole host over time, in the first lines of the overview. A meter registers itself. */
#pragma once

#include "show/figure.h"
#include "top/draw/spark.h"

struct meter {
	const struct figure *figure; /* a rate */
	const char *name;
	unsigned order;
	enum ink ink;
};

REGISTRY(meter, struct meter);

#define METER(object) REGISTER(meter, struct meter, object)

#define METERS_MAX    12

struct meters {
	unsigned count;
	const struct meter *items[METERS_MAX];
	struct series series[METERS_MAX];
	uint64_t before[METERS_MAX];
	uint64_t time_ns;
};

void meters_init(struct meters *meters);
void meters_add(struct meters *meters, const struct snapshot *snapshot);
/* Lines that they take of this area. */
unsigned meters_height(const struct meters *meters, const struct area *area);
void meters_draw(const struct meters *meters, struct canvas *canvas, const struct area *area);
