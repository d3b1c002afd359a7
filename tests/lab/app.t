#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Every role of the traffic programs moves what it says, as seen from the other end, and refuses what it must.
import os
import resource
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness
from harness import APP

ROLES = ("sink source bulk fetch rr rrd burst chat churn connectonly udpsend udpsink synflood hog tunnel dns "
         "dnsq httpd").split()
KEYS = ["t_ns", "bytes", "ops", "lat_us", "lat_max_us", "errors", "errno", "conns"]
TICKS = os.sysconf("SC_CLK_TCK")


class Lab:
    """One namespace, and ports that nobody else has."""

    def __init__(self, tap, stack):
        self.tap, self.stack = tap, stack
        self.home = harness.Namespace(stack)
        self.port = 5000

    def start(self, role, *words, on=None, **options):
        words = [*words, *(f"{key}={value}" for key, value in options.items())]
        return harness.Program(self.stack, on or self.home, APP, role, *words).ready()

    def server(self, role, **options):
        self.port += 1
        return self.start(role, port=self.port, **options)

    def client(self, role, dst="127.0.0.1", **options):
        return self.start(role, dst=dst, port=self.port, **options)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def latencies(program, skip=0):
    return [line["lat_us"] for line in program.progress()[skip:] if line["lat_us"] is not None]


def check_options(lab):
    tap = lab.tap
    text = subprocess.run([APP, "--help"], capture_output=True, text=True, check=True).stdout
    tap.equal([role for role in ROLES if f"  {role} " not in text], [], "--help names every role")
    for role in ROLES:
        text = subprocess.run([APP, role, "--help"], capture_output=True, text=True).stdout
        tap.ok("duration" in text and "seed" in text, f"{role} --help tells its options")
    for words in (["nosuch"], ["sink", "port=70000"], ["sink", "port=0"], ["sink", "port=12abc"], ["sink"],
                  ["sink", "port=5000", "prot=1"], ["sink", "port=5000", "rcvbuf=-1"], ["sink", "port"],
                  ["bulk", "port=5000"], ["bulk", "dst=8.8.8.8", "port=5000"], ["bulk", "dst=2001:db8::1", "port=5000"],
                  ["bulk", "dst=10.78.0.1", "port=5000"], ["bulk", "dst=example.org", "port=5000"],
                  ["bulk", "dst=127.0.0.1", "port=5000", "conns=0"], ["rr", "dst=127.0.0.1", "port=5000", "size=4"],
                  ["sink", "port=5000", "listen=192.0.2.1"], ["synflood", "dst=192.0.2.1", "port=80"],
                  ["synflood", "dst=127.0.0.1", "port=80", "prefix=0.0.0.0/0"],
                  ["synflood", "dst=127.0.0.1", "port=80", "rate=1000000"], ["dns", "answer=maybe"],
                  ["udpsend", "dst=127.0.0.1", "port=5000", "size=70000"], ["hog", "threads=1000"],
                  ["sink", "port=5000", "duration=1x"]):
        status, errors = harness.refused(lab.home, APP, *words)
        tap.ok(status == 2 and errors.count("\n") >= 1, f"refused: {' '.join(words)}", errors.split("\n")[0])


def check_bulk(lab):
    tap = lab.tap
    sink = lab.server("sink", listen="::")
    for dst in ("127.0.0.1", "::1"):
        bulk = lab.client("bulk", dst=dst, bytes="20MB", conns=3)
        sent = bulk.wait_end()
        tap.equal((bulk.process.returncode, sent["bytes"], sent["errors"]), (0, 60000000, 0),
                  f"bulk to {dst} ends by itself when all is sent")
    got = sink.stop()
    tap.equal((got["bytes"], got["conns"], got["errors"]), (120000000, 0, 0), "sink has read every byte of it")
    source = lab.server("source", bytes="7MB")
    fetch = lab.client("fetch", reconnect=0, conns=2)
    got = fetch.wait_end()
    tap.equal((got["bytes"], got["errors"], source.stop()["bytes"]), (14000000, 0, 14000000),
              "fetch receives what source sends")
    source = lab.server("source", rate=5000000)
    fetch = lab.client("fetch", reconnect=0, cancel=300000)
    got = fetch.wait_end()
    tap.ok(300000 <= got["bytes"] <= 300000 + 65536 and got["errors"] == 0, "fetch cancel=300000 closes after that",
           f"{got['bytes']} bytes")
    source.stop()
    sink = lab.server("sink")
    paced = lab.client("bulk", rate=1000000, duration=1)
    paced.wait_end()
    first, last = paced.progress()[0], paced.last()
    tap.between((last["bytes"] - first["bytes"]) / (last["t_ns"] - first["t_ns"]) * 1e9, 900000, 1100000,
                "rate=1000000 bytes/s")
    tap.equal(sink.stop()["bytes"], paced.last()["bytes"], "the sink agrees")


