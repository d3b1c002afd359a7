# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the shell tests of the tree itself share: $root, $build, a directory $room of their own, check and finish.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck disable=SC2034 # for whoever reads this
build=$(cd "${NEST_BUILD:-$root/build}" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
number=0

# check NAME COMMAND ...: the command succeeds.
check() {
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >"$room/out" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$room/out" | head -20
	fi
}

# shows PATTERN COMMAND ...: the command succeeds, and a line of what it prints matches.
shows() {
	local pattern=$1
	shift
	"$@" >"$room/shown" 2>&1 && grep -q -- "$pattern" "$room/shown" || { cat "$room/shown" && return 1; }
}

finish() {
	echo "1..$number"
}
