# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Redis, an event loop with commands in one thread: redis-hooks/redis-server.
build_redis() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/redis-hooks/redis-server" ] && return
	echo "servers: redis ($flavour)"
	fetch redis
	build_copy redis "$flavour"
	# Debian's patches link the libraries of the system; the bundled ones need no other package.
	make -j2 MALLOC=libc USE_SYSTEMD=no USE_SYSTEM_JEMALLOC=no USE_SYSTEM_LUA=no USE_SYSTEM_HIREDIS=no \
		OPTIMIZATION=-O2 REDIS_CFLAGS="-w $(flags_of "$flavour")" redis-server -C src >>"$log" 2>&1 ||
		die "cannot build redis; see $log"
	mkdir -p "$top/redis-hooks"
	cp src/redis-server "$top/redis-hooks/redis-server"
	rm -rf "$top/work-redis-$flavour"
}
