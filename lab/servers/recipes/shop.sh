# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# shop.cpp over the C++ library cpp-httplib, threads behind a queue of accepted connections: shop-hooks/shop.
build_shop() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ "$top/shop-hooks/shop" -nt "$here/shop.cpp" ] && return
	echo "servers: shop ($flavour)"
	fetch cpp-httplib
	mkdir -p "$top/shop-hooks"
	# The templates of the standard library are left out, as one does: they are most calls, and nobody's fault.
	# shellcheck disable=SC2046
	g++ -std=c++17 -O1 -g -Wall \
		$(flags_of "$flavour") -finstrument-functions-exclude-file-list=/usr/include/ \
		-pthread -I"$top/source/cpp-httplib" -o "$top/shop-hooks/shop" "$here/shop.cpp" >>"$log" 2>&1 ||
		die "cannot build shop; see $log"
}
