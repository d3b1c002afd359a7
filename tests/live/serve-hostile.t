#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest serve and clients that mean no good: bytes that are no request, parameters of every path of its own document,
# senders that are slow, readers that are many or do not read.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd curl

nest_bg serve
wait_for 30 test -s "$nest_out" || { diag "$(cat "$nest_err")"; fail 'the server listens'; exit 1; }
url=$(sed 's/#.*//' "$nest_out")
token=$(sed -n 's/.*#token=//p' "$nest_out")
port=$(sed 's/.*:\([0-9]*\)\/.*/\1/' <<<"$url")
curl -s -H "Authorization: Bearer $token" "${url}api/v1/openapi.json" >"$room/openapi.json"

cat >"$room/hostile.py" <<'END_OF_PYTHON'
import json, re, resource, socket, sys, threading, urllib.parse
port, token, document = int(sys.argv[1]), sys.argv[2], json.load(open(sys.argv[3]))

def connect():
    return socket.create_connection(("127.0.0.1", port), 30)

def ask(data):
    """The status of the answer; 0: it was disconnected."""
    with connect() as s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            answer = s.recv(100)
        except OSError:
            return 0
    found = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(found.group(1)) if found else 0

def request(target, extra=b"", method=b"GET"):
    return b"%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n%s\r\n" % (
        method, target, port, token.encode(), extra)

# Slow loris: a byte now and then does not keep a connection. They go on while everything else is asked.
slow = [connect() for _ in range(20)]
stop = threading.Event()
def trickle():
    while not stop.wait(0.5):
        for s in slow:
            try:
                s.sendall(b"G")
            except OSError:
                pass
threading.Thread(target=trickle, daemon=True).start()

def check(name, holds, said=""):
    print(("ok" if holds else "not ok"), name, said)

check("a plain request", ask(request(b"/api/v1/about")) == 200)
check("a header of 20 KiB", 400 <= ask(request(b"/api/v1/about", b"X: " + b"a" * 20000 + b"\r\n")) < 500)
check("a header of 15 KiB", ask(request(b"/api/v1/about", b"X: " + b"a" * 15000 + b"\r\n")) == 200)
# What it has not read when it answers may reset the connection before the answer is read.
check("many headers", ask(request(b"/api/v1/about", b"a: b\r\n" * 5000)) in (0, 400, 413, 431))
check("a request line of 20 KiB", 400 <= ask(request(b"/api/v1/about?x=" + b"a" * 20000)) < 500)
check("a header of 4 MiB", ask(request(b"/api/v1/about", b"X: " + b"a" * (4 << 20) + b"\r\n")) in (0, 400, 413, 431))
for junk in (b"\0" * 100, b"\r\n" * 50, b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n",
             b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port, b"A" * 9000,
             request(b"/api/v1/runs", b"Transfer-Encoding: chunked\r\n", b"POST") + b"zz\r\n",
             request(b"/api/v1/about", b"Content-Length: -1\r\n")):
    check("junk %r" % junk[:12], ask(junk) != 200)

