#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two real reports of Debian's kernel in the emulated machine, made by a module: a warning in softirq and an oops.
# Source lines are compared with gdb's, on the module and, where NEST_VMLINUX names one, on the debug package's vmlinux.
. "$(dirname "$0")/../live/lib.sh"

[ -z "${NEST_VM-}" ] || skip_all 'starts a machine of its own: run it on the host'
require_cmd gdb make
"$root_dir/scripts/setup" --check vm 2>/dev/null || skip_all 'packages of scripts/vm are missing'
headers=$(cd "$root_dir" && scripts/vm headers 2>"$room/headers.err") ||
	skip_all "no kernel headers: $(tail -1 "$room/headers.err")"

# The machine sees the tree, not /tmp.
place=$(cd "$NEST_BUILD" && pwd)/oops-module
rm -rf "$place"
cp -r "$(dirname "$0")/oops-module" "$place"
timeout 300 make -s -C "$headers" M="$place" modules >"$room/make.log" 2>&1
ok 'the module builds' test -s "$place/nest_crash.ko" || { diag "$(tail -5 "$room/make.log")" && finish; }

cat >"$place/crash" <<-END
	insmod $place/nest_crash.ko
	python3 -c 'from socket import *; socket(AF_INET, SOCK_DGRAM).sendto(bytes(100), ("127.0.0.1", 9))'
	rmmod nest_crash
	insmod $place/nest_crash.ko fault=1
	dmesg
END
(cd "$root_dir" && scripts/vm -t 400 bash "$place/crash") >"$room/dmesg" 2>"$room/vm.err"
ok 'the machine printed its log' grep -q nest_crash "$room/dmesg" || diag "$(tail -5 "$room/vm.err")"

"$nest" oops --json --debug "$place/nest_crash.ko" "$room/dmesg" >"$room/reports" 2>"$room/oops.err"
field() {
	python3 -c '
import json, sys
report = [json.loads(line) for line in open(sys.argv[1])][int(sys.argv[2])]
print(eval(sys.argv[3], {}, report))' "$room/reports" "$1" "$2"
}
is "$(wc -l <"$room/reports")" 2 'two reports'
is "$(field 0 'kind, function, module, context, layer')" \
	"('warn', 'nest_crash_receive', 'nest_crash', 'softirq', 'device')" 'a warning in softirq'
is "$(field 0 what)" 'nest_crash: 128 bytes on lo' 'with its message'
is "$(field 0 napi)" process_backlog 'in the NAPI poll of the loopback'
is "$(field 1 'kind, function, module, context, comm')" \
	"('oops', 'nest_crash_fault', 'nest_crash', 'process', 'insmod')" 'an oops in process context'
like "$(field 1 what)" 'NULL pointer dereference: read at offset 0x' 'of a NULL pointer'
like "$(field 1 member)" '^dev->mtu \(struct net_device' 'of a member that DWARF knows'
is "$(field 1 '[r["holds"] for r in registers if r["name"] == "RDI"][0]')" 'dev (struct net_device *)' \
	'the register of the first parameter is named'
offset=$(gdb -batch -ex 'print (long)&((struct net_device *)0)->mtu' "$place/nest_crash.ko" 2>/dev/null |
	awk '{print $3}')
is "$(field 1 'int(address, 16)')" "$offset" 'gdb knows that offset'
gdb_line() {
	gdb -batch -ex "info line *($2)" "$1" 2>/dev/null | sed -n 's/^Line \([0-9]*\) of "\(.*\)".*/\2:\1/p' |
		sed 's|.*/\(nest_crash.c\)|\1|'
}
is "$(field 1 'file.split("/")[-1] + ":" + str(line)')" "$(gdb_line "$place/nest_crash.ko" \
	"nest_crash_fault+$(field 1 offset)")" "the source line is gdb's"
is "$(field 0 'file.split("/")[-1] + ":" + str(line)')" "$(gdb_line "$place/nest_crash.ko" \
	"nest_crash_receive+$(field 0 offset)")" "the warning's line is gdb's"

if [ -n "${NEST_VMLINUX-}" ]; then
	"$nest" oops --json --debug "$NEST_VMLINUX" "$room/dmesg" 2>/dev/null |
		python3 -c '
import json, sys
for report in map(json.loads, sys.stdin):
    for frame in report["trace"]:
        if frame["file"] and frame["reliable"] and not frame["module"]:
            print("%s+%d" % (frame["function"], frame["offset"] - 1), "%s:%d" % (frame["file"], frame["line"]))
' | sort -u >"$room/lines"
	sed "s/^\([^ ]*\)+\([0-9]*\) .*/info line *('\1'+\2)/" "$room/lines" >"$room/gdb"
	gdb -batch -x "$room/gdb" "$NEST_VMLINUX" 2>/dev/null |
		sed -n 's/^Line \([0-9]*\) of "\(.*\)".*/\2:\1/p' >"$room/want"
	ok 'the kernel has lines' test "$(wc -l <"$room/lines")" -gt 10
	# Where inlined code begins, several rows of the line table have one address, and gdb may choose another.
	cut -d' ' -f2 "$room/lines" | paste -d' ' - "$room/want" | awk '$1 != $2' >"$room/other"
	ok "lines of the kernel's functions are gdb's, but one in ten" \
		test $(($(wc -l <"$room/other") * 10)) -le "$(wc -l <"$room/lines")"
	diag "$(wc -l <"$room/lines") lines, other than gdb's: $(paste -sd, "$room/other")"
else
	skip 'lines of the kernel itself' 'NEST_VMLINUX names no vmlinux of linux-image-...-dbg (857 MB)'
fi
rm -rf "$place"
finish
