/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hardware/hardware.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "record/value.h"

static const struct field cpu_fields[] = {
	FIELD(struct hardware_cpu, cpu, ID, "CPU"),
};
static RECORD_TYPE(hardware_cpu_type, "hardware_cpu", struct hardware_cpu, cpu_fields, "a CPU of an interrupt",
		   .bare = true);

#define I struct hardware_irq
static const struct field irq_fields[] = {
	FIELD(I, irq, ID, "number of the interrupt"),
	FIELD(I, queue, TEXT, "what it serves, as in /proc/interrupts"),
	FIELD(I, cpus, LIST, "CPUs that handle it", .element = &hardware_cpu_type),
	FIELD(I, count, COUNT, "interrupts since boot"),
};
#undef I
static RECORD_TYPE(hardware_irq_type, "hardware_irq", struct hardware_irq, irq_fields, "an interrupt of an interface");

#define P struct hardware_pcie
static const struct field pcie_fields[] = {
	FIELD(P, speed, TEXT, "speed of a lane"),
	FIELD(P, width, ID, "lanes in use", .zero_is_unknown = true),
	FIELD(P, max_speed, TEXT, "highest speed of the device"),
	FIELD(P, max_width, ID, "lanes of the device", .zero_is_unknown = true),
	FIELD(P, rate, RATIO, "what the link carries in one direction, after its encoding", .unit = "B/s",
	      .as_bits = true),
};
#undef P
static RECORD_TYPE(hardware_pcie_type, "hardware_pcie", struct hardware_pcie, pcie_fields,
		   "the PCIe link of an interface");

static const struct field queue_fields[] = {
	FIELD(struct hardware_queues, rx, COUNT, "receive queues"),
	FIELD(struct hardware_queues, tx, COUNT, "transmit queues"),
};
static RECORD_TYPE(hardware_queues_type, "hardware_queues", struct hardware_queues, queue_fields,
		   "queues of an interface");

#define R struct hardware_rings
static const struct field ring_fields[] = {
	FIELD(R, rx, COUNT, "entries of the receive ring"),
	FIELD(R, rx_max, COUNT, "the most that it can have"),
	FIELD(R, tx, COUNT, "entries of the transmit ring"),
	FIELD(R, tx_max, COUNT, "the most that it can have"),
};
#undef R
static RECORD_TYPE(hardware_rings_type, "hardware_rings", struct hardware_rings, ring_fields, "rings of an interface");

#define F struct hardware_fact
static const struct field fact_fields[] = {
	FIELD(F, fact, TEXT, "setting"),
	FIELD(F, value, TEXT, "value"),
	FIELD(F, usual, TEXT, "what is usual"),
	FIELD(F, cost, TEXT, "what it costs when it is not"),
	FIELD(F, change, TEXT, "how to change it"),
};
#undef F
static RECORD_TYPE(hardware_fact_type, "hardware_fact", struct hardware_fact, fact_fields,
		   "a setting below an interface");

#define J struct hardware_judgement
static const struct field judgement_fields[] = {
	FIELD(J, what, TEXT, "name of the judgement"),
	FIELD(J, severity, TEXT, "high, medium or low"),
	FIELD(J, because, TEXT, "the figures"),
	FIELD(J, advice, TEXT, "what to do"),
};
#undef J
static RECORD_TYPE(hardware_judgement_type, "hardware_judgement", struct hardware_judgement, judgement_fields,
		   "something that limits an interface");