# Two programs must not see two requests in one: a proxy may read the other one of two headers.
for name, extra in (("Host", b"Host: evil.example\r\n"), ("Authorization", b"authorization: Bearer x\r\n"),
                    ("Content-Length", b"Content-Length: 0\r\nContent-Length: 50\r\n"),
                    ("Origin", b"Origin: http://127.0.0.1:%d\r\nOrigin: http://evil.example\r\n" % port),
                    ("a length beside chunks", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")):
    status = ask(request(b"/api/v1/session", extra, b"POST") + b"0\r\n\r\n")
    check("two of %s are refused" % name, status == 400, status)

# Every path of the document with hostile parameters: an answer below 500, JSON where it says so.
hostile = ["", "-1", "99999999999999999999", "\u00e9" * 50, "a" * 3000, "../../etc/passwd", "' or 1=1 --", "\0"]
count = 0
for path, operations in document["paths"].items():
    for method, operation in operations.items():
        if method == "post" and path.endswith("runs") or path.endswith(("tools", "events")):
            continue
        # Each of these starts a process.
        for value in hostile[-2:] if "explain" in path else hostile:
            quoted = urllib.parse.quote(value, safe="")
            target = re.sub(r"\{\w+\}", quoted or "x", path)
            query = "&".join(p["name"] + "=" + quoted for p in operation["parameters"] if p["in"] == "query")
            target += "?" + query if query else ""
            status = ask(request(target.encode(), b"Origin: http://127.0.0.1:%d\r\n" % port, method.upper().encode()))
            count += 1
            if not 200 <= status < 500 and status != 503:
                check("%s %s" % (method, target[:80]), False, status)
        target = re.sub(r"\{\w+\}", "x", path) + "?unknown_parameter=1"
        status = ask(request(target.encode(), b"Origin: http://127.0.0.1:%d\r\n" % port, method.upper().encode()))
        if status not in (400, 404):
            check("an unknown parameter of %s %s" % (method, path), False, status)
check("hostile parameters of every path", count > 100, count)

# A thousand readers, one of which never reads.
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
readers = [connect() for _ in range(1000)]
for s in readers:
    s.sendall(request(b"/api/v1/stream?what=measures"))
def has_data(s):
    s.settimeout(30)
    seen = b""
    while b"data: {" not in seen:
        part = s.recv(65536)
        if not part:
            return False
        seen += part
    return True
check("1,000 readers get records", all(has_data(s) for s in readers))
check("and others are still answered", ask(request(b"/api/v1/about")) == 200)
for s in readers:
    s.close()

# One that does not read for a while: what it has not got is counted, to the record, and memory stays.
def memory():
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%s/status" % sys.argv[4]).read()).group(1))
lazy = socket.socket()
lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
lazy.connect(("127.0.0.1", port))
lazy.settimeout(30)
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
where = urllib.parse.quote("lport == %d" % near.getsockname()[1])
lazy.sendall(request(b"/api/v1/stream?what=sock.send&where=" + where.encode()))
seen = lazy.recv(100)
if seen.startswith(b"HTTP/1.1 200"):
    # It has attached when the first record is there.
    while b"data: {" not in seen:
        near.send(b"x")
        lazy.settimeout(0.2)
        try:
            seen += lazy.recv(65536)
        except TimeoutError:
            pass
    before = memory()
    for _ in range(30000):
        near.send(b"x")
        far.recv(1000)
    check("memory stays", memory() < before + 16384, "%d KiB" % (memory() - before))
    lazy.settimeout(3)
    try:
        while True:
            seen += lazy.recv(65536)
    except TimeoutError:
        pass
    text = re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", seen)
    numbers = [int(n) for n in re.findall(rb"id: (\d+)\ndata", text)]
    lost = sum(int(n) for n in re.findall(rb'event: lost\ndata: \{"lost":(\d+)\}', text))
    check("a reader that does not read loses records", lost > 1000, lost)
    check("and learns exactly how many", len(numbers) + lost == numbers[-1], "%d %d" % (len(numbers), numbers[-1]))
else:
    check("a reader that does not read: %r" % seen[:30], b" 409 " in seen)

for s in slow:
    s.settimeout(30)
def is_gone(s):
    try:
        return s.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
stop.set()
check("slow senders are disconnected", all(is_gone(s) for s in slow))
END_OF_PYTHON
python3 "$room/hostile.py" "$port" "$token" "$room/openapi.json" "$nest_pid" >"$room/hostile" 2>&1
hostile_status=$?
while read -r line; do
	case $line in
	'ok '*) pass "${line#ok }" ;;
	*) fail "${line#not ok }" ;;
	esac
done <"$room/hostile"
is "$hostile_status" 0 'hostile clients: to the end'
ok 'it still answers' curl -sf -H "Authorization: Bearer $token" "${url}api/v1/about"
end_bg "$nest_pid"
is "$end_status" 0 'and ends at Ctrl-C'
finish
