# SPDX-License-Identifier: GPL-2.0-or-later
# libnestflow.so, the recorder inside an observed program: a guest, so it uses nothing from the rest of the tree except
# the trace layout, no sanitizers, and resolves every symbol at load time.

NESTFLOW_SOURCES := $(wildcard src/flow/runtime/*.c)
# Also used outside the runtime; they follow the rules of a guest.
NESTFLOW_SOURCES += src/flow/trace/digest.c src/flow/trace/digest_session.c
NESTFLOW_OBJECTS := $(NESTFLOW_SOURCES:%.c=$(BUILD)/obj/%.pic.o)

$(BUILD)/obj/src/flow/%.pic.o: src/flow/%.c | $(BUILD)/.packages
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -Isrc -std=gnu17 -O2 -g -fPIC -fvisibility=hidden -fno-plt -fomit-frame-pointer \
		-fno-tree-slp-vectorize -fcf-protection=none -falign-functions=64 $(WARNINGS) \
		-ffile-prefix-map=$(CURDIR)=. -MMD -MP -c -o $@ $<

$(BUILD)/libnestflow.so: $(NESTFLOW_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) -shared -Wl,-z,now,-z,relro,-soname,libnestflow.so -o $@ $^

lint-objects: $(NESTFLOW_OBJECTS)

.PHONY: bench-flow bench-flow-rate bench-flow-report
##> bench-flow   cost of recording calls, compared with uftrace and XRay
bench-flow: all
	tests/bench/flow-record.py $(BUILD)
##> bench-flow-report  reading 20 million events of nginx (SERVERS=DIRECTORY): nest flow compare and uftrace report
bench-flow-report: all bench-programs
	tests/bench/flow-report.py $(BUILD) $(SERVERS)
##> bench-flow-rate  all CPUs at full rate for 10 s: every loss is counted (4 GB of disk)
bench-flow-rate: all
	tests/bench/flow-rate.py $(BUILD)
