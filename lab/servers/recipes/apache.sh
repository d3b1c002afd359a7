# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Apache httpd with the MPMs worker and event: an installation in apache-FLAVOUR.
build_apache() {
	local flavour=$1
	[ -x "$top/apache-$flavour/bin/httpd" ] && return
	echo "servers: apache ($flavour)"
	fetch apache2
	build_copy apache2 "$flavour"
	# Debian's patch needs a date; a fixed one keeps the build reproducible.
	CFLAGS="-O2 -g -w $(flags_of "$flavour") -DBUILD_DATETIME='\"2000-01-01T00:00:00\"'" ./configure \
		--prefix="$top/apache-$flavour" --enable-mpms-shared='worker event' \
		--with-mpm=event --enable-mods-shared=few \
		--enable-ssl=shared --enable-proxy=shared --enable-proxy-http=shared \
		--disable-lua --disable-http2 --enable-reqtimeout >>"$log" 2>&1 ||
		die "cannot configure apache; see $log"
	make -j2 >>"$log" 2>&1 || die "cannot build apache; see $log"
	make install >>"$log" 2>&1 || die "cannot install apache; see $log"
	rm -rf "$top/work-apache2-$flavour"
}
