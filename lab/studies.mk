# SPDX-License-Identifier: GPL-2.0-or-later
# Studies with real servers: each one target, with a page in docs/studies.

.PHONY: study-slowloris study-hand-over study-proxy
##> study-slowloris   Slowloris on nginx and Apache of lab/servers/build (SERVERS=DIRECTORY): found, function named
study-slowloris: all
	@lab/studies/slowloris '$(BUILD)' '$(SERVERS)'

##> study-hand-over   work over a queue between two pools of threads: the diagram shows what goes to whom
study-hand-over: all
	@lab/studies/hand-over '$(BUILD)'

##> study-proxy       stunnel in front of nginx, a delay in either (SERVERS=DIRECTORY): the right one is named
study-proxy: all
	@lab/studies/proxy '$(BUILD)' '$(SERVERS)'
