# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# lighttpd, an event loop with plug-ins, all linked in: lighttpd-hooks/sbin/lighttpd.
build_lighttpd() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/lighttpd-hooks/sbin/lighttpd" ] && return
	echo "servers: lighttpd ($flavour)"
	fetch lighttpd
	build_copy lighttpd "$flavour"
	CFLAGS="-O2 -g -w $(flags_of "$flavour")" ./configure --prefix="$top/lighttpd-hooks" --without-pcre2 \
		--without-zlib --without-bzip2 --without-brotli --without-zstd >>"$log" 2>&1 ||
		die "cannot configure lighttpd; see $log"
	make -j2 >>"$log" 2>&1 || die "cannot build lighttpd; see $log"
	make install >>"$log" 2>&1 || die "cannot install lighttpd; see $log"
	rm -rf "$top/work-lighttpd-$flavour"
}
