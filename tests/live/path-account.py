#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads of path-account.t.

path-account.py serve ADDR PORT         TCP: a connection says with its first byte what becomes of it;
                                        UDP: PORT + 1 is never read
path-account.py ask ADDR PORT COUNT     COUNT connections of each kind, and as many datagrams for that socket
path-account.py knock ADDR PORT COUNT   connections that are refused
path-account.py tagged DEVICE COUNT     datagrams with the tag of a VLAN in them, for whoever is on the link
All end by themselves after a minute.
"""
import fcntl
import signal
import socket
import struct
import sys
import termios
import time

LONG = 30000
UNREAD = 700


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def waits(sock, size):
    """Until so many bytes are in the socket."""
    while struct.unpack("i", fcntl.ioctl(sock, termios.FIONREAD, b"    "))[0] < size:
        time.sleep(0.001)


def serve(addr, port):
    unread = socket.socket(family(addr), socket.SOCK_DGRAM)
    unread.bind((addr, int(port) + 1))
    sock = socket.socket(family(addr))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((addr, int(port)))
    sock.listen(100)
    print("up", flush=True)
    while True:
        conn, _ = sock.accept()
        kind = conn.recv(1)
        if kind == b"l":  # a long answer, closed before it is acknowledged
            conn.sendall(b"y" * LONG)
        elif kind == b"u":  # data that nobody reads
            waits(conn, UNREAD)
        elif kind == b"q":  # the datagrams, too
            unread.close()
            conn.send(b"z")
        conn.close()


def ask(addr, port, count):
    for kind in b"l", b"u":
        for _ in range(int(count)):
            conn = socket.create_connection((addr, int(port)), 20)
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conn.send(kind)
            if kind == b"u":
                time.sleep(0.002)
                conn.send(b"x" * UNREAD)
            try:
                while conn.recv(1 << 16):
                    pass
            except ConnectionResetError:
                pass
            conn.close()
    datagrams = socket.socket(family(addr), socket.SOCK_DGRAM)
    for _ in range(int(count)):
        datagrams.sendto(b"x" * UNREAD, (addr, int(port) + 1))
    conn = socket.create_connection((addr, int(port)), 20)
    conn.send(b"q")
    conn.recv(1)


def knock(addr, port, count):
    for _ in range(int(count)):
        try:
            socket.create_connection((addr, int(port)), 20)
        except ConnectionRefusedError:
            pass


def tagged(device, count):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((device, 0))
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 48, 1, 0, 64, 17, 0, bytes([10, 97, 0, 1]), bytes([10, 97, 0, 2]))
    udp = struct.pack("!HHHH", 7777, 7778, 28, 0) + b"z" * 20
    for _ in range(int(count)):
        sock.send(b"\xff" * 6 + b"\2\0\0\0\0\1" + struct.pack("!HHH", 0x8100, 7, 0x0800) + ip + udp)


if __name__ == "__main__":
    signal.alarm(60)
    globals()[sys.argv[1]](*sys.argv[2:])
