# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of nest path share; read after lib.sh.
# shellcheck disable=SC2034 # variables are for those who read this

require_event path.rx
load=$live_dir/path-load.py
check=$live_dir/path-check.py
# Where there is one CPU only, it is also the first one.
last_cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
# What servers and clients run under.
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

# ask COMMAND ...: a client of path-load.py in the namespace $client.
ask() {
	in_ns "$client" "${urgent[@]}" timeout 50 "$load" "$@" || { diag "load failed: $*"; exit 1; }
}

# in_stage STAGE SECONDS WHICH NAME [DELAYS]
in_stage() {
	local share
	share=$("$check" "$journeys" share "$1" "$2" "$3" ${5+"$5"})
	compare "${share/none/0}" -ge 95 "$4" || diag "$("$check" "$journeys" times "$1" "$3")"
	is "$("$check" "$journeys" sums)" good "$4: stages add up"
}

# behind_hogs ADDR PORT COUNT: asks a server that shares its CPU with two that never rest.
behind_hogs() {
	local hogs=() i pid urgent=(chrt -b 0 taskset -c "$last_cpu")
	serve "$server" "$load" echo tcp "$1" "$2"
	for i in 1 2; do
		: >"$room/hog-$i"
		bg taskset -c "$last_cpu" "$load" hog >"$room/hog-$i"
		hogs+=("$bg_pid")
		wait_for 20 grep -q up "$room/hog-$i" || diag 'no hog'
	done
	in_ns "$client" taskset -c 0 timeout 50 "$load" ask tcp "$@"
	for pid in "${hogs[@]}"; do
		end_bg "$pid" KILL
	done
}
