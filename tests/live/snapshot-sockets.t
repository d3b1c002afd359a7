#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sockets and their owners: every figure beside what ss says about the same socket.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ip nsenter ss /usr/bin/python3

check() {
	/usr/bin/python3 "$live_dir/snapshot-check.py" "$@"
}

# hold plain|fork: starts the holder of sockets inside $ns; its pid is in $holder, a descriptor of it in $fd. It
# ends when its input does: let_go.
hold() {
	mkfifo "$room/in-$1" && : >"$room/hold-$1.out"
	in_ns "$ns" /usr/bin/python3 "$live_dir/snapshot-hold.py" "$1" <"$room/in-$1" >"$room/hold-$1.out" &
	holder_job=$!
	note_process "$holder_job"
	exec {input}>"$room/in-$1"
	wait_for 20 grep -q ready "$room/hold-$1.out" || { diag 'the holder is not ready'; exit 1; }
	read -r _ holder fd <"$room/hold-$1.out"
	note_process "$holder"
}

let_go() {
	exec {input}>&-
	wait "$holder_job"
}

# Times since something happened go on; everything else must stand still between two readings. A socket that is stuck
# probes now and then, so a comparison that met a probe is made again.
compare_with_ss() {
	for _ in 1 2 3 4 5; do
		"$nest" sockets -N "$ns" --json "$@" >"$room/nest.json" 2>"$room/nest.err" || return 1
		in_ns "$ns" ss -tuaneimoOH >"$room/ss.txt"
		check sockets "$room/nest.json" "$room/ss.txt" >"$room/check.txt" && return 0
	done
	cat "$room/check.txt"
	return 1
}

ns_make ns
hold plain
ok 'all figures of all sockets are those of ss' compare_with_ss
compare "$(sed -n 's/ values compared.*//p' "$room/check.txt")" -gt 600 'and they are many'
is "$(wc -l <"$room/nest.json")" "$(wc -l <"$room/ss.txt")" 'as many as ss shows'
like "$(cat "$room/nest.err")" "^nest: $(wc -l <"$room/nest.json") events, 0 lost\$" \
	'the closing line counts them; nothing was missed'

