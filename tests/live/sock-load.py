#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Socket calls with known results, for tests of the socket tools. Each prints what it did as JSON.

    sock-load.py setup        makes, binds, listens, in order and wrongly
    sock-load.py connect      connects by every protocol, in vain and not
    sock-load.py life         sessions of TCP and UDP with odd numbers of bytes
    sock-load.py slow MS      a server that answers after MS milliseconds
    sock-load.py pass         hands descriptors over
    sock-load.py flood N SIZE N datagrams to a socket that does not read until all are sent
    sock-load.py bytes        reads by every way, looks without taking
    sock-load.py ring         accepts through io_uring
    sock-load.py families     sends and receives by sockets of every family, in a thread of its own: what must be seen
"""
import array
import ctypes
import errno
import json
import mmap
import os
import socket
import struct
import sys
import tempfile
import threading
import time


def outcome(call, *arguments):
    """The name of the error, or None."""
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return None


def setup():
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    port = one.getsockname()[1]
    one.listen(7)
    one.listen(100000)
    two = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    two.bind(("::1", 0))
    three = socket.socket(socket.AF_UNIX)
    three.bind("\0nest-sock-load-%d" % os.getpid())
    three.listen(3)
    four = socket.socket()
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as file:
        most = int(file.read())
    return {"port": port, "port6": two.getsockname()[1], "unix": "@nest-sock-load-%d" % os.getpid(), "most": most,
            "in_use": outcome(four.bind, ("127.0.0.1", port)), "not_ours": outcome(four.bind, ("192.0.2.77", 4711)),
            "protocol": outcome(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 99)}


def connect():
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    done = []

    def step(family, kind, where, blocking=True):
        one = socket.socket(family, kind)
        one.setblocking(blocking)
        result = outcome(one.connect, where)
        if not blocking:
            time.sleep(0.05)
            result = errno.errorcode.get(one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        done.append([where[1] if isinstance(where, tuple) else None, result])
        one.close()

    step(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
    step(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9))
    step(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port), False)
    step(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9), False)
    step(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 4712))
    step(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 4713))
    step(socket.AF_INET6, socket.SOCK_DGRAM, ("::ffff:127.0.0.1", 4714))
    step(socket.AF_UNIX, socket.SOCK_STREAM, "/nonexistent/nest")
    # Two ports are not enough for three connections.
    with open("/proc/sys/net/ipv4/ip_local_port_range", "r+", encoding="ascii") as file:
        before = file.read()
        file.seek(0)
        file.write("61000 61001\n")
    held = [socket.socket() for _ in range(3)]
    for one in held:
        done.append([port, outcome(one.connect, ("127.0.0.1", port))])
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as file:
        file.write(before)
    return done


def life():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    for _ in range(37):
        client.sendall(b"q" * 211)
    accepted.recv(37 * 211, socket.MSG_WAITALL)
    accepted.sendall(b"a" * 7919)
    client.recv(7919, socket.MSG_WAITALL)
    time.sleep(0.1)
    ports = {"client": client.getsockname()[1], "server": server.getsockname()[1]}
    client.close()
    accepted.close()
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.bind(("127.0.0.1", 0))
    by = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    by.connect(to.getsockname())
    for _ in range(41):
        by.send(b"u" * 113)
        to.recv(1000, socket.MSG_PEEK)
        to.recv(1000)
    ports.update(udp_to=to.getsockname()[1], udp_by=by.getsockname()[1])
    by.close()
    to.close()
    return ports


def families():
    """Rows: [family, protocol, port here, port there, calls, bytes], of sending and of receiving."""
    sent, received = [], []

    def exchange(by, to, names, sizes):
        for size in sizes:
            by.send(b"f" * size)
            to.recv(size + 1 if to.type == socket.SOCK_DGRAM else size, socket.MSG_WAITALL)
        ports = [s.getsockname()[1] if names[1] else None for s in (by, to)]
        sent.append(names + ports + [len(sizes), sum(sizes)])
        received.append(names + [ports[1], ports[0] if to.type == socket.SOCK_STREAM else None, len(sizes), sum(sizes)])

    def streams(family, listen, connect, name):
        server = socket.socket(family)
        server.bind((listen, 0))
        server.listen()
        by = socket.socket(family)
        by.connect((connect, server.getsockname()[1]))
        to, _ = server.accept()
        exchange(by, to, [name, "tcp"], [1, 211, 7919])

    def work():
        streams(socket.AF_INET, "127.0.0.1", "127.0.0.1", "ipv4")
        streams(socket.AF_INET6, "::1", "::1", "ipv6")
        streams(socket.AF_INET6, "::", "::ffff:127.0.0.1", "ipv4")
        to = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        to.bind(("::1", 0))
        by = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        by.connect(to.getsockname())
        exchange(by, to, ["ipv6", "udp"], [997, 0])
        exchange(*socket.socketpair(), ["unix", None], [13, 17, 19])
        # A number of a protocol there, which is TCP's elsewhere.
        odd = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 6)
        sent.append(["netlink", None, None, None, 1, odd.send(struct.pack("=IHHII", 16, 1, 0, 1, 0))])
        done["tid"] = threading.get_native_id()

    done = {"pid": os.getpid()}
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return {**done, "sent": sent, "received": received}


def slow(milliseconds):
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection, _ = server.accept()
        time.sleep(milliseconds / 1000)
        connection.sendall(b"late")
        connection.close()

    helper = threading.Thread(target=answer)
    helper.start()
    client = socket.create_connection(server.getsockname())
    client.recv(1)
    client.recv(100)
    helper.join()
    return server.getsockname()[1]


def hand_over():
    one, two = socket.socketpair(socket.AF_UNIX)
    reader, writer = os.pipe()
    with tempfile.NamedTemporaryFile(prefix="nest-pass-") as file:
        sent = [file.fileno(), reader, one.fileno()]
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", sent))])
        _, control, _, _ = two.recvmsg(10, 1000)
        received = list(array.array("i", control[0][2]))
        os.close(writer)
        return {"from": one.fileno(), "to": two.fileno(), "sent": sent, "received": received,
                "file": os.path.basename(file.name)}


def udp_errors():
    with open("/proc/net/snmp", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("Udp:")]
    return int(values[names.index("RcvbufErrors")])


def flood(count, size):
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    to.bind(("127.0.0.1", 0))
    by = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    before = udp_errors()
    for _ in range(count):
        by.sendto(b"f" * size, to.getsockname())
    lost = udp_errors() - before
    to.setblocking(False)
    read = 0
    while outcome(to.recv, 65536) is None:
        read += 1
    return {"lost": lost, "read": read, "port": to.getsockname()[1], "from": by.getsockname()[1],
            "rcvbuf": to.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)}


class Ring:
    """Just enough of io_uring for one operation at a time."""
    ACCEPT, SEND, RECV = 13, 26, 27

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        parameters = bytearray(120)
        buffer = (ctypes.c_char * 120).from_buffer(parameters)
        self.fd = self.libc.syscall(425, 4, buffer)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "io_uring_setup")
        submit = struct.unpack_from("8I", parameters, 40)
        self.tail, self.mask, self.array = submit[1], submit[2], submit[6]
        complete = struct.unpack_from("8I", parameters, 80)
        self.done_head, self.done_tail, self.done_mask, self.entries = (
            complete[0], complete[1], complete[2], complete[5])
        self.rings = mmap.mmap(self.fd, 4096, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, offset=0)
        self.requests = mmap.mmap(self.fd, 4096, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, offset=0x10000000)

    def word(self, at):
        return struct.unpack_from("I", self.rings, at)[0]

    def accept(self, fd):
        return self.run(Ring.ACCEPT, fd, None)

    def run(self, operation, fd, buffer, flags=0):
        tail = self.word(self.tail)
        index = tail & self.word(self.mask)
        address, size = (ctypes.addressof(buffer), ctypes.sizeof(buffer)) if buffer else (0, 0)
        struct.pack_into("BBHiQQII", self.requests, index * 64, operation, 0, 0, fd, 0, address, size, flags)
        struct.pack_into("I", self.rings, self.array + index * 4, index)
        struct.pack_into("I", self.rings, self.tail, tail + 1)
        if self.libc.syscall(426, self.fd, 1, 1, 1, None, 0) < 0:
            raise OSError(ctypes.get_errno(), "io_uring_enter")
        head = self.word(self.done_head)
        result = struct.unpack_from("i", self.rings, self.entries + (head & self.word(self.done_mask)) * 16 + 8)[0]
        struct.pack_into("I", self.rings, self.done_head, head + 1)
        return result


def pair():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    return client, accepted


def ring_accept():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    try:
        fd = Ring().accept(server.fileno())
    except OSError as error:
        return {"port": None, "why": str(error)}
    return {"port": client.getsockname()[1], "fd": fd, "server": server.getsockname()[1]}


def all_of(read, size):
    total = 0
    while total < size:
        total += read(size - total)
    return total


def bytes_moved():
    """Each way receives an odd number of bytes on its own connection: [way, port that receives, sent, received]."""
    done = []

    def way(name, size, read, write=None):
        client, accepted = pair()
        sent = write(client, size) if write else client.send(b"b" * size)
        got = all_of(lambda left: read(accepted, left), size)
        done.append([name, accepted.getpeername()[1], sent, got])
        client.close()
        accepted.close()

    def by_peek(connection, left):
        connection.recv(left, socket.MSG_PEEK)
        return len(connection.recv(left))

    def by_splice(connection, left):
        reader, writer = os.pipe()
        moved = os.splice(connection.fileno(), writer, left)
        os.close(reader)
        os.close(writer)
        return moved

    way("read", 1237, lambda connection, left: len(os.read(connection.fileno(), left)))
    way("readv", 2411, lambda connection, left: os.readv(connection.fileno(), [bytearray(11), bytearray(left)]))
    way("recvmsg", 3319, lambda connection, left: len(connection.recvmsg(left)[0]))
    way("peek", 1733, by_peek)
    if hasattr(os, "splice"):
        way("splice", 4409, by_splice)
    try:
        ring = Ring()
    except OSError as error:
        print("no io_uring: %s" % error, file=sys.stderr)
    else:
        way("io_uring", 5171,
            lambda connection, left: ring.run(Ring.RECV, connection.fileno(), ctypes.create_string_buffer(left)),
            lambda connection, size: ring.run(Ring.SEND, connection.fileno(),
                                              (ctypes.c_char * size).from_buffer(bytearray(size))))
    return done


if __name__ == "__main__":
    command, numbers = sys.argv[1], [int(word) for word in sys.argv[2:]]
    print(json.dumps({"setup": setup, "connect": connect, "life": life, "slow": slow, "pass": hand_over,
                      "flood": flood, "bytes": bytes_moved, "ring": ring_accept,
                      "families": families}[command](*numbers)))
