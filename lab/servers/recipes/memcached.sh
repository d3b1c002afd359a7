# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# memcached, threads that have an event loop each and get connections from the one that accepts:
# memcached-hooks/memcached.
build_memcached() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/memcached-hooks/memcached" ] && return
	echo "servers: memcached ($flavour)"
	fetch memcached
	build_copy memcached "$flavour"
	CFLAGS="-O1 -g -w $(flags_of "$flavour")" ./configure --disable-docs --disable-extstore --disable-coverage \
		>>"$log" 2>&1 || die "cannot configure memcached; see $log"
	make -j2 memcached >>"$log" 2>&1 || die "cannot build memcached; see $log"
	mkdir -p "$top/memcached-hooks"
	cp memcached "$top/memcached-hooks/memcached"
	rm -rf "$top/work-memcached-$flavour"
}
