# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that take hours: see docs/endurance.md.

##> soak         nest watch, record and a tool beside connections that come and go: HOURS (6), RATE (100/s; root)
.PHONY: soak attach-cycles
soak: all
	@tests/endurance/soak $(BUILD)/nest $(or $(HOURS),6) $(RATE)

##> attach-cycles  attach and detach CYCLES times (10,000; root): nothing is left in the kernel, memory stays
attach-cycles: all
	@tests/endurance/attach-cycles $(BUILD)/nest $(or $(CYCLES),10000)
