#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# One exit code for one reason, over all commands: what an ordinary user may, files that are not there, /proc and /sys
# that are hidden; each with a message that names what is missing and what to do.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd setpriv python3

cp "$nest" "$room/nest"
cp "${nest%/*}/libnestflow.so" "$room/"
mkdir -m 777 "$room/open"
chmod 755 "$room"
printf '0123456789abcdef0123\n' >"$room/open/token"
chown 65534 "$room/open/token"
chmod 600 "$room/open/token"
printf x >"$room/open/text"
cd "$room/open" || exit 1

# attempt WANTED-CODE MESSAGE HOW COMMAND ...: HOW is a function that runs the program.
attempt() {
	local want=$1 message=$2 how=$3
	shift 3
	"$how" "$@" >"$room/out" 2>"$room/err" </dev/null
	is "$?" "$want" "$how: $*" || diag "$(tail -n 3 "$room/err")"
	[ -z "$message" ] || like "$(cat "$room/err")" "$message" 'with the reason'
}
here() {
	timeout 60 "$room/nest" "$@"
}
nobody() {
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$room/nest" "$@"
}
# hidden DIRECTORY COMMAND ...
hidden() {
	# shellcheck disable=SC2016
	timeout 60 unshare --mount bash -c 'mount -t tmpfs none "$1" && shift && exec "$@"' - "$1" "$room/nest" "${@:2}"
}
without_proc() { hidden /proc "$@"; }
without_sys() { hidden /sys "$@"; }

# Files that are not there, or something else.
while IFS='|' read -r command message; do
	# shellcheck disable=SC2086
	attempt 5 "${message:-No such file or directory}" here $command
done <<'END'
diagnose -f none
watch -f none
sockets -f none
links -f none
routes -f none
counters -f none
limits -f none
tables process -f none
stalls -f none
checklist -f none
serve -f none
trace tcp.close -f none
tcplife -f none
path -f none
export none --format csv
report none
report none.pcap
sql none SELECT
ship none --ship http://127.0.0.1:9/x
oops none
oops -f none
doctor -f none
flow info none
flow sessions none
flow tree none
flow summary none
flow compare none
flow align none none
flow diagram none
flow export none --csv
flow import none -o new
hardware --root none|no sys/class/net below --root
rules --rules none
diagnose -f demo:lossy-path --rules none
agent --config none
serve --token-file none
sockets -o none/x
record -o none/x -d 1
diagnose --save none/x -d 1
tcplife --save none/x -d 1
tcplife -o none/x -d 1
report demo:lossy-path --html none/x
export demo:lossy-path --format csv -o none/x
diagnose -f text|text is not a recording of nest
report text|text is not a recording of nest
flow info text|not a function trace
flow record -o none/x -- true
END

# What is wrong on the command line, not in a file.
while IFS='|' read -r command message; do
	# shellcheck disable=SC2086
	attempt 2 "$message" here $command
done <<'END'
report demo:lossy-path --from bogus|--from: invalid time
report demo:lossy-path --before +1s --after bogus|--after: invalid time
report demo:lossy-path --before bogus --after +1s|--before: invalid time
diagnose -f demo:lossy-path --to bogus|--to: invalid time
serve -f demo:lossy-path --listen nowhere|--listen
tables nosuch|unknown table
explain nosuch|unknown word
help nosuch|unknown command
sockets -N nosuch|there is no network namespace
sockets -i nosuch|there is no interface
diagnose -p 4194304|there is no process
tcplife -C /nosuch|there is no cgroup
record -o new.nest -- /nonexistent|cannot run
END

ok 'a recording of a command that cannot be run is not in the way of the next one' test ! -e new.nest

# An ordinary user: events need capabilities, the rest shows what it may.
for command in 'trace sock.send' path tcplife sockstat irqlat 'record tcp.close -o new.nest'; do
	# shellcheck disable=SC2086
	attempt 3 'CAP_BPF and CAP_PERFMON: .*setcap' nobody $command -d 1
done
nest_bg record -o "$room/root.nest"
wait_ready "$nest_err"
attempt 3 'of another user: run as that user or as root' nobody snapshot -p "$nest_pid"
kill "$nest_pid"
wait "$nest_pid"
for command in 'diagnose -d 1' sockets links routes counters limits tables tools events doctor rules version demo \
	checklist hardware 'record -o user.nest -d 1'; do
	# shellcheck disable=SC2086
	attempt 0 '' nobody $command
done

# Hidden file systems are recognised as such.
for command in diagnose watch record sockets links routes counters limits tables stalls checklist hardware serve \
	agent; do
	options=
	[ "$command" != record ] || options='-o new.nest'
	[ "$command" != agent ] || options='-o agent.nest --socket none'
	# shellcheck disable=SC2086
	attempt 3 '/proc is not mounted: mount -t proc proc /proc' without_proc $command $options
done
for command in gethostlatency udplife solife; do
	attempt 3 '/proc is not mounted' without_proc "$command" -d 1
done
for command in tcplife 'trace sock.send' path; do
	# shellcheck disable=SC2086
	attempt 3 '/sys is not mounted: mount -t sysfs sysfs /sys' without_sys $command -d 1
done
attempt 3 '/sys is not mounted' without_sys hardware
attempt 0 '' without_sys diagnose -d 1
like "$(grep '^Not seen' "$room/out")" '/sys is not mounted' 'the diagnosis says what it could not see, and why'
unlike "$(cat "$room/out")" 'Error loading|bpf.o' 'in words of a user'

finish
