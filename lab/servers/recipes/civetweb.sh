# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# CivetWeb, worker threads behind a queue of accepted connections: civetweb-hooks/civetweb.
build_civetweb() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/civetweb-hooks/civetweb" ] && return
	echo "servers: civetweb ($flavour)"
	fetch civetweb
	build_copy civetweb "$flavour"
	mkdir -p "$top/civetweb-hooks"
	# shellcheck disable=SC2046
	gcc -O1 -g -w $(flags_of "$flavour") -DLINUX -DNO_SSL -DUSE_STACK_SIZE=1048576 -Iinclude -pthread \
		-o "$top/civetweb-hooks/civetweb" src/main.c src/civetweb.c -ldl >>"$log" 2>&1 ||
		die "cannot build civetweb; see $log"
	rm -rf "$top/work-civetweb-$flavour"
}
