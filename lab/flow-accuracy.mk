# SPDX-License-Identifier: GPL-2.0-or-later
# make flow-accuracy [SEEDS=n] [ONLY=pattern] [APART=1] : see docs/studies/flow-accuracy.md

.PHONY: flow-accuracy
##> flow-accuracy    accuracy of the flow comparison: servers with faults and healthy mixes (SEEDS=, ONLY=, APART=1)
flow-accuracy: all
	@scripts/setup servers
	@lab/servers/build $(SERVERS) all hooks
	NEST_BUILD=$(BUILD) lab/flow-accuracy --seeds $(SEEDS) --only '$(ONLY)' $(if $(APART),--apart)
