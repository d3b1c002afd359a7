# SPDX-License-Identifier: GPL-2.0-or-later
# Tests, benches and checks. Files are found by wildcard: a new test needs no line here.

# make fuzz HOURS=2 FUZZ=command_line JOBS=8: CPU time of each target (default: ten minutes), which of them, how many at
# once. What they had since they were built counts: an interrupted run goes on.
FUZZ_SECONDS ?= $(if $(HOURS),$(shell awk 'BEGIN { print int($(HOURS) * 3600) }'),600)
FUZZ         ?= *

UNIT_SOURCES  := $(wildcard tests/unit/test_*.c)
UNIT_PROGRAMS := $(UNIT_SOURCES:%.c=$(BUILD)/%)
FUZZ_SOURCES  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_PROGRAMS := $(FUZZ_SOURCES:%.c=$(BUILD)/%)
# Programs that fail on purpose: what the harness must report.
SELF_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/self/*.c))
BENCH_SOURCES := $(wildcard tests/bench/bench_*.c)
BENCHES       := $(BENCH_SOURCES:%.c=$(BUILD)/%)

# Makes of other flavours of the same tree.
MAKE_ASAN = $(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT=-O1
MAKE_FUZZ = $(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz SANITIZE=fuzzer-no-link,address,undefined OPT=-O1 \
	    CC=$(CLANG)
MAKE_COVERAGE = $(MAKE) --no-print-directory BUILD=$(BUILD)/coverage COVERAGE=1 OPT=-O1 CC=$(CLANG)
MAKE_FAST = $(MAKE) --no-print-directory -j2

# Groups that have no test yet are not asked for; an empty group that is asked for fails.
TEST_SELF   := $(if $(wildcard tests/self/*.t),self)
TEST_GOLDEN := $(if $(wildcard tests/golden/*.golden),golden)
TEST_LIVE   := $(if $(wildcard tests/live/*.t),live)
TEST_LAB    := $(if $(wildcard tests/lab/*.t),lab)

.PHONY: unit-programs fuzz-programs bench-programs test-programs test-self test-lab test-vm
unit-programs: $(UNIT_PROGRAMS) $(SELF_PROGRAMS)
fuzz-programs: $(FUZZ_PROGRAMS)
bench-programs: $(BENCHES)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/unit/unit.o $(PARTS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/self/%: $(BUILD)/obj/tests/self/%.o $(BUILD)/obj/tests/unit/unit.o $(PARTS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(PARTS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(PARTS)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The laboratory has programs of its own when it is there.
test-programs: $(if $(wildcard src/main.c),all) unit-programs $(if $(wildcard lab/lab.mk),lab)

test:
	@scripts/setup build test lab
	@$(MAKE_FAST) test-programs
	@$(MAKE_FAST) asan-programs
	@$(MAKE_FAST) fuzz-build
	@tests/run -r 6 -B $(BUILD) unit $(TEST_SELF) $(TEST_GOLDEN) -B $(BUILD)/asan unit $(TEST_GOLDEN) \
		-B $(BUILD)/fuzz $(if $(FUZZ_SOURCES),fuzz) -B $(BUILD) $(TEST_LIVE) $(TEST_LAB)

.PHONY: asan-programs fuzz-build
asan-programs:
	+@$(MAKE_ASAN) $(if $(wildcard src/main.c),all) unit-programs
fuzz-build:
	+@$(MAKE_FUZZ) fuzz-programs

##> test-unit    unit tests; one file: tests/run tests/unit/test_x.c
test-unit:
	@$(MAKE_FAST) unit-programs
	@tests/run -B $(BUILD) unit

##> test-self    tests of the test tools themselves
test-self:
	@$(MAKE_FAST) unit-programs
	@tests/run -B $(BUILD) self

##> test-golden  commands on recorded input; UPDATE=1 rewrites what they should print
test-golden:
	@$(MAKE_FAST) all
	@UPDATE='$(UPDATE)' tests/run -B $(BUILD) golden

##> test-live    against this kernel, in network namespaces of their own (root)
test-live:
	@$(MAKE_FAST) test-programs
	@tests/run -B $(BUILD) live

##> test-lab     tests of the fault laboratory (root)
test-lab:
	@$(MAKE_FAST) test-programs
	@tests/run -B $(BUILD) lab

##> test-fuzz    every fuzz target for a few seconds
test-fuzz:
	@$(MAKE_FAST) fuzz-build
	@tests/run -B $(BUILD)/fuzz fuzz

##> asan         unit and golden tests with the address and undefined-behaviour sanitizers
asan:
	@$(MAKE_FAST) asan-programs
	@tests/run -B $(BUILD)/asan unit $(TEST_GOLDEN)

##> fuzz         each fuzz target until it had HOURS of CPU (default: 10 minutes), JOBS at once; FUZZ=NAME: one of them
fuzz:
	@$(MAKE_FAST) fuzz-build
	@$(MAKE) --no-print-directory -k -O -j$(or $(JOBS),1) \
		$(patsubst tests/fuzz/fuzz_%.c,fuzz-run-%,$(wildcard tests/fuzz/fuzz_$(FUZZ).c))
fuzz-run-%:
	@tests/fuzz/run --cpu $(FUZZ_SECONDS) $(BUILD)/fuzz/tests/fuzz/fuzz_$*

.PHONY: lint-objects
# All that the compilers have to say, without linking.
lint-objects: $(OBJECTS) $(BPF_OBJECTS) $(UNIT_SOURCES:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/tests/unit/unit.o \
	$(FUZZ_SOURCES:%.c=$(BUILD)/obj/%.o) $(BENCH_SOURCES:%.c=$(BUILD)/obj/%.o)

##> lint         format, static checks, house rules, both compilers with -Werror
lint:
	@scripts/lint

##> bench        speed figures
bench:
	@$(MAKE_FAST) all bench-programs
	@for bench in $(BENCHES); do $$bench || exit 1; done

ifneq ($(wildcard scripts/vm),)
##> test-vm      the live tests on Debian's kernel in a virtual machine, and tests that start one of their own
test-vm:
	@scripts/vm test
	@tests/run -B $(BUILD) vm

##> test-kernel  ten minutes of Debian 13's kernel (6.12): tools, quick live tests; a second run goes on from there
.PHONY: test-kernel
test-kernel: all
	@scripts/vm matrix --short
endif

##> load         what SOCKETS (200,000), of which BUSY (1,000) work, and NAMESPACES (300) cost (root)
.PHONY: load
load: all
	@SOCKETS='$(SOCKETS)' BUSY='$(BUSY)' NAMESPACES='$(NAMESPACES)' tests/bench/load $(BUILD)/nest

##> mutants      change one place of the source at a time: do unit and golden tests notice? (MUTANTS="-n 2 PATH ...")
.PHONY: mutants
mutants:
	@$(MAKE_FAST) all unit-programs
	@scripts/mutants -B $(BUILD) $(MUTANTS)

##> coverage     line coverage by the tests of COVERED (unit golden live lab: root; or unit golden)
.PHONY: coverage coverage-programs
COVERED ?= unit golden $(TEST_LIVE) $(TEST_LAB)
coverage-programs:
	+@$(MAKE_COVERAGE) test-programs
coverage:
	@$(MAKE_FAST) coverage-programs
	@rm -rf $(BUILD)/coverage/profiles
	@mkdir -m 1777 -p $(BUILD)/coverage/profiles
	@umask 0; LLVM_PROFILE_FILE='$(abspath $(BUILD))/coverage/profiles/%c%m.profraw' \
		tests/run -r 6 -B $(BUILD)/coverage $(COVERED); scripts/coverage $(BUILD)/coverage

##> bench-agent  what nest agent costs, by number of connections (root, 6 minutes)
.PHONY: bench-agent
bench-agent: all
	@tests/bench/agent-cost 30
	@tests/bench/agent-stalls 30
