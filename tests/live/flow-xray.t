#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program built with clang -fxray-instrument: its log becomes a trace with names.
. "$(dirname "$0")/lib.sh"
require_cmd clang

cat >"$room/x.c" <<'END'
int printf(const char *, ...);
__attribute__((noinline, xray_always_instrument)) static int inner(int x) { return x * 3 + printf("%s", ""); }
__attribute__((noinline, xray_always_instrument)) int outer(int x) { return inner(x) + inner(x + 1); }
__attribute__((xray_always_instrument)) int main(int argc, char **argv)
{
	int sum = 0;
	(void)argv;
	for (int i = 0; i < 10; i++)
		sum += outer(argc + i);
	return sum == 1;
}
END
ok 'the program is built' clang -O1 -fxray-instrument -o "$room/x" "$room/x.c" || { finish; exit; }
cd "$room" || exit 1
xray='patch_premain=true xray_mode=xray-basic xray_logfile_base=log. xray_naive_log_func_duration_threshold_us=0'
XRAY_OPTIONS=$xray ./x 2>err
log=$(ls log.* 2>/dev/null | head -1)
ok 'it leaves a log' test -s "$log" || { cat err; finish; exit; }
ok 'the log is read' "$nest" flow import "$log" -o named.trace --program ./x
ok 'and without the program, too' "$nest" flow import "$log" -o plain.trace
is "$("$nest" flow info named.trace --functions --csv --show function,calls 2>/dev/null | tr -d '\r' | sed 1d | sort)" \
	"$(printf 'inner,20\nmain,1\nouter,10')" 'every function has its name and its calls'
is "$("$nest" flow info plain.trace --functions --csv --show function,calls 2>/dev/null |
	tr -d '\r' | sed -n 's/^xray#[0-9]*,//p' | sort -n | paste -sd' ')" '1 10 20' 'without it, numbers'
"$nest" flow import "$log" -o bad.trace --program "$room/x.c" 2>err
is $? 5 'what is no program is refused'
"$nest" flow import "$log" -o bad.trace --program "$nest" 2>err
is $? 5 'and so is one that was not built for it'
ok 'with the reason' grep -q fxray-instrument err
head -c 3000 ./x >torn
"$nest" flow import "$log" -o bad.trace --program ./torn 2>err
is $? 5 'a torn program is refused'
head -c $((32 + 32 * 5 + 7)) "$log" >cut.log
"$nest" flow import cut.log -o cut.trace 2>err
is "$? $(sed -n 's/.*truncated log.*: \([0-9]*\)$/\1/p' err) $("$nest" flow info cut.trace --json |
	sed -n 's/.*"events":\([0-9]*\).*/\1/p')" \
	'0 7 5' 'of a torn log what is whole is read, and what is torn is said'
finish
