#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest doctor against this kernel: what it says is held against what bpftool, /proc and the kernel's own files say, it
# works for users and in places that have nothing, and it leaves nothing behind.
# timeout: 480
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 bpftool setpriv unshare

# Users other than root must be able to run it, wherever the build is.
chmod 755 "$room"
install -m 755 "$nest" "$room/nest" || exit 1
nest=$room/nest
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# state NAME FILE, detail NAME FILE, field FIELD NAME FILE: of one check in a file of JSON lines.
field() {
	[ "$3.tsv" -nt "$3" ] || python3 -c '
import json, sys
for row in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    for name, value in row.items():
        print(row["check"], name, value or "-", sep="\t")
' "$3" >"$3.tsv"
	awk -F '\t' -v check="$2" -v field="$1" '$1 == check && $2 == field { print $3 }' "$3.tsv"
}
state() { field state "$@"; }
detail() { field detail "$@"; }

# --- as root ---------------------------------------------------------------------------------------------------------

root=$room/root.json
"$nest" doctor --json >"$root" 2>"$room/root.err"
is $? 0 'exits with 0'
is "$(cat "$room/root.err")" '' 'says nothing on stderr, nor does libbpf'
ok 'JSON lines: every check once, every answer complete' python3 - "$root" <<'PYTHON'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
assert len(rows) > 100, len(rows)
names = [row["check"] for row in rows]
assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
for row in rows:
    assert list(row) == ["check", "group", "state", "detail", "without", "how"], row
    assert row["state"] in ("ok", "limited", "missing", "unknown"), row
    assert row["detail"], row
    assert (row["state"] == "ok") == (row["how"] is None) == (row["without"] is None), row
PYTHON

best=999999
for _ in 1 2 3; do
	start=${EPOCHREALTIME/[.,]/}
	"$nest" doctor >"$room/root.txt"
	took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
	[ "$took" -lt "$best" ] && best=$took
done
diag "best of three: $best ms"
if [ -n "${NEST_VM-}" ]; then
	skip 'takes less than two seconds' 'a machine in software is many times slower'
else
	compare "$best" -lt 2000 'takes less than two seconds'
fi
compare "$(wc -l <"$room/root.txt")" -le 100 'fits two screens'
like "$(head -1 "$room/root.txt")" '^Linux .*: ' 'begins with a verdict'

# --- held against others ---------------------------------------------------------------------------------------------

ok 'program types: nothing runs that bpftool finds unavailable, nothing is refused that it finds available' \
	python3 - "$root" <<'PYTHON'
import json, subprocess, sys
rows = {row["check"]: row for row in map(json.loads, open(sys.argv[1], encoding="utf-8"))}
probe = json.loads(subprocess.run(["bpftool", "-j", "feature", "probe"], capture_output=True, check=True).stdout)
types = probe["program_types"]
for kinds, name in ((("raw_tp",), "raw_tracepoint"), (("tracepoint", "tracepoint_syscall"), "tracepoint"),
                    (("fentry", "fexit"), "tracing"), (("kprobe", "kretprobe", "uprobe"), "kprobe"), (("lsm",), "lsm"),
                    (("perf_event",), "perf_event"), (("sockops",), "sock_ops"), (("cgroup_skb",), "cgroup_skb"),
                    (("cgroup_connect",), "cgroup_sock_addr"), (("cgroup_release",), "cgroup_sock"),
                    (("socket_filter",), "socket_filter"), (("tc", "tcx"), "sched_cls"), (("xdp",), "xdp"),
                    (("sk_lookup",), "sk_lookup"), (("bpf_timer",), "syscall")):
    available = types[f"have_{name}_prog_type"]
    for kind in kinds:
        refused = rows[kind]["detail"].startswith("not loaded")
        assert refused != available, (kind, available, rows[kind])
        assert available or rows[kind]["state"] == "missing", rows[kind]
maps = probe["map_types"]
for kind, name in (("ring_buffer", "ringbuf"), ("sk_storage", "sk_storage"), ("stack", "stack_trace")):
    assert maps[f"have_{name}_map_type"] or rows[kind]["state"] != "ok", rows[kind]
PYTHON

