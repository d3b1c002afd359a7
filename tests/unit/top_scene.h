/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of nest top on a bundled recording, without a terminal, with a diagnosis made by hand. */
#pragma once

#include "store/replay.h"
#include "top/screen/screen.h"

struct top_scene {
	struct recording *recording;
	struct replay *replay;
	struct snapshot *snapshot;
	struct screen *screen;
	struct canvas canvas;
	struct buf text;  /* the last drawing */
	struct buf calls; /* what the screen asked its host for */
};

static struct recording *top_scene_recording;

static int top_scene_run(void *context, struct pane *pane, struct why *why)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "run %s;", pane->command);
	if (strncmp(pane->command, "fail", 4) == 0)
		return why_set(why, -2, "it fails");
	pane_feed(pane, "one\ntwo\t2\n\033[31mthree", 20);
	pane_end(pane, 0);
	return 0;
}

static void top_scene_stop(void *context, struct pane *pane)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "stop %s;", pane->command);
}

static void top_scene_copy(void *context, const char *text)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "copy %s;", text);
}

static int top_scene_save(void *context, const char *path, struct why *why)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "save %s;", path);
	return strcmp(path, "bad") == 0 ? why_set(why, -17, "it exists") : 0;
}

static void top_scene_seek(void *context, int64_t by_ns)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "seek %lld;", (long long)(by_ns / 1000000000));
}

static int top_scene_seek_to(void *context, const char *time, struct why *why)
{
	struct top_scene *scene = context;

	(void)why;
	buf_add_format(&scene->calls, "to %s;", time);
	return 0;
}

static void top_scene_faster(void *context, int direction)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "speed %d;", direction);
}

static void top_scene_suspend(void *context)
{
	struct top_scene *scene = context;

	buf_add_text(&scene->calls, "suspend;");
}

static bool top_scene_next(void *context, int direction)
{
	struct top_scene *scene = context;

	buf_add_format(&scene->calls, "finding %d;", direction);
	return direction > 0;
}

static inline void top_scene_diagnose(struct top_scene *scene, uint64_t start_ns, double certainty)
{
	static const struct text_record affects[] = {{"conn:10.77.1.2:59462-10.77.2.2:5001"}, {"peer:[fe80::1]:80"}};
	static const struct text_record next[] = {{"nest tcpretrans --where 'raddr == 10.77.2.2'"}};
	static const struct evidence_record evidence[] = {{"arrives-out-of-order", 0.6, "5 of 10 \033[31mred\033[m"}};
	struct finding_record finding = {.cause = "path-loss",
					 .layer = "path",
					 .module = "path:10.77.2.2",
					 .certainty = certainty,
					 .affects = {affects, ARRAY_SIZE(affects)},
					 .for_evidence = {evidence, 1},
					 .because = "5 of 10 segments \033]0;title\a lost\nand more",
					 .advice = "compare",
					 .next = {next, 1}};
	struct diagnosis_record record = {
		.start_ns = start_ns, .window_ms = 1000, .findings = {&finding, certainty > 0}, .netns_name = "web"};

	findings_add(&scene->screen->findings, &record);
}

/* The next sample of the recording; it begins again at its end. */
static inline bool top_scene_next_sample(struct top_scene *scene)
{
	struct why why = {};
	struct time_range all = {.to_ns = UINT64_MAX};

	if (replay_next(scene->replay, scene->snapshot, &why) > 0) {
		screen_take(scene->screen, scene->snapshot);
		return true;
	}
	replay_close(take_ptr(scene->replay));
	return replay_open(scene->recording, &all, NULL, &scene->replay, &why) == 0;
}

static inline void top_scene_done(struct top_scene *scene)
{
	screen_free(scene->screen);
	canvas_done(&scene->canvas);
	replay_close(scene->replay);
	snapshot_free(scene->snapshot);
	buf_done(&scene->text);
	buf_done(&scene->calls);
}

static inline bool top_scene_open(struct top_scene *scene, bool live, unsigned width, unsigned height)
{
	struct time_range all = {.to_ns = UINT64_MAX};
	struct why why = {};
	struct screen_host host = {.context = scene,
				   .run = top_scene_run,
				   .stop = top_scene_stop,
				   .copy = top_scene_copy,
				   .save = top_scene_save,
				   .suspend = top_scene_suspend,
				   .seek = top_scene_seek,
				   .seek_to = top_scene_seek_to,
				   .faster = top_scene_faster,
				   .next_finding = top_scene_next};

	*scene = (struct top_scene){.text = BUF_INIT(4 << 20), .calls = BUF_INIT(65536), .snapshot = snapshot_new()};
	/* Unpacking it takes longer than all the rest: once in the life of the process. */
	if (!top_scene_recording && recording_open("demo:lossy-path", &top_scene_recording, &why) < 0)
		return false;
	scene->recording = top_scene_recording;
	if (replay_open(scene->recording, &all, NULL, &scene->replay, &why) < 0)
		return false;
	scene->screen = screen_new(&host, live, NULL);
	scene->screen->status.host = "host\033[31m";
	scene->screen->status.file = live ? NULL : "demo:lossy-path";
	canvas_init(&scene->canvas, width, height, true);
	for (unsigned i = 0; i < 6; i++)
		(void)top_scene_next_sample(scene);
	top_scene_diagnose(scene, scene->snapshot->begin_time_ns - 1000000000, 0.6);
	screen_refill(scene->screen, scene->snapshot);
	return true;
}

/* The drawing as text. */
static inline const char *top_scene_draw(struct top_scene *scene)
{
	if (scene->screen->stale)
		screen_refill(scene->screen, scene->snapshot);
	screen_draw(scene->screen, &scene->canvas);
	buf_clear(&scene->text);
	canvas_add_text(&scene->canvas, &scene->text);
	return buf_text(&scene->text);
}

static inline const char *top_scene_press(struct top_scene *scene, uint32_t key)
{
	screen_press(scene->screen, &(struct key_press){.key = key});
	return top_scene_draw(scene);
}

static inline const char *top_scene_type(struct top_scene *scene, const char *text)
{
	for (; *text; text++)
		screen_press(scene->screen, &(struct key_press){.key = (uint32_t)(unsigned char)*text});
	return top_scene_draw(scene);
}
