#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Status lines: scripts wait for `nest: ready` and read the closing line; a person at a terminal gets them with -v, or
# when something was lost.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

# terminal.py COMMAND ...: what it writes to a terminal, which is its stdout and stderr.
cat >"$room/terminal.py" <<'END'
import os, pty, sys
output = bytearray()
def run():
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], sys.argv[1:])
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        output.extend(data)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
code = run()
sys.stdout.write(output.decode("utf-8", "replace").replace("\r", ""))
sys.exit(code)
END

piped=$("$nest" trace sock.create -d 0.2 2>&1 >/dev/null)
like "$piped" 'nest: ready' 'ready is there when stderr is no terminal'
like "$piped" 'nest: [0-9]+ events, 0 lost' 'so is the closing line'

shown=$(python3 "$room/terminal.py" "$nest" trace sock.create -d 0.2)
is "$?" 0 'the same on a terminal'
# Being blind for a moment, as on kernels that run no BPF program while pid 1 runs, is loss.
unlike "$(sed '/^nest: blind for/,/(nest doctor)/d' <<<"$shown")" 'nest: ' 'no status lines on a terminal'
for option in -v --verbose; do
	shown=$(python3 "$room/terminal.py" "$nest" trace sock.create -d 0.2 "$option")
	like "$shown" 'nest: ready' "ready on a terminal with $option"
	like "$shown" 'nest: [0-9]+ events, 0 lost' "closing line on a terminal with $option"
done
shown=$(python3 "$room/terminal.py" "$nest" trace sock.create -d 0.2 -- echo -v)
like "$shown" '-v' 'words of the command behind -- stay with it'
unlike "$shown" 'nest: ready' 'and do not speak for nest'
# A command that stops nest while it fills the ring buffer.
cat >"$room/flood.py" <<'END'
import os, signal, socket
os.kill(os.getppid(), signal.SIGSTOP)
for _ in range(5000):
    socket.socket().close()
os.kill(os.getppid(), signal.SIGCONT)
END
shown=$(python3 "$room/terminal.py" "$nest" trace sock.create --buffer 4096 -- python3 "$room/flood.py" | tail -n 20)
like "$shown" 'nest: [0-9]+ events, [1-9][0-9]* lost' 'the closing line is on a terminal when something was lost'
unlike "$shown" 'nest: ready' 'and nothing else'
shown=$(python3 "$room/terminal.py" "$nest" tcplife -i nosuch:device -d 0.1)
like "$shown" 'nest: ' 'errors are shown on a terminal'
finish