def check_progress(lab):
    tap = lab.tap
    sink = lab.server("sink", duration=1.05)
    sink.wait_end()
    lines = sink.progress()
    tap.between(len(lines), 9, 12, "a line every 100 ms and one at the end")
    tap.equal([list(line) for line in lines], [KEYS] * len(lines), "with exactly the promised keys")
    steps = [(b["t_ns"] - a["t_ns"]) / 1e6 for a, b in zip(lines[:-1], lines[1:-1])]
    tap.between(statistics.median(steps), 95, 105, "stamped by the monotonic clock, ms")
    tap.between(time.monotonic_ns() - lines[-1]["t_ns"], 0, 5e9, "which is everybody's")
    tap.equal(sink.process.returncode, 0, "duration= ends it with status 0")


def check_readers(lab):
    """Slow, busy and forgetful readers; they run side by side because each takes its time."""
    tap = lab.tap
    slow = lab.server("sink", read_rate=200000, rcvbuf=65536)
    writer = lab.client("bulk")
    busy = lab.server("sink", spin_ms=10)
    lab.client("bulk")
    forgetful = lab.server("sink", skip=1, rcvbuf=65536)
    forgotten = lab.client("bulk", sndbuf=65536)
    forgotten.wait_progress(lambda line: line["conns"] == 1)
    time.sleep(0.2)
    served = lab.client("bulk", rate=1000000)
    started, spent = busy.last(), cpu_seconds(busy.process.pid)
    was, stuck = slow.last(), forgotten.last()["bytes"]
    time.sleep(1.5)
    now = slow.last()
    seconds = (now["t_ns"] - was["t_ns"]) / 1e9
    tap.between((now["bytes"] - was["bytes"]) / seconds, 150000, 230000, "read_rate=200000 bytes/s")
    tap.between((now["ops"] - was["ops"]) / seconds, 14, 24, "in twenty reads a second")
    tap.ok(writer.last()["bytes"] > now["bytes"], "so the sender is ahead of it")
    ended = busy.last()
    reads, seconds = ended["ops"] - started["ops"], cpu_seconds(busy.process.pid) - spent
    tap.between(seconds / max(reads, 1) * 1000, 8, 14, "spin_ms=10 burns that much CPU time a read")
    tap.equal(forgotten.last()["bytes"], stuck, "skip=1: the first connection stalls")
    tap.ok(forgetful.last()["bytes"] >= 500000 and forgetful.last()["conns"] == 2, "and the second is served",
           f"{served.last()['bytes']} sent")
    for program in (slow, writer, busy, forgetful, forgotten, served):
        program.stop()


def check_listeners(lab):
    tap = lab.tap
    closed = lab.server("sink", accept=0, backlog=8, control=1)
    clients = lab.client("connectonly", conns=5)
    clients.wait_progress(lambda line: line["conns"] == 5)
    time.sleep(0.25)
    tap.equal(closed.last()["conns"], 0, "accept=0 leaves connections in the queue")
    tap.ok(closed.say("port=1").startswith("error:"), "control: what cannot change while it runs is refused")
    tap.ok(closed.say("accept=maybe").startswith("error:"), "control: nonsense is refused")
    tap.equal(closed.say("accept=1"), "ok", "control: accept=1 is taken")
    closed.wait_progress(lambda line: line["conns"] == 5)
    tap.equal(closed.last()["conns"], 5, "and lets them in")
    clients.stop()
    closed.wait_progress(lambda line: line["ops"] == 0 and line["conns"] == 0)
    slow = lab.server("sink", accept_delay_ms=100)
    lab.client("connectonly", conns=20)
    time.sleep(0.75)
    tap.between(slow.last()["conns"], 4, 9, "accept_delay_ms=100 lets about ten a second in")
    slow.stop()


