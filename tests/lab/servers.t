#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Python servers and clients of scenarios: a plain socket at the other end and ss say what they do.
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "..", "..", "lab")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, LAB]
import harness
import real
from real.script import address_of

PATIENCE = 20.0
DESCRIPTORS = 24
TRUNCATED = 0x0200


@contextlib.contextmanager
def started(namespace, command):
    with subprocess.Popen(namespace.command(*command), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {PATIENCE:g} s: {what}")
        time.sleep(0.02)


def listens(namespace, port):
    wait_for(lambda: namespace.run("ss", "-Hltn", f"sport = :{port}"), f"a listener on {port}")


def client_of(namespace, port):
    client = namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", port))
    return client


def listener_of(namespace, port):
    listener = namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.settimeout(PATIENCE)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    return listener


def unread(namespace, port):
    """Bytes in the receive queues of a server's connections."""
    lines = namespace.run("ss", "-Htn", "state", "established", f"sport = :{port}").splitlines()
    return [int(line.split()[0]) for line in lines]


def test_forward(tap, namespace):
    tap.equal([address_of("10.77.2.2:80"), address_of("[fd77:2::2]:80")], [("10.77.2.2", 80), ("fd77:2::2", 80)],
              "addresses of both families have a port")
    command = real.SERVERS["forward"](None, port="8001", to="127.0.0.1:8002", limit="1")
    with listener_of(namespace, 8002) as behind, started(namespace, command):
        listens(namespace, 8001)
        with client_of(namespace, 8001) as first, client_of(namespace, 8001) as second:
            upstream = behind.accept()[0]
            first.sendall(b"question")
            asked = upstream.recv(100)
            upstream.sendall(b"reply")
            tap.equal((asked, first.recv(100)), (b"question", b"reply"), "a proxy carries bytes both ways")
            second.sendall(b"me too")
            wait_for(lambda: 6 in unread(namespace, 8001), "unread bytes")
            tap.ok(True, "a client above the limit is connected and unread")
            first.close()
            tap.equal(upstream.recv(100), b"", "the end of a client is passed on")
            upstream.close()
            with behind.accept()[0] as upstream:
                tap.equal(upstream.recv(100), b"me too", "and its place goes to the next one")


def use_once(namespace, port):
    with client_of(namespace, port) as client:
        client.sendall(b"request")
        return len(client.recv(500, socket.MSG_WAITALL))


def waiting_close(namespace, port):
    return len(namespace.run("ss", "-Htn", "state", "close-wait", f"sport = :{port}").splitlines())


def test_leaky(tap, namespace):
    for leak in ("0", "1"):
        port = 8003 + int(leak)
        command = real.SERVERS["leaky"](None, port=str(port), resp="500", leak=leak, descriptors=str(DESCRIPTORS))
        with started(namespace, command):
            listens(namespace, port)
            lengths = {use_once(namespace, port) for _ in range(8)}
            tap.equal(lengths, {500}, f"leak={leak}: every request has its response")
            if leak == "0":
                wait_for(lambda: waiting_close(namespace, port) == 0, "closed connections")
                tap.ok(True, "and is closed")
                continue
            wait_for(lambda: waiting_close(namespace, port) == 8, "connections in CLOSE_WAIT")
            clients = [client_of(namespace, port) for _ in range(DESCRIPTORS)]
            wait_for(lambda: namespace.run("ss", "-Hltn", f"sport = :{port}").split()[1] != "0", "a queue")
            tap.ok(True, "or stays in CLOSE_WAIT, until nobody is accepted any longer")
            for client in clients:
                client.close()


def test_digest(tap, namespace):
    with listener_of(namespace, 8005) as listener:
        command = [sys.executable, os.path.join(LAB, "real"), "digest", "/nonexistent", "host=127.0.0.1", "port=8005",
                   "every_ms=300"]
        with started(namespace, command) as process, listener.accept()[0] as stream:
            stream.sendall(bytes(70000))
            lines = (json.loads(line) for line in process.stdout if line.startswith("{"))
            last = next(line for line in lines if line["bytes"] >= 70000)
    tap.equal((last["bytes"], last["errors"]), (70000, 0), "a shipper reads all that waits for it")
    tap.between(last["ops"], 1, 3, "in few readings")


def test_truncate(tap, namespace):
    command = [harness.APP, "dns", "port=5353", "answer=truncate"]
    query = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + b"\3lab\4test\0" + struct.pack("!2H", 1, 1)
    with started(namespace, command) as process:
        process.stdout.readline()
        with namespace.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(PATIENCE)
            client.sendto(query, ("127.0.0.1", 5353))
            number, flags, _, answers = struct.unpack("!4H", client.recv(512)[:8])
    tap.equal((number, flags & TRUNCATED, answers), (7, TRUNCATED, 0), "a name server cuts its reply off and says so")


def body(tap, stack):
    for test in (test_forward, test_leaky, test_digest, test_truncate):
        test(tap, harness.Namespace(stack))


harness.main(body)
