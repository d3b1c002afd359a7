/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/event.h"

EVENT_UNION(skb_life, "skb.life", "lifetime of a packet's data in the kernel, received or transmitted", "path.rx",
	    "path.tx");
