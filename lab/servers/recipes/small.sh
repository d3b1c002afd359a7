# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# The servers written here: small-hooks/pool, fork, stages, loop; and upstream, which has no hooks.
build_small() {
	local name flags to=$top/small-hooks
	[ "$1" = hooks ] || return 0
	mkdir -p "$to"
	for name in pool fork stages loop upstream; do
		flags=()
		[ "$name" = upstream ] || flags=(-finstrument-functions "$here/small_work.c")
		[ "$to/$name" -nt "$here/small_$name.c" ] && [ "$to/$name" -nt "$here/small_work.c" ] && continue
		gcc -O1 -g -Wall -Wextra -D_GNU_SOURCE -pthread -I"$here/../../src" "${flags[@]}" -o "$to/$name" \
			"$here/small_$name.c" || die "cannot build $name"
	done
}
