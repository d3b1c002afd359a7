/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One interface and what stands below it as a record (type "hardware"), with a judgement of what limits it. */
#pragma once

#include "base/out.h"
#include "hardware/nic.h"
#include "record/field.h"

/* A setting: value, what is usual, what it costs, how to change it. */
struct hardware_fact {
	const char *fact;
	const char *value; /* NULL: unknown, or the device has no such thing */
	const char *usual;
	const char *cost;
	const char *change;
};

struct hardware_judgement {
	const char *what;
	const char *severity; /* high, medium, low */
	const char *because;
	const char *advice;
};

struct hardware_pcie {
	const char *speed;
	uint32_t width;
	const char *max_speed;
	uint32_t max_width;
	double rate; /* bytes per second, one direction */
};

struct hardware_queues {
	uint32_t rx, tx;
};

struct hardware_rings {
	uint64_t rx, rx_max, tx, tx_max;
};

struct hardware_cpu {
	uint32_t cpu;
};

struct hardware_irq {
	uint32_t irq;
	const char *queue;
	struct list cpus; /* hardware_cpu */
	uint64_t count;
};

struct hardware_record {
	const char *dev;
	const char *driver;
	const char *firmware;
	const char *bus;
	struct list pcie; /* at most one hardware_pcie */
	uint32_t numa;
	uint64_t speed;
	struct list queues; /* one hardware_queues */
	struct list irqs;   /* hardware_irq */
	struct list rings;  /* at most one hardware_rings */
	struct list facts;  /* hardware_fact */
	struct list judgements;
};

extern const struct record_type hardware_type;

/* A record with what its lists point to. */
struct hardware {
	struct hardware_record record;
	struct hardware_pcie pcie;
	struct hardware_queues queues;
	struct hardware_rings rings;
	VEC(struct hardware_irq) irqs;
	VEC(struct hardware_fact) facts;
	VEC(struct hardware_judgement) judgements;
	VEC(char *) texts;
	VEC(void *) lists;
};

/* The record of an interface that was read. */
struct hardware *hardware_new(const struct nic *nic);
void hardware_free(struct hardware *hardware);

const char *hardware_keep(struct hardware *hardware, const char *text);

/* nic_facts.c: the values of all settings. nic_judge.c: what of them is wrong. */
void hardware_add_facts(struct hardware *hardware, const struct nic *nic);
void hardware_add_judgements(struct hardware *hardware, const struct nic *nic);
/* "{dev}", "{ring}", "{channels}", "{rx_queues}" and "{mask}" in a text become values of this interface. */
void hardware_fill(const struct nic *nic, const char *text, struct buf *out);

/* hardware_text.c; all: also what is unknown. */
void hardware_print(const struct hardware *hardware, bool all, struct out *out);
