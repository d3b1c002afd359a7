/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel refused when all programs were loaded (nest tools --try), in a file of the user's runtime directory:
 * $XDG_RUNTIME_DIR/nest where that is the user's own, else /run/nest for root and /run/user/UID/nest for others. It is
 * read only when it is of this boot, kernel, program and user with these capabilities; and as it lies where others
 * might have been, only a regular file of this user in a directory of this user that nobody else can enter, with
 * nothing odd in it. There is none where tests ask for other hooks (hook_is_restricted).
 */
#pragma once

#include "event/core/hooks.h"

/* -ENOENT: there is none, or not of here and now, or it cannot be trusted. */
int available_cache_load(struct hook_refusals *ret_refusals) _must_check_;
/* Replaces the file in one step. */
int available_cache_save(const struct hook_refusals *refusals) _must_check_;

/* The same in a directory of the caller's choice, for what the key says. */
int available_cache_load_from(const char *dir, const char *key, struct hook_refusals *ret_refusals) _must_check_;
int available_cache_save_to(const char *dir, const char *key, const struct hook_refusals *refusals) _must_check_;