#define H struct hardware_record
static const struct field hardware_fields[] = {
	FIELD(H, dev, TEXT, "interface"),
	FIELD(H, driver, TEXT, "driver"),
	FIELD(H, firmware, TEXT, "firmware of the device", .hidden = true),
	FIELD(H, bus, TEXT, "bus and address"),
	FIELD(H, pcie, LIST, "PCIe link", .element = &hardware_pcie_type, .single = true, .hidden = true),
	FIELD(H, numa, ID, "NUMA node of the device"),
	FIELD(H, speed, COUNT, "link speed", .unit = "bit/s"),
	FIELD(H, queues, LIST, "queues", .element = &hardware_queues_type, .single = true, .hidden = true),
	FIELD(H, irqs, LIST, "interrupts", .element = &hardware_irq_type, .hidden = true),
	FIELD(H, rings, LIST, "rings", .element = &hardware_rings_type, .single = true, .hidden = true),
	FIELD(H, facts, LIST, "settings", .element = &hardware_fact_type, .hidden = true),
	FIELD(H, judgements, LIST, "what limits it", .element = &hardware_judgement_type, .hidden = true),
};
#undef H
RECORD_TYPE(hardware_type, "hardware", struct hardware_record, hardware_fields,
	    "an interface and the hardware below it");

const char *hardware_keep(struct hardware *hardware, const char *text)
{
	vec_push(&hardware->texts, xstrdup(text));
	return hardware->texts.items[hardware->texts.count - 1];
}

static const char *keep_known(struct hardware *hardware, const char *text)
{
	return text && text[0] ? hardware_keep(hardware, text) : NULL;
}

static void add_pcie(struct hardware *hardware, const struct nic *nic)
{
	char text[32];

	if (!nic->pcie.width)
		return;
	snprintf(text, sizeof(text), "%.1f GT/s", nic->pcie.gt);
	hardware->pcie.speed = hardware_keep(hardware, text);
	hardware->pcie.width = nic->pcie.width;
	hardware->pcie.rate = pcie_link_rate(&nic->pcie) / 8;
	if (nic->pcie_max.width) {
		snprintf(text, sizeof(text), "%.1f GT/s", nic->pcie_max.gt);
		hardware->pcie.max_speed = hardware_keep(hardware, text);
		hardware->pcie.max_width = nic->pcie_max.width;
	}
	hardware->record.pcie = (struct list){&hardware->pcie, 1};
}

static void add_rings(struct hardware *hardware, const struct nic *nic)
{
	struct hardware_rings *rings = &hardware->rings;

	*rings = (struct hardware_rings){
		.rx = nic_value(nic, LINK_PART_RING, "rx"),
		.rx_max = nic_max(nic, LINK_PART_RING, "rx"),
		.tx = nic_value(nic, LINK_PART_RING, "tx"),
		.tx_max = nic_max(nic, LINK_PART_RING, "tx"),
	};
	if (rings->rx != UINT64_MAX || rings->tx != UINT64_MAX)
		hardware->record.rings = (struct list){rings, 1};
}

static struct list list_of_cpus(struct hardware *hardware, const struct cpu_list *cpus)
{
	unsigned count = cpu_list_count(cpus);
	struct hardware_cpu *items = xzalloc((count + 1) * sizeof(*items));
	unsigned n = 0;

	vec_push(&hardware->lists, items);
	for (unsigned cpu = 0; cpu < CPU_LIST_MAX && n < count; cpu++)
		if (cpu_list_has(cpus, cpu))
			items[n++].cpu = cpu;
	return (struct list){items, n};
}

struct hardware *hardware_new(const struct nic *nic)
{
	struct hardware *hardware = xzalloc(sizeof(*hardware));
	struct hardware_record *record = &hardware->record;

