# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# mini_httpd, a process per request: mini_httpd-hooks/mini_httpd.
build_mini_httpd() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/mini_httpd-hooks/mini_httpd" ] && return
	echo "servers: mini-httpd ($flavour)"
	fetch mini-httpd
	build_copy mini-httpd "$flavour"
	mkdir -p "$top/mini_httpd-hooks"
	make mime_encodings.h mime_types.h >>"$log" 2>&1 || die "cannot prepare mini-httpd; see $log"
	# shellcheck disable=SC2046
	gcc -O1 -g -w $(flags_of "$flavour") -o "$top/mini_httpd-hooks/mini_httpd" mini_httpd.c match.c tdate_parse.c \
		-lcrypt >>"$log" 2>&1 || die "cannot build mini-httpd; see $log"
	rm -rf "$top/work-mini-httpd-$flavour"
}
