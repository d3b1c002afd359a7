#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# A new part is new files, and no edit of another: tests/self/extend holds the smallest of each kind. A copy of the
# tree is built with them, each is found where a user would look for it, and no file that was there before differs.
. "$(dirname "$0")/lib.sh"
tree=$room/tree
nest=$tree/build/nest
parts=$root/tests/self/extend

# A tarball of make dist has no repository.
names() {
	git ls-files -z 2>/dev/null ||
		find . \( -path ./build -o -name __pycache__ \) -prune -o \( -type f -o -type l \) -print0
}
copy() {
	mkdir "$tree" && cd "$root" && names >"$room/files" &&
		xargs -0 cp -p --parents -t "$tree" <"$room/files" &&
		xargs -0 sha256sum <"$room/files" >"$room/sums"
}
# add: fails where a part would take the place of a file.
add() {
	local part
	while read -r part; do
		[ ! -e "$tree/$part" ] || { echo "$part is there already" && return 1; }
	done < <(cd "$parts" && find . -type f)
	cp -rp "$parts/." "$tree/"
}
# What is built already need not be built again.
reuse() {
	mkdir "$tree/build" && cp -a "$build"/{obj,bpf,web,.packages,.objects} "$tree/build/"
}
judge() {
	gunzip -c "$root/src/store/demo/slow-reader.nest.gz" >"$room/slow.nest" &&
		"$nest" diagnose -f "$room/slow.nest" --json --engine "$1"
}

check 'a copy of the tree' copy
check 'new files take the place of none' add
check 'the rules of the house accept them' bash -c "cd '$parts' && find src -type f | sort |
	(cd '$tree' && xargs scripts/lint-source)"
reuse
check 'the tree is built with them' make -s -C "$tree" -j2 all build/tests/unit/test_{dummy,event,rules}
"$nest" events --json >"$room/events" 2>/dev/null

check 'a command is in the help' shows 'dummy  *show nothing much' "$nest" help
check 'a record type can be filtered and shown' shows '^{"lat_ns":1500}$' "$nest" dummy --json --where 'lat > 1us'
check 'a format can be chosen' shows '^a record$' "$nest" dummy --format dummy
check 'and is in the help' shows dummy "$nest" dummy --help
check 'a tool is listed' shows '"tool":"dummylook","event":"dummy.look"' "$nest" tools --json
check 'and is a command' shows 'seven at a time' "$nest" dummylook --help
check 'an event in a new folder is listed' grep '^{"event":"dummy.look",.*"dummies"' "$room/events"
check 'and one in a folder that was there' grep '^{"event":"dummy.state",.*"dummies"' "$room/events"
check 'an event is explained' shows 'an event of a new folder' "$nest" explain dummy.look
check 'a rule is listed' shows '^dummy-rule  *host  *dummy-cause ' "$nest" rules
check 'and explained' shows 'tcp_memory_share' "$nest" explain dummy-rule
check 'a cause is explained' shows 'is a dummy' "$nest" explain dummy-cause
check 'a table of a new source is listed' shows '^dummies  *1 a record of a new source' "$nest" tables
check 'and shown' shows '^{"dummies":7}$' "$nest" tables dummies --json
# Without a terminal a page that exists gets as far as the terminal.
check 'a page of nest top is found' bash -c "'$nest' top --page dummy-page 2>&1 | grep 'needs a terminal'"
check 'and one that does not exist is not' bash -c "'$nest' top --page dummy 2>&1 | grep 'unknown page'"
check 'the default engine blames somebody' shows '"cause":"app-not-reading"' judge rules
check 'another one judges when it is asked for' shows '"findings":\[\],.*"healthy":true' judge dummy
check 'programs and declarations of the events fit together' "$tree/build/tests/unit/test_event"
check 'the case of the rule is run' "$tree/build/tests/unit/test_rules"
check 'a new test runs' "$tree/build/tests/unit/test_dummy"

check 'no file that was there differs' bash -c "cd '$tree' && sha256sum --quiet -c '$room/sums'"
finish
