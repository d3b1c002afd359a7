# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build build/nest; says which package is missing, installs nothing
# make run        install what is missing, build, show this host's network stack trace
# make test       install what is missing, build, run every test
# make help       all targets
#
# Sources are found by wildcard: a new file needs no line here.

# What the program is built for: this machine, or make ARCH=arm64 with a cross compiler and the libraries in SYSROOT
# (make sysroot ARCH=arm64 fetches them). Names of Debian and of uname -m are the same here.
ARCH    ?= $(HOST)
HOST    := $(shell uname -m)
MACHINE := $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(ARCH)))

# BPF programs read the registers of system calls: an architecture needs src/kernel/registers.bpf.h, too.
BPF_ARCH_x86_64  := x86
BPF_ARCH_aarch64 := arm64
BPF_ARCH         := $(BPF_ARCH_$(MACHINE))
ifeq ($(BPF_ARCH),)
$(error nest is built for x86_64 (amd64) and aarch64 (arm64), not for '$(ARCH)': its BPF programs know only their \
registers. To add one: src/kernel/registers.bpf.h and BPF_ARCH_ in the Makefile)
endif

IS_CROSS := $(filter-out $(HOST),$(MACHINE))
ROOTS    := $(or $(NEST_ROOTS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nest)
SYSROOT  ?= $(if $(IS_CROSS),$(ROOTS)/sysroot-$(BPF_ARCH:x86=amd64))

BUILD   ?= build$(if $(IS_CROSS),/$(MACHINE))
PREFIX  ?= /usr/local
DESTDIR ?=

CC         := $(if $(filter default,$(origin CC)),$(if $(IS_CROSS),$(MACHINE)-linux-gnu-)gcc,$(CC))
CC         += $(if $(SYSROOT),--sysroot=$(SYSROOT))
CLANG      ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL    ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)

VERSION := $(shell cat VERSION)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef \
	    -Wformat=2 -Wno-format-nonliteral -Wno-missing-field-initializers -Wvla -Wimplicit-fallthrough
ifdef WERROR
WARNINGS += -Werror
endif

comma    := ,
OPT      ?= -O2
SANITIZE ?=
CPPFLAGS += -D_GNU_SOURCE -DNEST_VERSION='"$(VERSION)"' -Isrc
CFLAGS   += -std=gnu17 $(OPT) -g -fno-common -fno-omit-frame-pointer $(WARNINGS)
ifdef SANITIZE
CFLAGS   += -fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined
LDFLAGS  += -fsanitize=$(SANITIZE)
else
# make coverage: counters live in a mapped file, so that a process that may open none, or is killed, counts, too.
CFLAGS   += $(if $(COVERAGE),-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation)
LDFLAGS  += $(if $(COVERAGE),-fprofile-instr-generate)
CPPFLAGS += -D_FORTIFY_SOURCE=2
CFLAGS   += -fstack-protector-strong -fPIE
LDFLAGS  += $(if $(STATIC),-static-pie,-pie) -Wl,-z,relro,-z,now
LDFLAGS  += $(if $(filter x86_64,$(MACHINE)$(STATIC)),-Wl$(comma)-z$(comma)pack-relative-relocs)
endif
# make static: archives that Debian lacks are built before; the map says which objects of which archive are in.
LDFLAGS  += $(if $(STATIC),-L$(BUILD)/lib -Wl$(comma)-Map=$(BUILD)/nest.map)
# What base/ needs, and with it the programs of the laboratory.
BASE_LIBS := -lseccomp -lz -lm
LDLIBS   += -lsqlite3 -lmnl -lbpf -lelf -lz -ljansson -liberty -lncursesw -ltinfo -lmicrohttpd $(BASE_LIBS)

# All files below a folder with an ending, but for those of the runtime library, which is a program of
# its own (src/flow/runtime.mk).
below = $(filter-out src/flow/runtime/%,$(sort $(shell find $(1) -type f -name '$(2)')))

