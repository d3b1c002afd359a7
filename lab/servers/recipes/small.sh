# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# The servers written here, small_NAME.c: small-hooks/NAME; small-hooks/upstream has no hooks.
build_small() {
	local source name flags to=$top/small-hooks
	[ "$1" = hooks ] || return 0
	mkdir -p "$to"
	for source in "$here"/small_*.c; do
		name=$(basename "${source#*/small_}" .c)
		[ "$name" != work ] || continue
		flags=()
		[ "$name" = upstream ] || flags=(-finstrument-functions "$here/small_work.c")
		[ "$to/$name" -nt "$source" ] && [ "$to/$name" -nt "$here/small_work.c" ] && continue
		gcc -O1 -g -Wall -Wextra -D_GNU_SOURCE -pthread -I"$here/../../src" "${flags[@]}" -o "$to/$name" \
			"$source" || die "cannot build $name"
	done
}
