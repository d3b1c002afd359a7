# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# dnsmasq, a process per TCP connection that forwards what it does not know: dnsmasq-hooks/dnsmasq.
build_dnsmasq() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/dnsmasq-hooks/dnsmasq" ] && return
	echo "servers: dnsmasq ($flavour)"
	fetch dnsmasq
	build_copy dnsmasq "$flavour"
	make -j2 CFLAGS="-O1 -g -w $(flags_of "$flavour")" COPTS='-DNO_DHCP -DNO_TFTP -DNO_INOTIFY' >>"$log" 2>&1 ||
		die "cannot build dnsmasq; see $log"
	mkdir -p "$top/dnsmasq-hooks"
	cp src/dnsmasq "$top/dnsmasq-hooks/dnsmasq"
	rm -rf "$top/work-dnsmasq-$flavour"
}
