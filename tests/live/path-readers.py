#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers that read in ways other than recv, for path-readers.t. Each answers every message with a byte.

path-readers.py recvmmsg ADDR PORT   UDP: several datagrams with one call
path-readers.py splice ADDR PORT     TCP: into a pipe, never to its own memory
path-readers.py uring ADDR PORT      TCP: through io_uring
path-readers.py several ADDR PORT    UDP: four threads on one socket
path-readers.py spin ADDR PORT       TCP: never waits, asks again and again
path-readers.py spin_udp ADDR PORT   the same with UDP
path-readers.py bulk ADDR PORT       TCP: reads to the end as fast as it can
path-readers.py send ADDR PORT SECONDS BYTES   sends to such a server for so long, so much at once
Servers say `up` when they listen; all end by themselves after a minute.
"""
import ctypes
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
MESSAGE = 64


def listen(kind, addr, port):
    sock = socket.socket(socket.AF_INET, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((addr, int(port)))
    if kind == socket.SOCK_STREAM:
        sock.listen(5)
    print("up", flush=True)
    return sock


def accept(addr, port):
    conn = listen(socket.SOCK_STREAM, addr, port).accept()[0]
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return conn


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_size", ctypes.c_uint),
        ("vectors", ctypes.POINTER(Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_size", ctypes.c_size_t),
        ("flags", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
    ]


def recvmmsg(addr, port):
    sock = listen(socket.SOCK_DGRAM, addr, port)
    rooms = [(ctypes.create_string_buffer(2048), ctypes.create_string_buffer(16)) for _ in range(8)]
    messages = (Message * 8)()
    for message, (data, name) in zip(messages, rooms):
        message.vectors = ctypes.pointer(Vector(ctypes.addressof(data), 2048))
        message.vector_count = 1
        message.name = ctypes.addressof(name)
    while True:
        for message in messages:
            message.name_size = 16
        # MSG_WAITFORONE
        count = libc.recvmmsg(sock.fileno(), messages, 8, 0x10000, None)
        for _, name in rooms[: max(count, 0)]:
            peer_port, peer = struct.unpack_from("!H4s", name.raw, 2)
            sock.sendto(b"y", (socket.inet_ntoa(peer), peer_port))


def splice(addr, port):
    conn = accept(addr, port)
    out, into = os.pipe()
    while True:
        size = os.splice(conn.fileno(), into, MESSAGE)
        if not size:
            return
        left = size
        while left:
            left -= len(os.read(out, left))
        conn.send(b"y")


# Numbers of linux/io_uring.h.
SETUP, ENTER, GET_EVENTS, OP_RECV = 425, 426, 1, 27


def uring(addr, port):
    conn = accept(addr, port)
    params = ctypes.create_string_buffer(120)
    ring = libc.syscall(SETUP, 4, params)
    if ring < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    sq_entries, cq_entries = struct.unpack_from("II", params.raw)
    sq_tail, sq_mask, sq_array = (struct.unpack_from("I", params.raw, 40 + at)[0] for at in (4, 8, 24))
    cq_head, cq_mask, cqes = (struct.unpack_from("I", params.raw, 80 + at)[0] for at in (0, 8, 20))
    size = max(sq_array + sq_entries * 4, cqes + cq_entries * 16)
    rings = mmap.mmap(ring, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
    entries = mmap.mmap(ring, sq_entries * 64, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0x10000000)
    data = ctypes.create_string_buffer(MESSAGE)

    def word(at):
        return struct.unpack_from("I", rings, at)[0]

    while True:
        tail = word(sq_tail)
        at = tail & word(sq_mask)
        request = struct.pack("BBHiQQIIQ", OP_RECV, 0, 0, conn.fileno(), 0, ctypes.addressof(data), MESSAGE, 0, 7)
        entries[at * 64 : at * 64 + 64] = request.ljust(64, b"\0")
        struct.pack_into("I", rings, sq_array + at * 4, at)
        struct.pack_into("I", rings, sq_tail, tail + 1)
        libc.syscall(ENTER, ring, 1, 1, GET_EVENTS, None, 0)
        head = word(cq_head)
        result = struct.unpack_from("i", rings, cqes + (head & word(cq_mask)) * 16 + 8)[0]
        struct.pack_into("I", rings, cq_head, head + 1)
        if result <= 0:
            return
        conn.send(b"y")


def several(addr, port):
    sock = listen(socket.SOCK_DGRAM, addr, port)

    def serve():
        while True:
            peer = sock.recvfrom(2048)[1]
            sock.sendto(b"y", peer)

    for _ in range(3):
        threading.Thread(target=serve, daemon=True).start()
    serve()


def ask_again(sock):
    while True:
        try:
            return sock.recvfrom(2048)
        except BlockingIOError:
            pass


def spin(addr, port):
    conn = accept(addr, port)
    conn.setblocking(False)
    while ask_again(conn)[0]:
        conn.send(b"y")


def spin_udp(addr, port):
    sock = listen(socket.SOCK_DGRAM, addr, port)
    sock.setblocking(False)
    while True:
        sock.sendto(b"y", ask_again(sock)[1])


def bulk(addr, port):
    conn = accept(addr, port)
    while conn.recv(1 << 18):
        pass


def send(addr, port, seconds, size):
    sock = socket.create_connection((addr, int(port)))
    data = b"x" * int(size)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        sock.sendall(data)
    # Until the other side has read it all.
    sock.shutdown(socket.SHUT_WR)
    sock.recv(1)


if __name__ == "__main__":
    # Whatever happens, it ends; in an emulated machine everything takes much longer.
    signal.alarm(600 if os.environ.get("NEST_VM") else 60)
    globals()[sys.argv[1]](*sys.argv[2:])
