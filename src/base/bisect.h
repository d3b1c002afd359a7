/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Needs nothing but the compiler: the recorder inside other programs uses it, too. */
#pragma once

#include <stddef.h>

/* How many of the items, which are in the order of that member, have one that is not above the value. */
#define bisect(items, count, member, value)                                                                            \
	({                                                                                                             \
		size_t bisect_low_ = 0, bisect_high_ = (count);                                                        \
		while (bisect_low_ < bisect_high_) {                                                                   \
			size_t bisect_middle_ = bisect_low_ + (bisect_high_ - bisect_low_) / 2;                        \
			if ((items)[bisect_middle_].member <= (value))                                                 \
				bisect_low_ = bisect_middle_ + 1;                                                      \
			else                                                                                           \
				bisect_high_ = bisect_middle_;                                                         \
		}                                                                                                      \
		bisect_low_;                                                                                           \
	})
