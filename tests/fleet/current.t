#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# Statements, rows and questions on a current ClickHouse engine (chdb from npm, fetched into the build directory).
. "$(dirname "$0")/../live/lib.sh"
require_cmd node npm curl
unset http_proxy https_proxy all_proxy
modules=$NEST_BUILD/fleet/node_modules
if [ ! -d "$modules/chdb" ]; then
	mkdir -p "$NEST_BUILD/fleet"
	npm install --prefix "$NEST_BUILD/fleet" --no-audit --no-fund chdb @chdb/lib-linux-x64-gnu >"$room/npm" 2>&1 ||
		skip_all "npm cannot fetch chdb: $(tail -n 1 "$room/npm")"
fi
bg node "$root_dir/tests/fleet/current-engine.js" "$modules" "$room/port" 2>"$room/engine.err"
wait_for 60 test -s "$room/port"
url=http://127.0.0.1:$(cat "$room/port")/nest
version=$(curl -s --data-binary 'SELECT version()' "${url%/nest}/")
diag "chdb $version"

curl -s --data-binary 'CREATE DATABASE nest' "${url%/nest}/"
"$nest" ship --ddl "$version" | while IFS= read -r line; do
	curl -s --data-binary "${line%;}" "${url%/nest}/"
done >"$room/ddl"
is "$(cat "$room/ddl")" '' 'every table can be made'
"$nest" ship demo:lossy-path demo:slow-reader --ship "$url" 2>"$room/err"
is "$?" 0 'recordings are shipped'
findings=$(for name in lossy-path slow-reader; do
	"$nest" export "demo:$name" --format jsonl --table finding 2>/dev/null
done | wc -l)
"$nest" ship demo:lossy-path --ship "$url" 2>"$room/err"
like "$(cat "$room/err")" '^nest: 0 rows shipped' 'once'
is "$("$nest" sql --fleet "$url" 'SELECT count() AS n FROM finding' --json 2>/dev/null)" "{\"n\":$findings}" \
	'every finding is there'
"$nest" report --fleet "$url" --last 9000h --json >"$room/report" 2>"$room/err"
is "$?" 0 'every question of the report is understood'
like "$(cat "$room/report")" '"cause":"path-loss"' 'and answered'
finish
