#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel types that nest declares are those of the running kernel, and the script that says so can tell.
# timeout: 300
. "$(dirname "$0")/lib.sh"
require_cmd python3 bpftool clang
[ -r /sys/kernel/btf/vmlinux ] || skip_all 'no /sys/kernel/btf/vmlinux'
check=$root_dir/scripts/check-kernel-types
header=$root_dir/src/kernel/types.bpf.h

ok 'every struct and member is in the running kernel' "$check"
like "$("$check")" '[0-9]+ types, [0-9]+ members: 0 differ,' 'and the count says so'
compare "$("$check" --json -v | wc -l)" -gt 200 'more than 200 members were compared'

# broken SED-SCRIPT EXPECTED NAME: the header with one mistake in it.
broken() {
	sed "$1" "$header" >"$room/types.bpf.h"
	cmp -s "$header" "$room/types.bpf.h" && { fail "$3"; diag "the mistake was not made: $1"; return; }
	"$check" --header "$room/types.bpf.h" >"$room/out" 2>&1
	local status=$?
	like "$status $(cat "$room/out")" "^1 .*$2" "$3"
}
broken 's/^struct Qdisc_ops {/struct Qdisc_opz {/; s/struct Qdisc_ops \*/struct Qdisc_opz */' \
	'Qdisc_opz +- +missing' 'a struct that is not there'
broken 's/u32 snd_ssthresh;/u32 snd_ssthresz;/' 'tcp_sock +snd_ssthresz +missing' 'a member that is not there'
broken 's/u32 snd_ssthresh;/u64 snd_ssthresh;/' 'tcp_sock +snd_ssthresh +other size' 'a member of another size'
broken 's/u8 nonagle : 4;/u8 nonagle : 5;/' 'nonagle +other width' 'a bit field of another width'
broken 's/char comm\[16\]/char comm[17]/' 'comm +other number of elements' 'an array of another length'
broken 's/struct sock_common \*sk_common/struct sock *sk_common/' \
	'sk_common +other what it points to' 'a pointer to something else'
broken 's/int sk_rcvbuf;/void *sk_rcvbuf;/' 'sk_rcvbuf +other kind' 'a number that is no number'

sed 's/char comm\[16\]/char comm[15]/; s/^struct trace_event_raw_qdisc_enqueue {/struct trace_event_raw_nothing {/' \
	"$header" >"$room/types.bpf.h"
ok 'a shorter array, and a struct of a tracepoint that is not there' "$check" --header "$room/types.bpf.h"
like "$("$check" --header "$room/types.bpf.h")" 'trace_event_raw_nothing +- +absent' 'which is named'

sed 's/^struct sock___split_drops {/struct sock___split_drops { int never;/' "$header" >"$room/types.bpf.h"
ok 'a variant may be absent' "$check" --header "$room/types.bpf.h"
like "$("$check" --header "$room/types.bpf.h")" 'sock___split_drops +never +absent' 'and is named'

for wrong in /etc/passwd /nonexistent "$room"; do
	"$check" "$wrong" >"$room/out" 2>&1
	is $? 2 "cannot tell from $wrong"
done
echo 'int x;' >"$room/empty.h"
"$check" --header "$room/empty.h" >"$room/out" 2>&1
is $? 2 'cannot tell from a header without structs'
finish
