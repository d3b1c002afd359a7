# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of the laboratory: the relay (a network that misbehaves) and the applications that talk through it.
LAB_WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
LAB_CFLAGS = $(CFLAGS) -std=gnu17 -D_GNU_SOURCE -Isrc -Ilab $(LAB_WARN) -MMD -MP

LAB_RELAY_OBJS := $(patsubst lab/%.c,$(BUILD)/lab/%.o,lab/common.c $(wildcard lab/relay*.c))

.PHONY: lab
lab: $(BUILD)/lab/relay

$(BUILD)/lab/%.o: lab/%.c
	@mkdir -p $(@D)
	$(CC) $(LAB_CFLAGS) -c -o $@ $<

$(BUILD)/lab/relay: $(LAB_RELAY_OBJS) $(BASE_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

-include $(LAB_RELAY_OBJS:.o=.d)
