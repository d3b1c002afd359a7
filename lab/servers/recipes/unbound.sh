# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Unbound, threads with an event loop each, and queries as state machines over it: unbound-hooks/unbound.
build_unbound() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/unbound-hooks/unbound" ] && return
	echo "servers: unbound ($flavour)"
	fetch unbound
	build_copy unbound "$flavour"
	CFLAGS="-O1 -g -w $(flags_of "$flavour")" ./configure --prefix="$top/unbound-hooks" --disable-shared \
		--disable-flto --without-libevent --with-pthreads --without-pythonmodule --disable-systemd \
		>>"$log" 2>&1 ||
		die "cannot configure unbound; see $log"
	make -j2 unbound >>"$log" 2>&1 || die "cannot build unbound; see $log"
	mkdir -p "$top/unbound-hooks"
	cp unbound "$top/unbound-hooks/unbound"
	rm -rf "$top/work-unbound-$flavour"
}
