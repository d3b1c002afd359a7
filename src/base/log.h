/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the user, all on stderr and all starting with "nest: ". Only commands and main log above debug level;
 * lower layers return a code and fill a struct why.
 */
#pragma once

#include "base/macros.h"

enum log_level { LOG_LEVEL_QUIET, LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_STATUS, LOG_LEVEL_DEBUG };

/*
 * LOG_LEVEL_STATUS, the default: what scripts rely on and a person at a terminal knows anyway, `nest: ready` and the
 * closing line. main stays below it on a terminal, unless -v asks for it.
 */
void log_set_level(enum log_level level);
/* Whether the level is enabled: check before formatting an expensive message. */
bool log_speaks(enum log_level level);
/* Messages go to this function instead of stderr, while a screen is shown; NULL: to stderr again. */
void log_divert(void (*take)(void *context, const char *message), void *context);
void log_write(enum log_level level, const char *format, ...) _printf_(2, 3);

#define log_error(...)  log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)   log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_status(...) log_write(LOG_LEVEL_STATUS, __VA_ARGS__)
#define log_debug(...)  log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* For errors that cannot be returned to a caller; printed at every level. */
#define log_abort(...) (log_write(LOG_LEVEL_QUIET, __VA_ARGS__), abort())
