#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/coverage.md promises nothing that is not there: its commands exist, its tests exist and speak of them, and every
# tool has a page.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
nest=${NEST_BUILD:-$root/build}/nest
page=$root/docs/coverage.md
number=0 failed=0

# result NAME LINES: no lines, no fault.
result() {
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
	else
		failed=1
		echo "not ok $number - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}

# The command and the tests of each row, with a tab between.
rows=$(sed -nE 's/^\|[^|]*\| `(nest [^`]*)` \| ([^|]*) \|$/\1\t\2/p' "$page")
[ "$(wc -l <<<"$rows")" -ge 100 ] && short= || short='fewer rows than there were'
result 'the page has its rows' "$short"

unknown=$(cut -f1 <<<"$rows" | awk '{print $2}' | sort -u | while read -r word; do
	"$nest" help "$word" >/dev/null 2>&1 || echo "$word is no command"
done)
result 'every command exists' "$unknown"

# A test speaks of a tool by its name, of nest trace by its first event, or it runs every line of its own page.
silent=$(while IFS=$'\t' read -r command tests; do
	read -r _ word event _ <<<"$command"
	[ "$word" = trace ] && name=${event%%,*} || name=$word
	for test in $(grep -oE '[a-z0-9-]+\.(t|golden)' <<<"$tests"); do
		file=$root/tests/live/$test
		[ -e "$file" ] || file=$root/tests/vm/$test
		[ -e "$file" ] || file=$root/tests/golden/$test
		if [ ! -e "$file" ]; then
			echo "$command: there is no $test"
		elif [ "$test" = one-liners.t ]; then
			grep -qF "\`$command\`" "$root/docs/one-liners.md" ||
				echo "$command is not on the page that $test runs"
		elif ! grep -qw -- "$name" "$file"; then
			echo "$test does not speak of $name"
		fi
	done
	grep -qE '\.(t|golden)' <<<"$tests" || echo "$command has no test"
done <<<"$rows")
result 'every row has a test that speaks of its command' "$silent"

elsewhere=$(while IFS=$'\t' read -r command tests; do
	for test in $(grep -oE '[a-z0-9-]+\.t \*\*V\*\*' <<<"$tests" | cut -d' ' -f1); do
		head -20 "$root/tests/live/$test" 2>/dev/null |
			grep -q 'vm: [0-9]' || echo "$command: $test is not among those of make test-vm"
	done
done <<<"$rows")
result 'what is marked as run on another kernel is run there' "$elsewhere"

# Names that are aliases of one tool share its page, which tells each.
pages=$("$nest" tools --json 2>/dev/null | sed -n 's/.*"tool":"\([^"]*\)".*/\1/p' | while read -r tool; do
	case $tool in
	qdisc-*) grep -qF "\`$tool\`" "$root/docs/tools/qdisclat.md" ;;
	*) [ -e "$root/docs/tools/$tool.md" ] ;;
	esac || echo "$tool"
done)
result 'every tool has a page' "$pages"
echo "1..$number"
exit "$failed"
