/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has no dependencies: the recorder inside other programs also uses it. */
#pragma once

#include <stddef.h>

/* The number of items, sorted by the member, whose member is not above the value. */
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
