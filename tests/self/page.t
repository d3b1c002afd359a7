#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How the page of nest serve is built: small, with the licences of all that is in it, and a program without it says what
# is missing. What the page does is tested in a browser: make test-web.
. "$(dirname "$0")/lib.sh"
web=$build/web

# Programs that web/build needs, but neither node nor npm.
bare=$room/bin
mkdir "$bare"
for program in bash env sed gzip cmp cat mv rm mkdir dirname; do
	ln -s "$(command -v "$program")" "$bare/$program"
done
without_node() {
	PATH=$bare "$root/web/build" "$room/none" 2>"$room/said"
}
says_why() {
	gzip -dc "$room/none/index.html.gz" | grep -q 'missing: node npm'
}
check 'without node the build goes on' without_node
check 'and says in one line what is missing' test "$(wc -l <"$room/said")" -eq 1
check 'the page says the same' says_why
check 'and is built once node is there' test ! -e "$room/none/.built"
check 'there are no components of pages in files then' test -z "$(gzip -dc "$room/none/export.html.gz")"

no_addresses() {
	! grep -n '"resolved"' "$root"/web/package-lock.json "$root"/tests/web/package-lock.json
}
check 'lock files name packages and checksums, not where to get them' no_addresses

if command -v node >/dev/null && command -v npm >/dev/null && [ -e "$web/.built" ]; then
	small() {
		[ "$(cat "$web"/{index.html,app.js,app.css,icon.svg,export.html}.gz | wc -c)" -le 250000 ]
	}
	# No script in the page itself, none from elsewhere, nothing that makes a script of a text.
	own_scripts() {
		[ "$(grep -c '<script' "$web/index.html")" -eq 1 ] &&
			grep -q '<script src="/app.js"' "$web/index.html" &&
			! grep -oE '(src|href|url\()="?https?:' "$web"/{index.html,app.css} &&
			! grep -oE '\beval\(|new Function\(' "$web/app.js"
	}
	# A page in a file: its own script, which the policy names, and the data; nothing is fetched.
	own_export() {
		"$build/nest" report demo:lossy-path --html "$room/report.html" || return
		[ "$(grep -c '<script' "$room/report.html")" -eq 2 ] &&
			grep -q "default-src 'none'; .*; script-src 'sha256-" "$room/report.html" &&
			! grep -oE '(src|href|url\()="?https?:|<link|<img|@import' "$room/report.html" &&
			! grep -oE 'fetch\(|XMLHttp' "$room/report.html" &&
			! grep -oE '\beval\(|new Function\(' "$room/report.html"
	}
	licensed() {
		"$build/nest" version --licences >"$room/licences" || return
		local package
		for package in preact uplot @dagrejs/dagre d3-scale d3-shape; do
			grep -q "^$package [0-9.]*: [A-Z]" "$room/licences" || { echo "$package" && return 1; }
		done
		grep -q 'Permission is hereby granted' "$room/licences"
	}
	check 'the page has at most 250 kB' small
	check 'its only script is its own' own_scripts
	check 'a page in a file fetches nothing, and runs its own script alone' own_export
	check 'licences of what is bundled are listed, with their texts' licensed
else
	number=$((number + 1))
	echo "ok $number - the page # SKIP node, npm or their packages are missing"
fi
finish
