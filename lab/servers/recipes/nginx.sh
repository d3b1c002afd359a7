# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# nginx: nginx-FLAVOUR/nginx.
build_nginx() {
	local flavour=$1
	[ -x "$top/nginx-$flavour/nginx" ] && return
	echo "servers: nginx ($flavour)"
	fetch nginx
	build_copy nginx "$flavour"
	./configure --prefix="$top/nginx-$flavour" \
		--with-cc-opt="-O2 -g -w $(flags_of "$flavour")" --without-http_gzip_module \
		--with-http_ssl_module --with-threads >>"$log" 2>&1 || die "cannot configure nginx; see $log"
	make -j2 >>"$log" 2>&1 || die "cannot build nginx; see $log"
	mkdir -p "$top/nginx-$flavour"
	cp objs/nginx "$top/nginx-$flavour/nginx"
	rm -rf "$top/work-nginx-$flavour"
}