ok 'capabilities are those of /proc/self/status' python3 - "$root" <<'PYTHON'
import json, re, sys
rows = {row["check"]: row for row in map(json.loads, open(sys.argv[1], encoding="utf-8"))}
held = int(re.search(r"CapEff:\s*(\w+)", open("/proc/self/status").read())[1], 16)
for name, bit in (("cap_dac_read_search", 2), ("cap_net_admin", 12), ("cap_sys_ptrace", 19), ("cap_sys_admin", 21),
                  ("cap_sys_resource", 24), ("cap_syslog", 34), ("cap_perfmon", 38), ("cap_bpf", 39)):
    assert (rows[name]["state"] == "ok") == bool(held >> bit & 1), rows[name]
PYTHON

if [ -r /sys/kernel/btf/vmlinux ]; then
	is "$(state btf "$root")" ok 'BTF is there'
	is "$(state tp_btf "$root")" ok 'tp_btf runs'
	is "$(state relocation "$root")" ok 'fields are found and read right'
	bpftool btf dump file /sys/kernel/btf/vmlinux |
		sed -n "s/.* TYPEDEF 'btf_trace_\([^']*\)'.*/\1/p" | sort -u >"$room/known"
	ok 'tracepoints are those of the BTF' python3 - "$root" "$room/known" <<'PYTHON'
import json, sys
known = set(open(sys.argv[2]).read().split())
rows = [row for row in map(json.loads, open(sys.argv[1], encoding="utf-8")) if row["group"] == "tracepoints"]
assert len(rows) >= 40 and len(known) > 40
for row in rows:
    assert (row["state"] == "ok") == (row["check"] in known), row
PYTHON
else
	skip 'BTF, tp_btf, relocation, tracepoints' 'no /sys/kernel/btf/vmlinux'
fi

# A kernel has probes on functions when it has their event source.
if [ -e /sys/bus/event_source/devices/kprobe ]; then
	is "$(state kprobe "$root")" ok 'kprobes run where the kernel has them'
else
	is "$(state kprobe "$root")" missing 'no kprobes where the kernel has none'
	if zcat /proc/config.gz 2>/dev/null | grep -q '^# CONFIG_KPROBES is not set'; then
		like "$(detail kprobe "$root")" 'CONFIG_KPROBES' 'the reason is the option that is not built in'
		like "$(field how kprobe "$root")" 'CONFIG_KPROBES=y' 'and the advice names it'
	fi
fi
if [ "$(state fentry "$root")" != ok ]; then
	like "$(detail fentry "$root")" '[(].+[)]' 'where fentry is refused, the error has its name and a text'
fi
if grep -qv '^0000000000000000 ' /proc/kallsyms; then
	is "$(state kallsyms "$root")" ok 'kernel symbols have addresses'
else
	is "$(state kallsyms "$root")" limited 'kernel symbols have no addresses'
fi
for kind in tcp udp unix; do
	is "$(state "sock_diag_$kind" "$root")" ok "sock_diag tells about $kind sockets"
done
for kind in uprobe uretprobe ring_buffer sk_storage iter_tcp iter_task_file; do
	is "$(state "$kind" "$root")" ok "$kind works"
done

# Tracefs mounted for this one run only.
unshare -m sh -c '{ [ -d /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing; } &&
	exec "$1" doctor --json' sh "$nest" >"$room/tracefs.json"
is "$(state tracefs "$room/tracefs.json")" ok 'a mounted tracefs is seen'
is "$(state tracepoint "$room/tracefs.json")" ok 'tracepoints run with it'
is "$(state tracepoint_syscall "$room/tracefs.json")" ok 'and so do those of system calls'

# --- for others ------------------------------------------------------------------------------------------------------

user=$room/user.json
"${as_nobody[@]}" "$nest" doctor --json >"$user" 2>"$room/user.err"
is $? 0 'works without privileges'
is "$(cat "$room/user.err")" '' 'and quietly'
is "$(state cap_bpf "$user")" missing 'says which capability is missing'
like "$(field how cap_bpf "$user")" 'setcap .*cap_bpf' 'and how to get it'
is "$(state tp_btf "$user")" missing 'says that nothing can be loaded'
like "$(detail tp_btf "$user")" 'EPERM|EACCES' 'and why'
is "$(state sock_diag_tcp "$user")" ok 'sock_diag needs no privilege'
like "$("${as_nobody[@]}" "$nest" doctor | head -1)" 'lacks cap_bpf' 'the verdict blames the privilege'