def check_strangers(lab):
    """A server answers nobody from outside, even when somebody outside can reach it."""
    sink = lab.server("sink")
    lab.home.run("ip", "address", "add", "192.0.2.1/32", "dev", "lo")
    with lab.home.socket(socket.AF_INET, socket.SOCK_STREAM) as stranger:
        stranger.settimeout(5)
        stranger.bind(("192.0.2.1", 0))
        stranger.connect(("127.0.0.1", lab.port))
        try:
            end = stranger.recv(1)
        except ConnectionResetError:
            end = b""
    lab.tap.equal(end, b"", "a peer from outside the laboratory is turned away")
    sink.wait_progress(lambda line: line["errno"] == "EPERM")
    lab.tap.equal(sink.stop()["conns"], 0, "and is not counted as a connection")


def check_exchange(lab):
    tap = lab.tap
    server = lab.server("rrd")
    client = lab.client("rr", size=300, resp=700, interval_ms=5, nodelay=1, conns=4, duration=0.6)
    asked = client.wait_end()
    big = lab.client("rr", size="3MB", resp="5MB", duration=0.5).wait_end()
    tap.between(asked["ops"], 200, 500, "rr: four connections, one request each every 5 ms")
    tap.between(asked["bytes"], asked["ops"] * 1000, asked["ops"] * 1000 + 4 * 1000, "rr counts requests and responses")
    tap.ok(big["ops"] >= 1 and big["errors"] == 0, "rr: messages larger than any buffer", f"{big['ops']} exchanges")
    answered = server.stop()
    tap.between(answered["ops"], asked["ops"] + big["ops"], asked["ops"] + big["ops"] + 5, "rrd answered each of them")
    server = lab.server("rrd")
    chat = lab.client("chat", interval_ms=20, duration=0.6).wait_end()
    tap.between(chat["ops"], 12, 60, "chat: messages at its own pace")
    tap.equal(server.stop()["bytes"], chat["bytes"], "rrd heard and said the same number of bytes")


def check_thinking(lab):
    tap = lab.tap
    server = lab.server("rrd", think_ms=50, think_from_ms=700)
    client = lab.client("rr", interval_ms=10)
    client.wait_progress(lambda line: (line["lat_us"] or 0) > 50000)
    time.sleep(0.3)
    lines = latencies(client)
    tap.between(statistics.median(lines[:4]), 0, 10000, "rrd answers at once before think_from_ms, us")
    tap.between(statistics.median(lines[-2:]), 50000, 65000, "and after think_ms from then on, us")
    client.stop()
    server.stop()
    server = lab.server("rrd", nodelay=1)
    slow = lab.client("rr", write2=1, interval_ms=5)
    quick = lab.client("rr", write2=1, interval_ms=5, nodelay=1)
    time.sleep(0.9)
    tap.between(statistics.median(latencies(slow, 3)), 30000, 60000,
                "write2=1 waits for the delayed acknowledgement, us")
    tap.between(statistics.median(latencies(quick, 3)), 0, 10000, "unless nodelay=1, us")
    for program in (slow, quick, server):
        program.stop()
    server = lab.server("rrd", nodelay=0, write2=1)
    slow = lab.client("rr", resp=400, interval_ms=5, nodelay=1)
    time.sleep(0.9)
    tap.between(statistics.median(latencies(slow, 3)), 30000, 60000, "rrd write2=1: the response waits for it, us")
    slow.stop()
    server.stop()


def check_greeting(lab):
    server = lab.server("rrd", greet=80, greet_ms=100)
    client = lab.client("churn", rate=20, count=5, greet=80, size=50, resp=150)
    done = client.wait_end()
    lab.tap.equal((done["ops"], done["bytes"], done["errors"]), (5, 5 * 280, 0), "rrd greets, churn waits for it")
    lab.tap.ok(min(latencies(client)) >= 100000, "until greet_ms=100 is over", f"{min(latencies(client)):.0f} us")
    # One operation for the greeting, one for the response.
    lab.tap.equal(server.stop()["ops"], 10, "the server counts both")


