# SPDX-License-Identifier: GPL-2.0-or-later
# Real servers with the hooks of -finstrument-functions, and the same without: built once, kept in build/servers.

SERVERS ?= $(BUILD)/servers

SERVER_NAMES := $(patsubst lab/servers/recipes/%.sh,%,$(wildcard lab/servers/recipes/*.sh))

.PHONY: servers $(SERVER_NAMES:%=servers-%) test-servers
##> servers      real servers from Debian's sources, and the small ones of lab/servers, with hooks (minutes, once)
servers:
	@scripts/setup servers
	@lab/servers/build $(SERVERS) all
$(SERVER_NAMES:%=servers-%): servers-%:
	@scripts/setup servers
	@lab/servers/build $(SERVERS) $*

##> test-servers record them under load: sessions and requests against what their clients did
test-servers: all servers
	@lab/servers/check $(BUILD) $(SERVERS)
