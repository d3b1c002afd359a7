# SPDX-License-Identifier: GPL-2.0-or-later
# Real servers with the hooks of -finstrument-functions, and the same without: built once, kept in build/servers.

SERVERS ?= $(BUILD)/servers

.PHONY: servers servers-nginx servers-apache servers-stunnel test-servers
##> servers      nginx, Apache httpd and stunnel from Debian's sources, with and without hooks (minutes, once)
servers:
	@scripts/setup servers
	@lab/servers/build $(SERVERS) all
servers-nginx servers-apache servers-stunnel: servers-%:
	@scripts/setup servers
	@lab/servers/build $(SERVERS) $*

##> test-servers record them under load: sessions and requests against what their clients did
test-servers: all servers
	@lab/servers/check $(BUILD) $(SERVERS)