def check_patience(lab):
    """Servers that answer some requests late or never, and clients that give up."""
    tap = lab.tap
    mute = lab.server("rrd", mute=1, control=1)
    client = lab.client("rr", interval_ms=10, timeout_ms=50)
    once = lab.client("churn", rate=50, count=5, timeout_ms=50).wait_end()
    client.wait_progress(lambda line: line["errors"] >= 2 and line["errno"] == "ETIMEDOUT")
    tap.equal((once["ops"], once["errors"], once["errno"]), (0, 5, "ETIMEDOUT"), "churn gives a mute server up")
    tap.equal((client.last()["ops"], mute.last()["ops"]), (0, 0), "rr, too, and comes again")
    mute.say("mute=0")
    client.wait_progress(lambda line: line["ops"] >= 5)
    client.stop()
    mute.stop()
    server = lab.server("rrd", think_ms=300, think_every=4)
    client = lab.client("rr", interval_ms=1)
    client.wait_progress(lambda line: line["ops"] >= 10)
    longest = [line["lat_max_us"] for line in client.progress() if line["ops"] and line["lat_max_us"]]
    tap.ok(min(longest) < 100000 and max(longest) >= 300000, "think_every=4: some answers are late, others are not",
           f"{min(longest):.0f} to {max(longest):.0f} us")
    client.stop()
    server.stop()
    server = lab.server("rrd", think_ms=400, think_conn=1)
    slow = lab.client("rr", interval_ms=1)
    slow.wait_progress(lambda line: line["conns"] == 1)
    quick = lab.client("rr", interval_ms=1)
    slow.wait_progress(lambda line: (line["lat_us"] or 0) >= 400000)
    tap.between(statistics.median(latencies(quick)), 0, 100000, "think_conn=1: only the first connection waits, us")
    for program in (slow, quick, server):
        program.stop()


def check_web(lab):
    server = lab.server("httpd", resp=3000, think_ms=30)
    with lab.home.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        client.connect(("127.0.0.1", lab.port))
        for _ in range(2):
            began = time.monotonic()
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            text = b""
            while text.count(b"\r\n\r\n") == 0 or len(text.split(b"\r\n\r\n", 1)[1]) < 3000:
                text += client.recv(65536)
            spent = time.monotonic() - began
    head, body = text.split(b"\r\n\r\n", 1)
    lab.tap.ok(head.startswith(b"HTTP/1.1 200 OK") and b"Content-Length: 3000" in head and len(body) == 3000,
               "httpd responds with its document, twice on one connection", head.decode())
    lab.tap.ok(spent >= 0.03, "after think_ms=30", f"{spent:.3f} s")
    lab.tap.equal(server.stop()["ops"], 2, "and counts the responses")


def check_connecting(lab):
    tap = lab.tap
    server = lab.server("rrd")
    churn = lab.client("churn", rate=200, count=40, hold_ms=20, size=50, resp=150)
    done = churn.wait_end()
    tap.equal((done["ops"], done["bytes"], done["errors"], done["conns"]), (40, 8000, 0, 0),
              "churn ends after count=40")
    tap.equal(server.stop()["ops"], 40, "rrd served each")
    server = lab.server("rrd", control=1, accept=0)
    crowd = lab.client("churn", rate=100, burst=50)
    crowd.wait_progress(lambda line: lab.home.run("ss", "-Htn", "state", "established", "dport", "=",
                                                  f":{lab.port}").count("\n") in (50, 100))
    tap.ok(True, "churn burst=50 connects by the fifty")
    crowd.stop()
    server.stop()
    server = lab.server("rrd")
    poor = lab.client("churn", rate=100, hold_ms=300)
    poor.wait_progress(lambda line: line["conns"] >= 10)
    resource.prlimit(poor.process.pid, resource.RLIMIT_NOFILE, (16, 16))
    poor.wait_progress(lambda line: line["errno"] == "EMFILE")
    seen = poor.last()["ops"]
    poor.wait_progress(lambda line: line["errors"] >= 10 and line["ops"] > seen)
    tap.ok(True, "a client at its descriptor limit goes on with what it has")
    poor.stop()
    alive = lab.client("connectonly", keepalive=1)
    alive.wait_progress(lambda line: line["conns"] == 1)
    tap.ok("timer:(keepalive" in lab.home.run("ss", "-Htno", "dport", "=", f":{lab.port}"),
           "keepalive=1 sets the kernel's timer")
    alive.stop()
    server.stop()
    lab.port += 1
    refused = lab.client("connectonly", conns=2)
    refused.wait_progress(lambda line: line["errors"] >= 4 and line["errno"] == "ECONNREFUSED")
    server = lab.start("rrd", port=lab.port)
    refused.wait_progress(lambda line: line["conns"] == 2)
    tap.ok(True, "a client that is refused says so and tries again until it is let in")
    server.stop()
    refused.wait_progress(lambda line: line["errno"] in ("EPIPE", "ECONNREFUSED") and line["conns"] == 0
                          and line["ops"])
    tap.ok(True, "and notices when the server goes")
    refused.stop()
    once = lab.client("bulk", reconnect=0)
    tap.equal((once.wait_end()["errors"], once.process.returncode), (1, 0), "reconnect=0 tries once")


