/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/live_words.h"
#include "base/clock.h"
#include "base/log.h"

void live_tell_hidden(const struct live *live)
{
	uint64_t ns = live_hidden_ns(live);

	if (ns)
		log_warn("what came in the %.1f ms in which pid 1 ran was not seen: this kernel runs no BPF program "
			 "then "
			 "(nest doctor tells more)",
			 (double)ns / (double)NSEC_PER_MSEC);
}

void live_tell_refused(const char *reason)
{
	log_warn("what only this hook tells is not seen: %s", reason);
}