in_ns "$ns" ss -tuanepOH >"$room/ss.txt"
ok 'owners are those of ss (/proc)' check owners "$room/nest.json" "$room/ss.txt"
like "$(/usr/bin/python3 -c '
import json,sys
for l in open(sys.argv[1]): print(json.loads(l)["comm"])' "$room/nest.json")" \
	$'\x1b\\[31m' 'a name of control characters survives in JSON'
unlike "$("$nest" sockets -N "$ns" 2>/dev/null)" $'\x1b\\[31m' 'and is harmless on a terminal'

# The same through the file iterator: samples that follow each other load it.
"$nest" sockets -N "$ns" --json 0.05 2 >"$room/two.json" 2>"$room/two.err"
tail -n "$(($(wc -l <"$room/two.json") / 2))" "$room/two.json" >"$room/second.json"
ok 'owners are those of ss (BPF where it may be loaded, kept from the sample before)' \
	check owners "$room/second.json" "$room/ss.txt"
ok 'without BPF nothing differs' compare_with_ss --no-bpf

# --- what is asked for is what is shown
port=$(/usr/bin/python3 -c '
import json,sys
print(next(r["lport"] for r in map(json.loads, open(sys.argv[1])) if r["state"] == "LISTEN" and r["backlog"] == 2))' \
	"$room/nest.json")
is "$("$nest" sockets -N "$ns" -l -P "$port" --json 2>/dev/null | wc -l)" 1 '-l and -P find the one listener'
like "$("$nest" sockets -N "$ns" -l -P "$port" 2>/dev/null | tail -1)" 'LISTEN +2 +5 ' 'and its queue, two of five'
is "$("$nest" sockets -N "$ns" --udp --json 2>/dev/null | grep -c '"proto":"tcp"')" 0 '--udp shows no TCP'
is "$("$nest" sockets -N "$ns" --json -p "$$" 2>/dev/null | wc -l)" 0 '-p of a process without sockets shows none'
group=$(/usr/bin/python3 -c '
import json,sys
print(next(r["cgroup"] for r in map(json.loads, open(sys.argv[1])) if r["pid"]))' "$room/nest.json")
is "$("$nest" sockets -N "$ns" --json -C "$group" 2>/dev/null | wc -l)" "$(grep -vc '"pid":null' "$room/nest.json")" \
	'-C of their control group shows those with an owner'
"$nest" sockets -N "$ns" --json -C "$group-not" >"$room/not" 2>/dev/null
is "$? $(wc -l <"$room/not")" '2 0' 'and one that is not there is a mistake of usage'
compare "$("$nest" sockets -N "$ns" --json -d 0.5 0.2 2>/dev/null | grep -c '"backlog":2,')" \
	-ge 2 '-d ends repeated looks'
is "$("$nest" sockets -N "$ns" --json --where 'drops > 0' 2>/dev/null | grep -c '"proto":"udp"')" \
	1 'the UDP socket that dropped is found'
is "$("$nest" sockets -N "/run/netns/$ns" --json 2>/dev/null | wc -l)" \
	"$(wc -l <"$room/nest.json")" 'a path names a namespace'
is "$("$nest" sockets -N "$holder" --json 2>/dev/null | wc -l)" "$(wc -l <"$room/nest.json")" 'so does a process'
compare "$("$nest" sockets -N all --json 2>/dev/null | wc -l)" -ge "$(wc -l <"$room/nest.json")" 'all has these too'

# --- processes and threads
"$nest" tables thread -N "$ns" --json >"$room/threads.json" 2>"$room/threads.err"
is "$(wc -l <"$room/threads.json")" \
	"$(find "/proc/$holder/task" -mindepth 1 -maxdepth 1 | wc -l)" 'every thread is there'
like "$(cat "$room/threads.json")" \
	"\"syscall\":\"recvfrom\",\"syscall_fd\":$fd," 'the thread that waits in recv, and on which descriptor'
"$nest" tables process -N "$ns" --json >"$room/process.json" 2>/dev/null
ok 'figures of the process are those of /proc' /usr/bin/python3 - "$room/process.json" "$holder" <<-'END'
	import json, os, sys
	(p,) = [json.loads(line) for line in open(sys.argv[1])]
	pid = int(sys.argv[2])
	stat = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
	tick = 10**9 // os.sysconf("SC_CLK_TCK")
	assert p["pid"] == pid
	assert p["comm"] == open(f"/proc/{pid}/comm").read()[:-1], p["comm"]
	assert p["ppid"] == int(stat[1])
	assert p["user_ns"] == int(stat[11]) * tick and p["system_ns"] == int(stat[12]) * tick, p
	assert p["threads"] == int(stat[17]) and p["start_ns"] == int(stat[19]) * tick
	assert p["fds"] == len(os.listdir(f"/proc/{pid}/fd")), p["fds"]
	limit = next(l for l in open(f"/proc/{pid}/limits") if l.startswith("Max open files")).split()[3]
	assert p["fd_max"] == int(limit)
	assert p["process_state"] == "sleeping" and p["uid"] == 0
END
let_go

# --- sockets that several processes hold
hold fork
"$nest" sockets -N "$ns" --json >"$room/nest.json" 2>/dev/null
in_ns "$ns" ss -tuanepOH >"$room/ss.txt"
ok 'both owners are known' check owners "$room/nest.json" "$room/ss.txt"
compare "$(grep -c '"owners":2' "$room/nest.json")" -gt 10 'and there are two of most'
let_go

# --- without privilege
if command -v setpriv >/dev/null; then
	mkdir "$room/open" && chmod 711 "$room" &&
		cp "$nest" "$room/open/nest" && chmod 755 "$room/open" "$room/open/nest"
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		/usr/bin/python3 - "$room/open/nest" <<-'END' >"$room/user.txt" 2>&1
		import json, os, socket, subprocess, sys
		s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1)
		command = [sys.argv[1], "sockets", "--json", "-l", "-P", str(s.getsockname()[1])]
		run = subprocess.run(command, capture_output=True, text=True)
		assert run.returncode == 0, run
		(r,) = [json.loads(line) for line in run.stdout.splitlines()]
		assert r["pid"] == os.getpid() and r["uid"] == 65534 and r["fd"] == s.fileno(), r
		assert r["mark"] is None, "a mark needs a privilege"
		run = subprocess.run([sys.argv[1], "sockets", "-N", "all", "--json"], capture_output=True, text=True)
		assert run.returncode == 0 and "cannot" in run.stderr, run
		run = subprocess.run([sys.argv[1], "sockets", "-p", "1"], capture_output=True, text=True)
		why = "of process '1': Permission denied (process of another user: needs CAP_SYS_PTRACE)"
		assert run.returncode == 3 and why in run.stderr, run
		print("well")
	END
	is "$(tail -1 "$room/user.txt")" well \
		'a user without privilege sees its own sockets, and what is hidden is reported' ||
		diag "$(cat "$room/user.txt")"
else
	skip 'without privilege' 'needs setpriv'
fi
finish