def check_burst(lab):
    sink = lab.server("sink")
    burst = lab.client("burst", bytes=300000, interval_ms=100, duration=0.75).wait_end()
    got = sink.wait_progress(lambda line: line["bytes"] and line["conns"] == 0)
    lab.tap.between(burst["ops"], 5, 8, "burst: one every 100 ms")
    lab.tap.equal((got["bytes"], burst["bytes"]), (burst["ops"] * 300000,) * 2, "and the sink has all of it")
    sink.stop()
    deaf = lab.server("sink", skip=1, rcvbuf=4096)
    unheard = lab.client("burst", bytes=200000, sndbuf="1MB")
    unheard.wait_progress(lambda line: line["bytes"] == 200000)
    time.sleep(0.2)
    lab.tap.equal(unheard.last()["ops"], 0, "a burst that has been handed over is not over until the peer has it")
    deaf.stop()
    unheard.stop()


def check_datagrams(lab):
    tap = lab.tap
    sink = lab.server("udpsink")
    sent = lab.client("udpsend", size=500, rate=1000, duration=0.5).wait_end()
    tap.between(sent["ops"], 450, 510, "udpsend: rate=1000 for half a second")
    got = sink.stop()
    tap.equal((got["bytes"], got["ops"]), (sent["ops"] * 500, sent["ops"]), "udpsink has every one")
    tap.between(statistics.median(latencies(sink)), 0, 20000, "and knows how long they took, us")
    sink = lab.server("udpsink", rcvbuf=4096, read_delay_ms=20)
    sent = lab.client("udpsend", size=500, rate=1000, burst=100, duration=0.45).wait_end()
    got = sink.stop()
    tap.equal(sent["ops"] % 100, 0, "burst=100 sends hundreds")
    tap.between(got["ops"], 1, sent["ops"] / 2, "a small buffer and a slow reader lose most of them")
    tap.ok(lab.home.counters("Udp")["RcvbufErrors"] >= (sent["ops"] - got["ops"]) * 0.9,
           "the kernel counts what was lost")
    lab.port += 1
    lost = lab.client("udpsend", rate=100, duration=0.3).wait_end()
    tap.ok(lost["errors"] > 0 and lost["errno"] == "ECONNREFUSED", "no listener: the error is reported")


def ask(lab, name):
    """A query as any resolver library makes it; the address in the answer."""
    question = b"".join(bytes([len(label)]) + label.encode()
                        for label in name.split(".")) + b"\0" + struct.pack("!HH", 1, 1)
    with lab.home.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(5)
        asker.sendto(struct.pack("!6H", 0x4711, 0x100, 1, 0, 0, 0) + question, ("127.0.0.1", lab.port))
        answer = asker.recv(512)
    number, flags, _, answers, _, _ = struct.unpack("!6H", answer[:12])
    return number, flags & 0x800F, answers, socket.inet_ntoa(answer[-4:])


def check_dns(lab):
    tap = lab.tap
    server = lab.server("dns", delay_ms=30, addr="10.77.5.5", control=1)
    tap.equal(ask(lab, "www.lab.test"), (0x4711, 0x8000, 1, "10.77.5.5"), "dns answers like a resolver")
    client = lab.client("dnsq", interval_ms=50, timeout_ms=100)
    client.wait_progress(lambda line: line["ops"] >= 5)
    tap.between(statistics.median(latencies(client)), 30000, 45000, "dnsq: delay_ms=30, us")
    tap.equal(client.last()["errors"], 0, "dnsq: every answer is good")
    server.say("delay_every=2")
    known = client.last()["ops"]
    mixed = client.wait_progress(lambda line: line["ops"] > known + 4 and line["lat_us"] and line["lat_us"] < 30000)
    tap.ok(True, "delay_every=2: some replies are not late", f"{mixed['lat_us']:.0f} us")
    server.say("answer=nxdomain")
    tap.equal(ask(lab, "www.lab.test")[:3], (0x4711, 0x8003, 0), "dns answers that there is no such name")
    server.say("answer=ok")
    server.say("drop_every=2")
    known = client.last()
    half = client.wait_progress(lambda line: line["errors"] >= known["errors"] + 3 and line["errno"] == "ETIMEDOUT"
                                and line["ops"] >= known["ops"] + 3)
    tap.ok(True, "drop_every=2: some lookups succeed, others time out", f"{half['ops']} and {half['errors']}")
    server.say("drop_every=0")
    server.say("answer=refuse")
    client.wait_progress(lambda line: line["errno"] == "EPROTO")
    server.say("answer=silent")
    client.wait_progress(lambda line: line["errno"] == "ETIMEDOUT")
    server.stop()
    client.wait_progress(lambda line: line["errno"] == "ECONNREFUSED")
    tap.ok(True, "dnsq tells a refusal, silence and a dead resolver apart")
    client.stop()


