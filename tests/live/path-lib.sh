# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of nest path share; read after lib.sh.
# shellcheck disable=SC2034 # variables are for those who read this

load=$live_dir/path-load.py
check=$live_dir/path-check.py
# What servers run under.
urgent=()

# follow OPTION ...: nest path with these.
follow() {
	nest_bg path "$@"
	wait_ready "$nest_err" || exit 1
}

# followed [NAME]: ends it; what it wrote is $journeys, its last line $account. With a name, its stages add up.
followed() {
	end_bg "$nest_pid"
	journeys=$nest_out
	account=$(tail -1 "$nest_err")
	[ $# -eq 0 ] || is "$("$check" "$journeys" sums)" good "$1: stages add up"
}

# serve NAMESPACE COMMAND ...: a server that says when it is up; its pid is $server_pid.
serve() {
	: >"$room/server"
	bg nsenter --net="/run/netns/$1" -- "${urgent[@]}" "${@:2}" >"$room/server"
	server_pid=$bg_pid
	wait_for 20 grep -q up "$room/server" || { diag "no server: $*"; exit 1; }
}
