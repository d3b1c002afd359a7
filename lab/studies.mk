# SPDX-License-Identifier: GPL-2.0-or-later
# Studies with real servers: each one target, with a page in docs/studies.

.PHONY: study-slowloris
##> study-slowloris   Slowloris on nginx and Apache built by lab/servers/build (SERVERS=DIRECTORY): found, and the function named
study-slowloris: all
	@lab/studies/slowloris '$(BUILD)' '$(SERVERS)'
