# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# ProFTPD, a process per connection that answers one command after the other: proftpd-hooks/sbin/proftpd.
build_proftpd() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/proftpd-hooks/sbin/proftpd" ] && return
	echo "servers: proftpd ($flavour)"
	fetch proftpd-dfsg
	build_copy proftpd-dfsg "$flavour"
	# Without the pause of 0.2 s that the accepting process makes after a signal, so after the end of each child.
	CFLAGS="-O1 -g -w -DPR_TUNABLE_EINTR_RETRY_INTERVAL=0 $(flags_of "$flavour")" ./configure \
		--prefix="$top/proftpd-hooks" --with-modules=mod_digest \
		--disable-auth-pam --disable-cap --disable-ident --disable-nls --disable-ipv6 --disable-strip \
		>>"$log" 2>&1 || die "cannot configure proftpd; see $log"
	make -j2 proftpd >>"$log" 2>&1 || die "cannot build proftpd; see $log"
	mkdir -p "$top/proftpd-hooks/sbin" "$top/proftpd-hooks/var/proftpd"
	cp proftpd "$top/proftpd-hooks/sbin/proftpd"
	rm -rf "$top/work-proftpd-dfsg-$flavour"
}