	for (uint32_t i = 0; i < hardware_type.field_count; i++)
		value_set_unknown(&hardware_type.fields[i], record);
	record->dev = hardware_keep(hardware, nic->dev);
	record->driver = keep_known(hardware, nic->driver[0] ? nic->driver : nic_text(nic, LINK_PART_DRIVER, "driver"));
	record->firmware = keep_known(hardware, nic_text(nic, LINK_PART_DRIVER, "firmware"));
	record->bus = keep_known(hardware, nic->bus);
	record->numa = nic->numa < 0 ? UINT32_MAX : (uint32_t)nic->numa;
	record->speed = nic->speed;
	add_pcie(hardware, nic);
	add_rings(hardware, nic);
	hardware->queues = (struct hardware_queues){nic->rx_queues, nic->tx_queues};
	record->queues = (struct list){&hardware->queues, 1};
	vec_each(&nic->irqs, irq)
		vec_push(&hardware->irqs, (struct hardware_irq){.irq = irq->irq,
								.queue = keep_known(hardware, irq->action),
								.cpus = list_of_cpus(hardware, &irq->cpus),
								.count = irq->count});
	hardware_add_facts(hardware, nic);
	hardware_add_judgements(hardware, nic);
	/* An empty list is known to be empty. */
#define LIST_OF(vec) ((struct list){(vec).items ? (void *)(vec).items : "", (uint32_t)(vec).count})
	record->irqs = LIST_OF(hardware->irqs);
	record->facts = LIST_OF(hardware->facts);
	record->judgements = LIST_OF(hardware->judgements);
#undef LIST_OF
	return hardware;
}

void hardware_free(struct hardware *hardware)
{
	if (!hardware)
		return;
	vec_each(&hardware->texts, text)
		free(*text);
	vec_each(&hardware->lists, list)
		free(*list);
	vec_done(&hardware->texts);
	vec_done(&hardware->lists);
	vec_done(&hardware->irqs);
	vec_done(&hardware->facts);
	vec_done(&hardware->judgements);
	free(hardware);
}

/* "f" for CPUs 0 to 3, in groups of 32 as the kernel wants them. */
static void add_mask(const struct cpu_list *cpus, struct buf *out)
{
	bool begun = false;

	for (size_t i = ARRAY_SIZE(cpus->bits) * 2; i-- > 0;) {
		uint32_t word = (uint32_t)(cpus->bits[i / 2] >> (i % 2 * 32));

		if (begun)
			buf_add_format(out, ",%08x", word);
		else if (word || i == 0)
			buf_add_format(out, "%x", word);
		begun = begun || word;
	}
}

/* A value that is not known keeps its letter, for whoever runs the command to fill in. */
static void add_number(uint64_t value, struct buf *out)
{
	if (value == UINT64_MAX)
		buf_add_char(out, 'N');
	else
		buf_add_format(out, "%" PRIu64, value);
}

/* A name that would be another command in the shell that this is pasted into is left to whoever runs it. */
static void add_dev(const char *dev, struct buf *out)
{
	for (const char *c = dev; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-:@+", *c)) {
			buf_add_text(out, "IFACE");
			return;
		}
	buf_add_text(out, dev);
}

static void add_value(const struct nic *nic, const char *name, size_t len, struct buf *out)
{
	uint64_t channels = nic_max(nic, LINK_PART_CHANNEL, "combined");
	const struct cpu_list *cpus = nic->numa >= 0 ? &nic->node_cpus : &nic->host->online;

	if (strncmp(name, "dev", len) == 0)
		add_dev(nic->dev, out);
	else if (strncmp(name, "ring", len) == 0)
		add_number(nic_max(nic, LINK_PART_RING, "rx"), out);
	else if (strncmp(name, "rx_queues", len) == 0)
		add_number(nic->rx_queues, out);
	else if (strncmp(name, "channels", len) == 0)
		add_number(min_of(channels, (uint64_t)cpu_list_count(cpus)), out);
	else if (strncmp(name, "mask", len) == 0)
		add_mask(&nic->host->online, out);
}

void hardware_fill(const struct nic *nic, const char *text, struct buf *out)
{
	const char *open, *close;

	while ((open = strchr(text, '{')) && (close = strchr(open, '}'))) {
		buf_add(out, text, (size_t)(open - text));
		add_value(nic, open + 1, (size_t)(close - open - 1), out);
		text = close + 1;
	}
	buf_add_text(out, text);
}
