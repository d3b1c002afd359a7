/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/settings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define AGE_NS NSEC_PER_SEC
/* Each further one of this many namespaces adds AGE_NS. */
#define NAMESPACES_PER_AGE 32
#define FILES_MAX          65536
/* Larger ones are read each time. */
#define SIZE_KEPT 65536

struct place {
	uint64_t path; /* its address: the same constant has the same */
	uint64_t netns;
};

struct setting {
	uint64_t read_ns;
	int error;
	uint32_t len;
	char *text;
};

static void keep(struct setting *setting, uint64_t now_ns, int error, const char *text, size_t len)
{
	if (len > SIZE_KEPT)
		return;
	setting->read_ns = now_ns;
	setting->error = error;
	setting->len = (uint32_t)len;
	setting->text = xrealloc_array(setting->text, len + 1, 1);
	memcpy(setting->text, text, len);
}

int settings_read(struct settings *settings, uint32_t netns, const char *path, uint64_t now_ns, struct buf *text)
{
	struct place place = {(uint64_t)(uintptr_t)path, netns};
	uint64_t age_ns = AGE_NS * (1 + settings->namespaces / NAMESPACES_PER_AGE);
	struct setting *setting;
	size_t before = text->len;
	int r;

	if (settings->files.key_size == 0)
		settings->files = MAP_INIT(sizeof(struct place), sizeof(struct setting), FILES_MAX);
	setting = map_put(&settings->files, &place, NULL);
	if (setting && setting->text && now_ns - setting->read_ns < age_ns) {
		buf_add(text, setting->text, setting->len);
		return setting->error;
	}
	r = buf_read_file(text, path);
	if (setting)
		keep(setting, now_ns, r, buf_text(text) + before, text->len - before);
	return r;
}

void settings_done(struct settings *settings)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&settings->files, &at, &key, &value))
		free(((struct setting *)value)->text);
	map_done(&settings->files);
}
