# SPDX-License-Identifier: GPL-2.0-or-later
# make accuracy [SEEDS=n] [ONLY=pattern] [WAYS=late,past,early,both] [JOBS=n] [VERDICT=command] [ENGINE=name]: see
# docs/lab.md

SEEDS ?= 1
ONLY  ?= *

.PHONY: accuracy
accuracy: all lab
	NEST_BUILD=$(BUILD) lab/accuracy --seeds $(SEEDS) --only '$(ONLY)' $(if $(VERDICT),--verdict '$(VERDICT)') \
		$(if $(ENGINE),--engine '$(ENGINE)') $(if $(WAYS),--ways '$(WAYS)') $(if $(JOBS),--jobs '$(JOBS)')

.PHONY: accuracy-grid
##> accuracy-grid  late looks at composed scenarios: EACH (3) combinations of each fault, SEED (1; root)
accuracy-grid: all lab
	@lab/grid --out $(BUILD)/grid --each $(or $(EACH),3) --seed $(or $(SEED),1)
	NEST_BUILD=$(BUILD) NEST_SCENARIOS=$(BUILD)/grid lab/accuracy --ways late --out $(BUILD)/accuracy-grid \
		$(if $(JOBS),--jobs '$(JOBS)')

.PHONY: next-steps
##> next-steps   run the next commands of every verdict of the laboratory while its fault is on (root)
next-steps: all lab
	NEST_BUILD=$(BUILD) lab/next-steps --all
