# SPDX-License-Identifier: GPL-2.0-or-later
# make accuracy [SEEDS=n] [ONLY=pattern] [VERDICT='command'] [ENGINE=name] : see docs/lab.md

SEEDS ?= 1
ONLY  ?= *

.PHONY: accuracy
accuracy: all lab
	NEST_BUILD=$(BUILD) lab/accuracy --seeds $(SEEDS) --only '$(ONLY)' $(if $(VERDICT),--verdict '$(VERDICT)') \
		$(if $(ENGINE),--engine '$(ENGINE)')
