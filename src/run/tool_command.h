/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tool's declaration as a command: help, manual page, completion and running come with it. */
#pragma once

#include "run/command.h"
#include "tool/core/tool.h"

/* Its options are allocated: those that the tool's events can be selected by. */
struct command tool_command(const struct tool *tool);
