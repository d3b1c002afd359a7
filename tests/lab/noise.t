#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Noise and the single-worker server: the kernel's own counters and the clock of a client say what they do.
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "..", "..", "lab")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, LAB]
import harness
import real
from real import noise

ENOUGH = 20
SLOW_S = 1.0


@contextlib.contextmanager
def started(namespace, *words):
    """Lines of a program that runs until the test has seen enough."""
    with subprocess.Popen(namespace.command(*words), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout
        finally:
            process.kill()


def send_noise(namespace, *words):
    """Runs a metered kind until it counts enough operations; returns how many."""
    with started(namespace, sys.executable, os.path.join(LAB, "real"), words[0], "/nonexistent", *words[1:]) as lines:
        for line in lines:
            if line.startswith("{") and json.loads(line)["ops"] >= ENOUGH:
                return json.loads(line)["ops"]
    return 0


def test_checksum(tap):
    segment = noise.bare_segment("10.77.2.3", "10.77.1.2", (20000, 5001), 12345, noise.ACK)
    pseudo = socket.inet_aton("10.77.2.3") + socket.inet_aton("10.77.1.2") + struct.pack("!HH", 6, len(segment))
    tap.equal((len(segment), noise.checksum(pseudo + segment)), (20, 0), "a bare segment has a right checksum")


def test_strays(tap, namespace):
    sent = send_noise(namespace, "strays", "source=127.0.0.1", "host=127.0.0.1", "port=9", "rate=100")
    tcp = namespace.counters("Tcp")
    tap.ok(sent and tcp["InSegs"] >= ENOUGH, "strays reach TCP", f"{sent} sent, {tcp['InSegs']} received")
    tap.ok(tcp["InErrs"] == 0 and tcp["OutRsts"] >= ENOUGH // 2 - 1, "which answers the ACKs among them with resets",
           f"{tcp['OutRsts']} resets, {tcp['InErrs']} errors")


def test_sweep(tap, namespace):
    sent = send_noise(namespace, "sweep", "prefix=127.0.0.", "first=10", "last=12", "rate=100")
    udp = namespace.counters("Udp")
    tap.ok(sent and udp["NoPorts"] >= ENOUGH, "a sweep sends a datagram to one address after another",
           f"{sent} sent, {udp['NoPorts']} without a port")


def fetch(namespace, path):
    """Seconds until the whole response is there, and its length."""
    begin = time.monotonic()
    with namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        while client.connect_ex(("127.0.0.1", 8001)) != 0:
            time.sleep(0.02)
            if time.monotonic() - begin > 10:
                raise RuntimeError("the server does not listen")
        client.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        with client.makefile("rb") as stream:
            body = stream.read().partition(b"\r\n\r\n")[2]
    return time.monotonic() - begin, len(body)


def test_hops(tap, namespace):
    with namespace.socket(socket.AF_INET, socket.SOCK_DGRAM) as target:
        target.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTTL, 1)
        target.bind(("127.0.0.1", 33436))
        target.settimeout(10)
        sent = send_noise(namespace, "hops", "host=127.0.0.1", "last=4", "rate=100")
        _, extra, _, _ = target.recvmsg(100, socket.CMSG_SPACE(4))
    tap.equal([struct.unpack("i", data)[0] for _, kind, data in extra if kind == socket.IP_TTL], [3],
              "the third datagram of hops has a TTL of 3")
    tap.ok(sent and namespace.counters("Udp")["NoPorts"] >= ENOUGH - 1, "the others go to other ports")


def test_serial(tap, namespace):
    command = real.SERVERS["serial"](None, port="8001", resp="3000", slow_ms=str(1000 * SLOW_S))
    with started(namespace, *command):
        fetch(namespace, "/data")
        slow = []
        ahead = threading.Thread(target=lambda: slow.append(fetch(namespace, "/slow")))
        begin = time.monotonic()
        ahead.start()
        # Connections are served in turn: from here on the slow one is in front.
        while namespace.run("ss", "-Htn", "state", "established", "sport", "=", ":8001") == "":
            time.sleep(0.01)
        _, length = fetch(namespace, "/data")
        waited = time.monotonic() - begin
        ahead.join()
    tap.equal((length, slow[0][1]), (3000, 3000), "the single-worker server answers")
    tap.ok(waited >= SLOW_S, "and a request waits for the slow one in front of it", f"{waited:.2f} s")


def body(tap, stack):
    test_checksum(tap)
    for test in (test_strays, test_sweep, test_hops, test_serial):
        test(tap, harness.Namespace(stack))


harness.main(body)
