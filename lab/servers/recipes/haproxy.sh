# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# HAProxy, a proxy of tasks and streams over an event loop: haproxy-hooks/haproxy.
build_haproxy() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/haproxy-hooks/haproxy" ] && return
	echo "servers: haproxy ($flavour)"
	fetch haproxy
	build_copy haproxy "$flavour"
	make -j2 TARGET=linux-glibc CPU_CFLAGS="-O1 -g -w $(flags_of "$flavour")" haproxy >>"$log" 2>&1 ||
		die "cannot build haproxy; see $log"
	mkdir -p "$top/haproxy-hooks"
	cp haproxy "$top/haproxy-hooks/haproxy"
	rm -rf "$top/work-haproxy-$flavour"
}
