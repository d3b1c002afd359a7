# SPDX-License-Identifier: GPL-2.0-or-later

##> test-scrape  Prometheus and VictoriaMetrics scrape nest agent (root); part of test-fleet
.PHONY: test-fleet test-scrape
test-fleet: test-scrape
test-scrape: all
	@scripts/setup test fleet
	@tests/run tests/fleet/scrape.t
