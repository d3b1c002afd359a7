# SPDX-License-Identifier: GPL-2.0-or-later
"""For skb-life.t: data that waits for a busy reader, and how long it waited, as the reader itself knows it."""
import socket
import struct
import sys
import time

FAR = "10.92.0.2"
SO_TIMESTAMPNS = 35
COUNT = 41
PIECES = 23


def reader():
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    datagrams.bind((FAR, 29040))
    listener = socket.create_server((FAR, 29041))
    print("ready", flush=True)
    # Busy until told: everything has arrived by then.
    sys.stdin.readline()
    for _ in range(COUNT):
        data, extra, _, _ = datagrams.recvmsg(65536, 256)
        now = time.time()
        seconds, nanoseconds = struct.unpack("=qq", extra[0][2])
        print("waited", len(data), now - seconds - nanoseconds / 1e9, flush=True)
    conn = listener.accept()[0]
    print("accepted", flush=True)
    sys.stdin.readline()
    got = 0
    while got < PIECES * 79 + 300000:
        got += len(conn.recv(65536))
    print("got", got, flush=True)
    sys.stdin.readline()


def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for i in range(COUNT):
            s.sendto(b"x" * (500 + i), (FAR, 29040))


def stream():
    """Small pieces, each a packet, that the receiver makes one of in its queue; then one large write."""
    with socket.create_connection((FAR, 29041)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(PIECES):
            s.send(b"x" * 79)
            time.sleep(0.002)
        print("sent", flush=True)
        sys.stdin.readline()
        s.sendall(b"x" * 300000)
        sys.stdin.readline()


{"reader": reader, "datagrams": datagrams, "stream": stream}[sys.argv[1]]()
