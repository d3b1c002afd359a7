/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random keys, clicks, sizes and settings for the screen of nest top; it never draws what a terminal would obey. */
#include "../unit/top_scene.h"
#include "fuzz.h"
#include "top/model/top_settings.h"

static const uint32_t special[] = {
	KEY_RETURN,    KEY_ESCAPE,   KEY_DELETE_BACK, KEY_TAB_,    KEY_BACKTAB, KEY_GO_UP,
	KEY_GO_DOWN,   KEY_GO_LEFT,  KEY_GO_RIGHT,    KEY_GO_HOME, KEY_GO_END,  KEY_PAGE_UP,
	KEY_PAGE_DOWN, KEY_WHEEL_UP, KEY_WHEEL_DOWN,  KEY_F_(1),   KEY_F_(2),   KEY_F_(3),
	KEY_F_(4),     KEY_F_(5),    KEY_F_(6),       0x65e5,      0x1f600,
};

/* One byte is a key; some take the bytes behind them. */
static size_t press(struct top_scene *scene, const uint8_t *data, size_t size)
{
	unsigned x = size > 1 ? data[1] : 0, y = size > 2 ? data[2] : 0;

	if (data[0] < 0x80) {
		(void)top_scene_press(scene, data[0]);
		return 1;
	}
	if (data[0] < 0x80 + ARRAY_SIZE(special)) {
		(void)top_scene_press(scene, special[data[0] - 0x80]);
		return 1;
	}
	switch (data[0]) {
	case 0xff:
		(void)top_scene_next_sample(scene);
		(void)top_scene_draw(scene);
		return 1;
	case 0xfe:
		canvas_done(&scene->canvas);
		canvas_init(&scene->canvas, x, y, x & 1);
		(void)top_scene_draw(scene);
		return 3;
	case 0xfd:
	case 0xfc:
		screen_press(
			scene->screen,
			&(struct key_press){.key = data[0] == 0xfd ? KEY_CLICK : KEY_DOUBLE_CLICK, .x = x, .y = y});
		(void)top_scene_draw(scene);
		return 3;
	case 0xfb:
		top_scene_diagnose(scene, scene->snapshot->begin_time_ns + x * 1000000000ULL, (double)y / 255);
		return 3;
	default:
		return 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct top_settings settings;
	struct top_scene scene;

	top_settings_init(&settings);
	top_settings_parse(&settings, (const char *)data, size);
	top_settings_done(&settings);
	if (size > 400)
		return 0;
	fuzz_require(top_scene_open(&scene, size % 2 == 0, 80, 24));
	for (size_t at = 0; at < size && !scene.screen->quit;) {
		at += press(&scene, data + at, size - at);
		for (size_t i = 0; i < scene.text.len; i++)
			fuzz_require((uint8_t)scene.text.data[i] >= 0x20 || scene.text.data[i] == '\n');
	}
	top_scene_done(&scene);
	return 0;
}
