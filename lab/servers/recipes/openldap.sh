# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# OpenLDAP's slapd, a thread that listens and a pool of threads for operations: openldap-hooks/slapd.
build_openldap() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/openldap-hooks/slapd" ] && return
	echo "servers: openldap ($flavour)"
	fetch openldap
	build_copy openldap "$flavour"
	# Debian's patch of a path of SASL needs its names, without SASL too.
	CFLAGS="-O1 -g -w $(flags_of "$flavour")" CPPFLAGS='-DSASL_OK=0 -DSASL_FAIL=-1' \
		./configure --prefix="$top/openldap-hooks" --disable-shared \
		--disable-ipv6 --disable-syncprov --disable-relay --without-cyrus-sasl --without-tls --without-systemd \
		--enable-crypt --enable-mdb --enable-ldap --enable-unique >>"$log" 2>&1 ||
		die "cannot configure openldap; see $log"
	make depend >>"$log" 2>&1 || die "cannot build openldap; see $log"
	make -j2 -C libraries >>"$log" 2>&1 || die "cannot build openldap; see $log"
	make -j2 -C servers >>"$log" 2>&1 || die "cannot build openldap; see $log"
	mkdir -p "$top/openldap-hooks"
	cp servers/slapd/slapd "$top/openldap-hooks/slapd"
	# Those of the RFCs are replaced by Debian.
	cp -r servers/slapd/schema debian/schema "$top/openldap-hooks/"
	rm -rf "$top/work-openldap-$flavour"
}
