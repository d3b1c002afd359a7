# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Exim, a process per connection that speaks SMTP; policy is expanded per command: exim-hooks/exim.
build_exim() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/exim-hooks/exim" ] && return
	echo "servers: exim ($flavour)"
	fetch exim4
	build_copy exim4 "$flavour"
	mkdir -p Local
	# A comparison of pointers is left out: it is most calls, one for each block of memory and string.
	# It may not be built for root, as which the laboratory runs it: the configuration says so.
	cat >Local/Makefile <<-END
		BIN_DIRECTORY=$top/exim-hooks
		CONFIGURE_FILE=$top/exim-hooks/configure
		SPOOL_DIRECTORY=$top/exim-hooks/spool
		EXIM_USER=mail
		CFLAGS=-O1 -g -w $(flags_of "$flavour") -finstrument-functions-exclude-function-list=is_pointer_in_block
		LFLAGS=
		ROUTER_ACCEPT=yes
		ROUTER_REDIRECT=yes
		TRANSPORT_APPENDFILE=yes
		LOOKUP_LSEARCH=yes
		AUTH_PLAINTEXT=yes
		SUPPORT_CRYPTEQ=yes
		CRYPT_LIBS=-lcrypt
		PCRE2_CONFIG=yes
		USE_DB=yes
		DBMLIB=-ldb
		DISABLE_TLS=yes
		DISABLE_DKIM=yes
		DISABLE_DNSSEC=yes
		HAVE_IPV6=no
		HAVE_ICONV=no
	END
	make -j2 makefile >>"$log" 2>&1 || die "cannot configure exim; see $log"
	make -j2 >>"$log" 2>&1 || die "cannot build exim; see $log"
	mkdir -p "$top/exim-hooks"
	cp build-*/exim "$top/exim-hooks/exim"
	rm -rf "$top/work-exim4-$flavour"
}
