#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# The page of a fleet, with the rows of seven hosts in a real ClickHouse: fleet.mjs.
. "$(dirname "$0")/../live/lib.sh"
require_cmd python3 node chromium curl clickhouse-server
. "$(dirname "$0")/../fleet/fleet.sh"

start_server || { fail 'ClickHouse starts'; exit 1; }
mkdir "$work/hosts"
python3 "$fleet_dir/hosts.py" "$work/hosts" >"$work/list" || { fail 'recordings of hosts'; exit 1; }
while read -r recording; do
	"$nest" ship "$recording" --ship "$server" 2>"$work/ship.err" || { fail "$(cat "$work/ship.err")"; exit 1; }
done <"$work/list"
# It prints the plan and the result of every check.
node "$(dirname "$0")/fleet.mjs" "$server" "${pids[server]}"
status=$?
# shellcheck disable=SC2034 # at_exit reads it
tap_finished=1
fleet_end
trap at_exit EXIT
exit "$status"
