# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Tinyproxy, a thread per connection: tinyproxy-hooks/tinyproxy.
build_tinyproxy() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/tinyproxy-hooks/tinyproxy" ] && return
	echo "servers: tinyproxy ($flavour)"
	fetch tinyproxy
	build_copy tinyproxy "$flavour"
	[ -x configure ] || ./autogen.sh >>"$log" 2>&1 || die "cannot prepare tinyproxy; see $log"
	CFLAGS="-O1 -g -w $(flags_of "$flavour")" ./configure --prefix="$top/tinyproxy-hooks" --enable-reverse \
		--enable-filter --disable-manpage_support >>"$log" 2>&1 || die "cannot configure tinyproxy; see $log"
	make -j2 -C src >>"$log" 2>&1 || die "cannot build tinyproxy; see $log"
	mkdir -p "$top/tinyproxy-hooks"
	cp src/tinyproxy "$top/tinyproxy-hooks/tinyproxy"
	cp -r data/templates "$top/tinyproxy-hooks/templates"
	rm -rf "$top/work-tinyproxy-$flavour"
}
