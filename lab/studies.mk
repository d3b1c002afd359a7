# SPDX-License-Identifier: GPL-2.0-or-later
# Studies with real servers: one target each, with a page in docs/studies.

.PHONY: study-slowloris study-hand-over study-proxy
##> study-slowloris   Slowloris on nginx and Apache of lab/servers/build (SERVERS=DIRECTORY): found, function named
study-slowloris: all
	@lab/studies/slowloris '$(BUILD)' '$(SERVERS)'

##> study-hand-over   work passed between thread pools: the diagram shows every handover
study-hand-over: all
	@lab/studies/hand-over '$(BUILD)'

##> study-proxy       stunnel in front of nginx, a delay in either (SERVERS=DIRECTORY): align names it
study-proxy: all
	@lab/studies/proxy '$(BUILD)' '$(SERVERS)'
