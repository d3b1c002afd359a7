/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/rules/certainty.h"

double certainty_combine(double a, double b)
{
	bool a_absolute = fabs(a) >= 1, b_absolute = fabs(b) >= 1;

	if (a_absolute && b_absolute)
		return (a > 0) == (b > 0) ? a : 0;
	if (a_absolute || b_absolute)
		return a_absolute ? a : b;
	if (a >= 0 && b >= 0)
		return a + b - a * b;
	if (a < 0 && b < 0)
		return a + b + a * b;
	return (a + b) / (1 - fmin(fabs(a), fabs(b)));
}
