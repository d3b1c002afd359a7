# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of the laboratory: the relay (a network emulator) and the traffic applications.
#
##> lab          build the laboratory programs: build/lab/relay and build/lab/app

LAB_COMMON := $(BUILD)/obj/lab/common.o
LAB_RELAY  := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lab/relay*.c)) $(LAB_COMMON)
LAB_APP    := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lab/app*.c)) $(LAB_COMMON)

.PHONY: lab
lab: $(BUILD)/lab/relay $(BUILD)/lab/app

$(BUILD)/lab/relay: $(LAB_RELAY) $(BASE_OBJS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BASE_LIBS)

$(BUILD)/lab/app: $(LAB_APP) $(BASE_OBJS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pthread -o $@ $^ $(BASE_LIBS)
