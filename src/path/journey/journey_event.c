/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/journey/journey_event.h"
#include "event/path/path_steps.h"
#include <stddef.h>
#include <string.h>

/* Packets carry no extra fields, so a filter cannot name any. */
static const struct record_type no_extra_type = {.name = "path_extra", .help = "no fields"};

struct shape journey_event_shape(void)
{
	struct shape shape = event_shape(event_find("path.rx"));

	shape.types[EVENT_PART_EXTRA] = &no_extra_type;
	return shape;
}

static void set_stages(struct journey *journey, const struct path_journey *data)
{
	uint64_t at = journey->time_ns;

	journey->stage_count = min_of(data->step_count, PATH_STEPS_MAX);
	for (uint32_t i = 0; i < journey->stage_count; i++) {
		const struct path_step *step = &data->steps[i];

		journey->stages[i] = (struct journey_stage){.start_ns = at,
							    .ns = step->ns,
							    .note = step->note,
							    .cpu = step->cpu,
							    .stage = step->stage,
							    .context = step->context};
		at += step->ns;
		/* A step at this stage exists after all. */
		if (step->stage < PATH_STAGES)
			journey->hidden &= ~(1u << step->stage);
	}
}

/* Stages beyond stage_count are not cleared: that would cost as much as the rest. */
void journey_from_event(const struct event_head *head, const struct path_journey *data, struct journey *journey)
{
	memset(journey, 0, offsetof(struct journey, stages));
	journey->time_ns = head->time_ns;
	journey->total_ns = data->total_ns;
	journey->cookie = head->cookie;
	journey->cgroup_id = head->cgroup_id;
	journey->laddr = head->laddr;
	journey->raddr = head->raddr;
	journey->lport = head->lport;
	journey->rport = head->rport;
	journey->dir = data->dir;
	journey->end = data->end;
	journey->family = head->family;
	journey->proto = head->proto;
	journey->pid = head->pid;
	journey->tid = head->tid;
	journey->uid = head->uid;
	journey->netns = head->netns;
	journey->bytes = data->bytes;
	journey->seq = data->seq;
	journey->end_seq = data->end_seq;
	journey->reason = data->end == PATH_DROPPED ? data->reason : 0;
	journey->hidden = data->hidden;
	memcpy(journey->comm, head->comm, sizeof(journey->comm));
	memcpy(journey->dev, data->dev, sizeof(journey->dev));
	set_stages(journey, data);
}

/* CPU that emitted the event: transmit when the data left TCP, receive when it was read. */
static uint32_t event_cpu(const struct journey *journey)
{
	uint32_t last = journey->stage_count ? journey->stage_count - 1 : 0;
	uint16_t cpu = journey->stage_count ? journey->stages[journey->dir == PACKET_TX ? 0 : last].cpu : UINT16_MAX;

	return cpu == UINT16_MAX ? EVENT_UNKNOWN32 : cpu;
}

void journey_to_event(const struct journey *journey, struct journey_event *event)
{
	*event = (struct journey_event){
		.head = {.time_ns = journey->time_ns,
			 .cookie = journey->cookie,
			 .cgroup_id = journey->cgroup_id,
			 .laddr = journey->laddr,
			 .raddr = journey->raddr,
			 .lport = journey->lport,
			 .rport = journey->rport,
			 .family = journey->family,
			 .proto = journey->proto,
			 .pid = journey->pid,
			 .tid = journey->tid,
			 .uid = journey->uid,
			 .netns = journey->netns,
			 .cpu = event_cpu(journey)},
		.data = {.total_ns = journey->total_ns,
			 .bytes = journey->bytes,
			 .seq = journey->seq,
			 .end_seq = journey->end_seq,
			 .reason = journey->reason,
			 .hidden = journey->hidden,
			 .reader = journey->dir == PACKET_RX ? journey->tid : 0,
			 .dir = journey->dir,
			 .end = journey->end,
			 .step_count = (uint8_t)min_of(journey->stage_count, (uint32_t)PATH_STEPS_MAX)},
	};
	memcpy(event->head.comm, journey->comm, sizeof(event->head.comm));
	memcpy(event->data.dev, journey->dev, sizeof(event->data.dev));
	for (uint8_t i = 0; i < event->data.step_count; i++)
		event->data.steps[i] = (struct path_step){.ns = journey->stages[i].ns,
							  .note = journey->stages[i].note,
							  .cpu = journey->stages[i].cpu,
							  .stage = journey->stages[i].stage,
							  .context = journey->stages[i].context};
	path_add_waits(&event->data);
	event->record = (struct record){.parts = {[EVENT_PART_HEAD] = &event->head, [EVENT_PART_DATA] = &event->data}};
}
