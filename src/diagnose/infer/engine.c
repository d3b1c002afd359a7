/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/text.h"
#include "diagnose/infer/engine.h"

int engine_find(const char *name, const struct engine **ret_engine, struct why *why)
{
	_cleanup_buf_ struct buf known = BUF_INIT(1024), shown = BUF_INIT(256);
	const char *wanted = name ?: ENGINE_DEFAULT;

	registry_each(engine, engine) {
		if (strcmp((*engine)->name, wanted) == 0) {
			*ret_engine = *engine;
			return 0;
		}
		buf_add_format(&known, "%s%s", known.len ? ", " : "", (*engine)->name);
	}
	text_add_terminal(&shown, wanted, min_of(strlen(wanted), (size_t)60));
	return why_set(why, -ENOENT, "there is no engine '%s': %s", buf_text(&shown), buf_text(&known));
}