some=+bpf,+perfmon
"${as_nobody[@]}" "--inh-caps=$some" "--ambient-caps=$some" "$nest" doctor --json >"$room/some.json" 2>&1
is "$(state tp_btf "$room/some.json")" ok 'CAP_BPF and CAP_PERFMON are enough for tp_btf'
is "$(state iter_tcp "$room/some.json")" ok 'and for iterators'
is "$(state tc "$room/some.json")" missing 'and not for tc'

# --- where there is nothing ------------------------------------------------------------------------------------------

bare=$room/bare
mkdir "$bare"
bare_run() {
	unshare -m bash -euc '
		mount -t tmpfs nodev "$1"
		ldd "$2" | grep -o "/[^ ]*" | while read -r file; do
			mkdir -p "$1$(dirname "$file")"
			cp "$file" "$1$file"
		done
		cp "$2" "$1/nest"
		shift 2
		exec chroot "$@"
	' bash "$bare" "$nest" "$@"
}
bare_run "$bare" /nest doctor --json >"$room/bare.json" 2>"$room/bare.err"
is $? 0 'works without /proc, /sys and everything else'
is "$(cat "$room/bare.err")" '' 'and quietly'
is "$(wc -l <"$room/bare.json")" "$(wc -l <"$root")" 'with as many answers'
is "$(state btf "$room/bare.json")" missing 'says that there is no BTF to read'
is "$(state kallsyms "$room/bare.json")" missing 'nor symbols'
is "$(state raw_tp "$room/bare.json")" ok 'what needs none of it still runs'
bare_run --userspec=65534:65534 "$bare" /nest doctor --json >"$room/bare.json" 2>"$room/bare.err"
is $? 0 'works there without privileges, too'
is "$(wc -l <"$room/bare.json")" "$(wc -l <"$root")" 'with as many answers'

# --- afterwards ------------------------------------------------------------------------------------------------------

# Programs and maps carry names of their own, so others' do not matter. A link keeps its program, so where no program
# is left no link is. The kernel frees them a moment later, and bpftool gives up when one goes away while it looks.
some_left() { bpftool prog | grep -q 'name probe[._]'; }
nothing_left() {
	local listing
	listing=$(bpftool prog && bpftool map) && ! grep -q 'name probe[._]' <<<"$listing"
}
marks() {
	tc qdisc show dev lo
	ip -d link show lo | grep -c xdp
	find /sys/fs/cgroup -maxdepth 3 -type d -name '*probe*' 2>/dev/null
}

# The check itself must be able to see something.
seen=
for _ in {1..10}; do
	"$nest" doctor >/dev/null &
	while [ -z "$seen" ] && kill -0 $! 2>/dev/null; do
		some_left 2>/dev/null && seen=1
	done
	wait $!
	[ -z "$seen" ] || break
done
is "$seen" 1 'programs of a run under way are seen by bpftool'
ok 'nothing is left after a run' wait_for 10 nothing_left
before=$(marks)

killed=0
for _ in {1..15}; do
	"$nest" doctor >/dev/null 2>&1 &
	victim=$!
	moment=$((RANDOM % best)) # a random moment of a run is the point here
	sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
	kill -KILL $victim 2>/dev/null && killed=$((killed + 1))
	wait $victim 2>/dev/null
done
compare "$killed" -ge 5 'killed at random moments'
ok 'nothing is left after kill -9' wait_for 10 nothing_left
nobody_left() { ! pgrep -f "^$nest doctor" >/dev/null; }
ok 'nor is a process' wait_for 10 nobody_left
is "$(marks)" "$before" 'nor a mark on the loopback or a control group'
# The name of this host, on which a word of the report is one.
report() {
	unshare -u sh -c 'hostname jansson && exec "$@"' sh "$nest" doctor --report "$@" 2>&1
}
like "$(report)" 'libraries: [^
]*HOST' 'a report masks the name of the host'
like "$(report --unmasked)" 'libraries: [^
]*jansson' 'unless asked'
finish
