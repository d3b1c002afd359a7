/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/live_words.h"
#include "base/clock.h"
#include "base/log.h"

void live_warn_hidden(const struct live *live)
{
	uint64_t ns = live_hidden_ns(live);

	if (ns)
		log_warn("blind for %.3g ms: this kernel does not run BPF programs while pid 1 is on the CPU (nest "
			 "doctor)",
			 (double)ns / (double)NSEC_PER_MSEC);
}

void live_warn_refused(const char *reason)
{
	log_warn("hook not available, its data is missing: %s", reason);
}
