#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest flow record -p on a server that runs and was not built for it: calls, and the sessions
# that its system calls tell apart.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3

cat >"$room/server.c" <<'END'
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noinline)) void answer(int fd, const char *text, size_t n)
{
	if (write(fd, text, n) < 0)
		_exit(1);
}

__attribute__((noinline)) void look_up(const char *text)
{
	if (*text == 's')
		usleep(300000);
}

__attribute__((noinline)) void serve(int fd)
{
	char text[1000];
	ssize_t n = read(fd, text, sizeof(text));

	if (n > 0) {
		look_up(text);
		answer(fd, text, (size_t)n);
	}
	close(fd);
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 100) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		return 1;
	printf("port %u\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;)
		serve(accept(listener, NULL, NULL));
}
END
ok 'the server is built' gcc -O1 -o "$room/server" "$room/server.c" || { finish; exit; }
bg "$room/server" >"$room/out"
server=$bg_pid
ok 'it runs' wait_for 20 grep -q port "$room/out"
port=$(sed -n 's/^port //p' "$room/out")

# clients SIZE...: connections one after the other, of these sizes; prints their ports. 77 bytes are a slow request.
clients() {
	python3 - "$port" "$@" <<'PYTHON'
import socket, sys
for size in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as s:
        s.settimeout(20)
        print(s.getsockname()[1], size)
        s.sendall((b"s" if size == "77" else b"x") * int(size))
        got = b""
        while len(got) < int(size):
            more = s.recv(1000)
            assert more
            got += more
        assert s.recv(1) == b""
PYTHON
}

"$nest" flow record -p "$server" --func serve --func answer -o "$room/x.trace" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
ok 'the probes are set' wait_for 60 grep -q '^nest: ready' "$room/err"
clients 10 20 30 400 5 6 7 8 >"$room/clients"
kill -TERM "$recorder"
wait "$recorder"
is $? 0 'recorded'
"$nest" flow sessions "$room/x.trace" --json --where "lport == $port" >"$room/sessions" 2>/dev/null
ok 'every connection is a session with its ends, bytes and calls' python3 - "$room/clients" "$room/sessions" <<'PYTHON'
import json, sys
wanted = sorted(tuple(map(int, line.split())) for line in open(sys.argv[1]))
rows = [json.loads(line) for line in open(sys.argv[2])]
assert sorted((row["rport"], row["rx_bytes"]) for row in rows) == wanted, (wanted, rows)
for row in rows:
    assert row["tx_bytes"] == row["rx_bytes"] and row["requests"] == 1 and row["calls"] == 2 and not row["open"], row
    assert row["raddr"] == "127.0.0.1" and row["pid"] == row["tid"], row
PYTHON
is "$("$nest" flow info "$room/x.trace" --check --json 2>/dev/null | sed -n 's/.*"well_formed":\([^,}]*\).*/\1/p')" \
	true 'well-formed'

"$nest" flow record -p "$server" --func serve --no-sockets -o "$room/y.trace" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
ok 'without sockets' wait_for 60 grep -q '^nest: ready' "$room/err"
clients 10 20 >/dev/null
kill -TERM "$recorder"
wait "$recorder"
operations=$("$nest" flow info "$room/y.trace" --check --json 2>/dev/null | sed -n 's/.*"operations":\([^,}]*\).*/\1/p')
calls=$("$nest" flow info "$room/y.trace" --json | sed -n 's/.*"calls":\([^,}]*\).*/\1/p')
is "$operations $calls" '0 2' 'only calls then'

"$nest" flow record -p "$server" --func serve --func look_up --func answer -o "$room/z.trace" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
ok 'three functions' wait_for 60 grep -q '^nest: ready' "$room/err"
clients 5 6 7 8 5 77 6 7 8 77 5 6 7 8 77 5 6 7 8 5 >/dev/null
kill -TERM "$recorder"
wait "$recorder"
"$nest" flow compare "$room/z.trace" --bad 'rx_bytes == 77' --json >"$room/answer" 2>"$room/err"
is "$(sed -n 's/.*"divergence":{"function":"\([^"]*\)","kind":"\([^"]*\)".*/\1 \2/p' "$room/answer")" \
	'look_up slower' 'compared like any other trace'
like "$("$nest" flow compare "$room/z.trace" 2>&1)" 'probed functions only, scheduling delays not recorded' \
	'and the answer without labels states what is missing'

# The C library is in every process of the host.
"$nest" flow record -p "$server" --func 'libc*:*' -d 1 -o "$room/l.trace" 2>"$room/err"
is $? 2 'the C library is not probed'
like "$(cat "$room/err")" 'no function of process .* matches' 'and the message says that nothing matches'
"$nest" flow record -p "$server" --func '*' -o "$room/a.trace" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
ok 'all functions' wait_for 60 grep -q '^nest: ready' "$room/err"
clients 5 >/dev/null
kill -TERM "$recorder"
wait "$recorder"
modules=$("$nest" flow info "$room/a.trace" --functions --csv --show module 2>/dev/null | sed 1d | sort -u | wc -l)
is "$modules" 1 'are those of the program'
end_bg "$server" TERM
finish