# The engines of the papers stand beside the laboratory that compares them.
SOURCES := $(filter-out %.bpf.c,$(call below,src,*.c)) $(wildcard lab/engines/*.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/obj/%.o)

# Files carried inside the program, BPF objects, diagnosis rules, recordings, pages: found again by name through
# base/embed.h. Those of events are linked into one: it is opened and relocated once, and its parts share maps.
BPF_SOURCES   := $(filter-out src/event/%,$(call below,src,*.bpf.c))
EVENT_SOURCES := $(call below,src/event,*.bpf.c)
EVENT_OBJECTS := $(EVENT_SOURCES:%.bpf.c=$(BUILD)/bpf/%.bpf.o)
# Once more for kernels whose BPF lacks atomic operations with a result (src/event/bpf/basic.bpf.h); paths need them.
BASIC_SOURCES := $(filter-out src/event/path/%,$(EVENT_SOURCES))
BASIC_OBJECTS := $(BASIC_SOURCES:%.bpf.c=$(BUILD)/bpf/basic/%.bpf.o)
BPF_OBJECTS   := $(BPF_SOURCES:%.bpf.c=$(BUILD)/bpf/%.bpf.o) $(EVENT_OBJECTS) $(BASIC_OBJECTS)
EMBEDDED      := $(BPF_SOURCES:%.bpf.c=$(BUILD)/obj/%.bpf.embed.o) $(BUILD)/obj/src/event/events.bpf.embed.o \
	       $(BUILD)/obj/src/event/events-basic.bpf.embed.o \
	       $(patsubst %,$(BUILD)/obj/%.embed.o,$(foreach ending,rules gz html,$(call below,src,*.$(ending))))

# Everything but main: what tests, benches and laboratory programs link with.
PARTS     := $(filter-out $(BUILD)/obj/src/main.o,$(OBJECTS)) $(EMBEDDED)
BASE_OBJS := $(filter $(BUILD)/obj/src/base/%,$(OBJECTS))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$@)')

.DELETE_ON_ERROR:
.PHONY: FORCE all run test test-unit test-golden test-live test-fuzz lint asan fuzz bench install clean help setup-check
.SECONDARY:

all: $(BUILD)/nest $(BUILD)/libnestflow.so

$(BUILD)/nest: $(OBJECTS) $(EMBEDDED) $(BUILD)/.objects
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OBJECTS) $(EMBEDDED) $(LDLIBS)

LINKED := $(OBJECTS) $(EMBEDDED) $(EVENT_OBJECTS) $(BASIC_OBJECTS)

# Touched when a source came or went: a file that was removed must leave the program, too.
$(BUILD)/.objects: FORCE
	@mkdir -p $(@D)
	@echo '$(LINKED)' | cmp -s - $@ || echo '$(LINKED)' >$@
FORCE:

# A missing package is named before the compiler stumbles over it.
$(BUILD)/.packages: scripts/setup
	@mkdir -p $(@D)
	@SYSROOT='$(SYSROOT)' scripts/setup --check build $(if $(IS_CROSS),cross)
	@touch $@

$(BUILD)/obj/%.o: %.c | $(BUILD)/.packages
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(patsubst %.c,$(BUILD)/obj/%.o,$(shell grep -rl --include='*.c' NEST_VERSION src)): VERSION

# Of the clone, or of the file that make dist leaves in its tarball. Touched when it changes, as .objects.
COMMIT := $(shell cat COMMIT 2>/dev/null || git describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null)
$(BUILD)/.commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
$(BUILD)/obj/src/run/build_info.o: CPPFLAGS += -DNEST_COMMIT='"$(COMMIT)"'
$(BUILD)/obj/src/run/build_info.o: $(BUILD)/.commit

# Without the path of this tree, which would stand in the line info of BTF.
BPF_FLAGS := -target bpf -mcpu=v3 -ffile-prefix-map=$(CURDIR)=. -D__TARGET_ARCH_$(BPF_ARCH) -Isrc -O2 -g \
	     -Wall -Wextra -Wno-unused-parameter \
	     -isystem $(SYSROOT)/usr/include/$(MACHINE)-linux-gnu $(if $(SYSROOT),-isystem $(SYSROOT)/usr/include)

define compile_bpf
	$(call say,BPF)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) $(1) $(if $(WERROR),-Werror) -MMD -MP -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g -w -N 'LBB*' $@
endef

define link_bpf
	$(call say,BPF)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $@ $(1)
endef

$(BUILD)/bpf/basic/%.bpf.o: %.bpf.c | $(BUILD)/.packages
	$(call compile_bpf,-DBPF_BASIC)

$(BUILD)/bpf/%.bpf.o: %.bpf.c | $(BUILD)/.packages
	$(call compile_bpf)

$(BUILD)/bpf/src/event/events.bpf.o: $(EVENT_OBJECTS) $(BUILD)/.objects
	$(call link_bpf,$(EVENT_OBJECTS))

$(BUILD)/bpf/src/event/events-basic.bpf.o: $(BASIC_OBJECTS) $(BUILD)/.objects
	$(call link_bpf,$(BASIC_OBJECTS))

# The first prerequisite, as a file of that name inside the program.
embed = $(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -DEMBED_NAME='"$(1)"' -DEMBED_PATH='"$<"' -x c -c -o $@ src/base/embed.inc

$(BUILD)/obj/%.bpf.embed.o: $(BUILD)/bpf/%.bpf.o src/base/embed.inc
	$(call say,EMBED)
	@mkdir -p $(@D)
	$(call embed,$(notdir $*).bpf.o)

$(BUILD)/obj/%.embed.o: % src/base/embed.inc | $(BUILD)/.packages
	$(call say,EMBED)
	@mkdir -p $(@D)
	$(call embed,$(notdir $*))

include $(wildcard tests/*.mk lab/*.mk scripts/*.mk src/*/*.mk web/*.mk)

run:
	@scripts/setup build
	@$(MAKE) --no-print-directory all
	$(BUILD)/nest

install: all
	install -D -m 755 $(BUILD)/nest $(DESTDIR)$(PREFIX)/bin/nest
	install -D -m 755 $(BUILD)/libnestflow.so $(DESTDIR)$(PREFIX)/lib/nest/libnestflow.so
	install -D -m 644 src/flow/runtime/nestflow.h $(DESTDIR)$(PREFIX)/include/nestflow.h
	$(BUILD)/nest help --install-pages '$(DESTDIR)$(PREFIX)/share'
	$(BUILD)/nest explain --pages '$(DESTDIR)$(PREFIX)/share/doc/nest/causes'

##> sysroot      fetch the libraries of another architecture: make sysroot ARCH=arm64, then make ARCH=arm64
.PHONY: sysroot
sysroot:
	@scripts/setup distros cross
	@scripts/distros sysroot $(BPF_ARCH:x86=amd64)

##> pages        a page for every cause of the diagnosis, as Markdown, in $(BUILD)/docs/causes
.PHONY: pages
pages: all
	$(BUILD)/nest explain --pages $(BUILD)/docs/causes

##> pictures     regenerate the pictures of README.md from bundled recordings (needs chromium)
.PHONY: pictures
pictures: all
	@scripts/pictures $(BUILD)/nest docs/pictures

clean:
	rm -rf $(BUILD)

help:
	@echo 'all          build $(BUILD)/nest (default)'
	@echo 'run          install what is missing, build, run'
	@echo 'test         install what is missing, build, run every test'
	@sed -n 's/^##> //p' $(MAKEFILE_LIST)
	@echo 'install      to DESTDIR and PREFIX (/usr/local), with man pages and completions'
	@echo 'clean        remove $(BUILD)'

-include $(shell find $(BUILD)/obj $(BUILD)/bpf $(BUILD)/tests $(BUILD)/lab -name '*.d' 2>/dev/null)
