#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# A program under nest flow record survives what is done to the files of the recording.
. "$(dirname "$0")/lib.sh"
require_cmd gcc

ok 'the program is built' gcc -O1 -finstrument-functions -pthread -o "$room/program" "$live_dir/flow-truncated.c" ||
	{ finish; exit; }

# The program itself is recorded, not only the shell that starts it.
recorded() {
	[ "$(stat -c %s "$room/t")" -gt 1000000 ]
}

# harm NAME COMMAND ...: does it to the files of a recording while the program runs.
harm() {
	local name=$1
	shift
	rm -f "$room/stop" "$room/t" "$room/t.live"
	"$nest" flow record -o "$room/t" -- sh -c '"$0" "$1"; echo "code $?"' "$room/program" "$room/stop" \
		>"$room/out" 2>"$room/err" &
	local job=$!
	wait_for 20 recorded
	"$@"
	# It goes on to call functions after that.
	pause 0.3
	: >"$room/stop"
	wait_for 20 grep -q '^code' "$room/out"
	is "$(cat "$room/out")" $'both worked\ncode 0' "$name"
	wait "$job"
}
harm 'the buffers are truncated' truncate -s 0 "$room/t.live"
harm 'half of them' truncate -s 300000 "$room/t.live"
harm 'the buffers are removed' rm "$room/t.live"
harm 'the trace is truncated' truncate -s 0 "$room/t"

# A SIGBUS of the program's own still ends it.
cat >"$room/own.c" <<'END'
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	int fd = open("own-file", O_RDWR | O_CREAT, 0600);
	char *p = ftruncate(fd, 4096) == 0 ? mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0) : 0;

	return ftruncate(fd, 0) == 0 ? p[0] : 3;
}
END
gcc -finstrument-functions -o "$room/own" "$room/own.c"
cd "$room" || exit 1
"$nest" flow record -o "$room/t2" -- "$room/own" >/dev/null 2>"$room/err"
like "$(cat "$room/err")" 'ended by signal 7 ' 'a SIGBUS of its own still ends the program'

finish
