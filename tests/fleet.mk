# SPDX-License-Identifier: GPL-2.0-or-later
# The fleet with a real ClickHouse: installs the packages of the group fleet, starts everything itself.

$(BUILD)/tests/fleet/%: $(BUILD)/obj/tests/fleet/%.o $(PARTS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: test-fleet demo-fleet bench-fleet
##> test-fleet   agents, collectors and a real ClickHouse: kills, restarts, every row accounted for
test-fleet:
	@scripts/setup build fleet
	@$(MAKE_FAST) all $(BUILD)/tests/fleet/agents
	@tests/run -B $(BUILD) $(patsubst %,tests/fleet/%.t,fleet balancer conn rows current)

##> bench-fleet  1,000 agents through two collectors: rows per second, bytes per row, CPU
bench-fleet:
	@scripts/setup build fleet
	@$(MAKE_FAST) all $(BUILD)/tests/fleet/agents
	@NEST_BUILD=$(BUILD) tests/fleet/scale

##> demo-fleet   ClickHouse, a collector and the bundled recordings on this machine; prints where to look
demo-fleet:
	@scripts/setup build fleet
	@$(MAKE_FAST) all
	@NEST_BUILD=$(BUILD) tests/fleet/demo
