# SPDX-License-Identifier: GPL-2.0-or-later
# The page of nest serve: bundled by esbuild, compressed, embedded as index.html.gz, app.js.gz and so on; export.html.gz
# is the template of pages in files (src/view/page.h).
#
# It needs node and npm. Without them, or without the packages of the lock file, web/build says in one line what is
# missing, nest serve shows the same sentence instead of the page, and a later make tries again.

WEB          := $(BUILD)/web
PAGE_SOURCES := $(wildcard web/build web/*.mjs web/*.json) $(sort $(shell find web/src -type f))
PAGE_FILES   := index.html.gz app.js.gz app.css.gz icon.svg.gz export.html.gz licences.txt
PAGE_OBJECTS := $(PAGE_FILES:%=$(BUILD)/obj/web/%.embed.o)

# Not in programs with sanitizers: they are there to find faults of the C code.
ifndef SANITIZE
EMBEDDED += $(PAGE_OBJECTS)
LINKED   += $(PAGE_OBJECTS)
$(BUILD)/nest: $(PAGE_OBJECTS)
endif

$(WEB)/.built: $(PAGE_SOURCES)
	$(call say,PAGE)
	$(Q)web/build $(WEB)

# Made by the same run; a file that did not change keeps its time.
$(PAGE_FILES:%=$(WEB)/%): $(WEB)/.built ;

$(BUILD)/obj/web/%.embed.o: $(WEB)/% src/base/embed.inc | $(BUILD)/.packages
	$(call say,EMBED)
	@mkdir -p $(@D)
	$(call embed,$*)

.PHONY: test-web
##> test-web     the page in Chromium: every view, keyboard, accessibility, no request to another host
test-web:
	@scripts/setup build page browser fleet
	@$(MAKE_FAST) all
	@web/build --check $(WEB)
	@tests/run -B $(BUILD) web
