/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Exit code for what output_close returned, with a message where one is due. */
int output_exit_code(int result);
