/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user chose is there again the next time: "name = value" lines in nest/top of the configuration directory.
 * The file may hold anything; what does not fit is passed over.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/why.h"

#define SETTINGS_BYTES_MAX 65536
#define SETTINGS_MAX       256

struct top_settings {
	struct map values; /* name -> char * */
};

void top_settings_init(struct top_settings *settings);
void top_settings_done(struct top_settings *settings);
void top_settings_parse(struct top_settings *settings, const char *text, size_t len);
/* NULL: not set. */
const char *top_settings_get(const struct top_settings *settings, const char *name);
void top_settings_set(struct top_settings *settings, const char *name, const char *value);
void top_settings_add_text(const struct top_settings *settings, struct buf *out);

/* A missing file is empty. */
void top_settings_load(struct top_settings *settings);
int top_settings_save(const struct top_settings *settings, struct why *why) _must_check_;