def check_hog(lab):
    hog = lab.start("hog", threads=2, nice=7)
    deadline = time.monotonic() + 10
    while cpu_seconds(hog.process.pid) < 0.2 and time.monotonic() < deadline:
        time.sleep(0.1)
    nice = []
    for task in os.listdir(f"/proc/{hog.process.pid}/task"):
        with open(f"/proc/{hog.process.pid}/task/{task}/stat") as file:
            nice.append(int(file.read().rsplit(")", 1)[1].split()[16]))
    lab.tap.equal(sorted(nice), [0, 7, 7], "hog: nice threads, and one that reports")
    lab.tap.between(cpu_seconds(hog.process.pid), 0.2, 5, "hog burns CPU time, s")
    lab.tap.ok(hog.stop()["ops"] > 0, "and counts its turns")


def check_two_hosts(lab):
    """What needs a second host: a tunnel between them, and half-open connections from nowhere."""
    tap, a, b = lab.tap, harness.Namespace(lab.stack), harness.Namespace(lab.stack)
    harness.cable(a, "a0", b, "b0")
    a.run("ip", "address", "add", "10.77.1.1/24", "dev", "a0")
    b.run("ip", "address", "add", "10.77.1.2/24", "dev", "b0")
    ends = [lab.start("tunnel", dev="tun7", remote="10.77.1.2", port=6000, on=a),
            lab.start("tunnel", dev="tun7", local="10.77.1.2", remote="10.77.1.1", port=6000, mtu=1300, on=b)]
    a.run("ip", "address", "add", "10.77.9.1/24", "dev", "tun7")
    b.run("ip", "address", "add", "10.77.9.2/24", "dev", "tun7")
    tap.ok("mtu 1300" in b.run("ip", "link", "show", "tun7"), "tunnel: the device has the MTU that was asked for")
    sink = lab.start("sink", port=5001, on=b)
    sent = lab.start("bulk", dst="10.77.9.2", port=5001, bytes="3MB", on=a).wait_end()
    tap.equal((sent["bytes"], sink.stop()["bytes"]), (3000000, 3000000), "a transfer through the tunnel is whole")
    moved = [end.stop() for end in ends]
    tap.ok(all(end["bytes"] > 3000000 for end in moved), "and both ends carried it", str([end["ops"] for end in moved]))
    tap.ok("tun7" not in a.run("ip", "link"), "the device goes with its process")

    sink = lab.start("sink", port=5002, backlog=64, on=a)
    flood = lab.start("synflood", dst="10.77.1.1", port=5002, prefix="10.77.1.128/25", rate=1000, count=40, on=b)
    done = flood.wait_end()
    tap.equal((done["ops"], done["bytes"], done["errors"]), (40, 1600, 0), "synflood: count=40 packets, then it ends")
    half_open = a.run("ss", "-Hnt", "state", "syn-recv", "sport", "=", ":5002").strip().splitlines()
    tap.between(len(half_open), 20, 40, "and leaves half-open connections from pretended addresses")
    tap.ok(all(line.split()[3].startswith("10.77.1.") for line in half_open), "inside the prefix that was given")
    sink.stop()


def body(tap, stack):
    lab = Lab(tap, stack)
    for check in (check_options, check_bulk, check_progress, check_readers, check_listeners, check_strangers,
                  check_exchange, check_thinking, check_greeting, check_patience, check_web, check_connecting,
                  check_burst, check_datagrams, check_dns, check_hog, check_two_hosts):
        check(lab)
    for words in (["sink", "port=6100"], ["hog"], ["bulk", "dst=127.0.0.1", "port=6100"]):
        tap.ok(harness.dies_with_parent(lab.home, APP, *words), f"{words[0]} goes when its parent is killed")


harness.main(body)
