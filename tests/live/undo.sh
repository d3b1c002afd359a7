# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ends what a live test started and removes what it made, from the notes in $room. Used by the test itself when it ends
# and by its guard when the test was killed.

# When a process started: with its pid this names one process and never a later one of the same number.
start_of() {
	local stat
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
	# The name, in parentheses, may hold anything; the 20th word after it is the time.
	stat=${stat##*) }
	set -- $stat
	[ "$1" != Z ] && printf '%s\n' "${20}"
}

# note_process PID
note_process() {
	printf '%s %s\n' "$1" "$(start_of "$1")" >>"$room/pids"
}

# Sends a signal to those noted processes that are still there; fails when there is none.
signal_noted() {
	local pid start found=1
	while read -r pid start; do
		if [ -n "$start" ] && [ "$(start_of "$pid")" = "$start" ]; then
			kill "-$1" "$pid" 2>/dev/null && found=0
		fi
	done <"$room/pids"
	return "$found"
}

undo_all() {
	local name pid _try
	if signal_noted TERM; then
		for _try in {1..20}; do
			signal_noted 0 || break
			sleep 0.1
		done
		signal_noted KILL
	fi
	while read -r name; do
		# Processes left inside would keep the namespace alive without a name.
		for pid in $(ip netns pids "$name" 2>/dev/null); do
			kill -KILL "$pid" 2>/dev/null
		done
		ip netns del "$name" 2>/dev/null
	done <"$room/namespaces"
	rmdir "$room/tracing/instances/nest-${room##*/}" 2>/dev/null
	umount -l "$room/tracing" 2>/dev/null
	rm -rf --one-file-system "$room"
}
