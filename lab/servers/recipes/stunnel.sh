# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# stunnel, a TLS proxy: stunnel-FLAVOUR/stunnel.
build_stunnel() {
	local flavour=$1
	[ -x "$top/stunnel-$flavour/stunnel" ] && return
	echo "servers: stunnel ($flavour)"
	fetch stunnel4
	build_copy stunnel4 "$flavour"
	CFLAGS="-O2 -g -w $(flags_of "$flavour")" ./configure \
		--prefix="$top/stunnel-$flavour" --disable-libwrap --disable-systemd \
		--disable-fips --with-threads=pthread >>"$log" 2>&1 || die "cannot configure stunnel; see $log"
	make -j2 -C src stunnel >>"$log" 2>&1 || die "cannot build stunnel; see $log"
	mkdir -p "$top/stunnel-$flavour"
	cp src/stunnel "$top/stunnel-$flavour/stunnel"
	rm -rf "$top/work-stunnel4-$flavour"
}
