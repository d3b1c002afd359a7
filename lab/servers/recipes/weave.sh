# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# weave.cpp, coroutines on threads that steal work from each other: weave-hooks/weave.
build_weave() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ "$top/weave-hooks/weave" -nt "$here/weave.cpp" ] && return
	echo "servers: weave ($flavour)"
	mkdir -p "$top/weave-hooks"
	# shellcheck disable=SC2046
	g++ -std=c++20 -O1 -g -Wall -Wextra \
		$(flags_of "$flavour") -finstrument-functions-exclude-file-list=/usr/include/ \
		-pthread -I"$here/../../src" -o "$top/weave-hooks/weave" "$here/weave.cpp" >>"$log" 2>&1 ||
		die "cannot build weave; see $log"
}
