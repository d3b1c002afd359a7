#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP servers that divide their work in different ways, for tests of owners.

    owner-load.py MODE PORT LOG

MODE is threads (one for each connection), fork (a process for each), prefork (four processes accept), or pass (one
process accepts and hands the descriptors to four others). Prints "ready"; LOG gets a line "PEER-PORT PID" for each
connection, with the process that answered it.
"""
import array
import os
import socket
import sys
import threading

ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: 237\r\nConnection: close\r\n\r\n" + b"a" * 237


def answer(connection, log):
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(65536)
        if not part:
            break
        request += part
    connection.sendall(ANSWER)
    os.write(log, b"%d %d\n" % (connection.getpeername()[1], os.getpid()))
    connection.close()


def serve(listener, handle):
    while True:
        connection, _ = listener.accept()
        handle(connection)


def threads(listener, log):
    serve(listener, lambda connection: threading.Thread(target=answer, args=(connection, log), daemon=True).start())


def fork(listener, log):
    def handle(connection):
        if os.fork() == 0:
            answer(connection, log)
            os._exit(0)
        connection.close()
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass

    serve(listener, handle)


def workers(count, work):
    for _ in range(count):
        if os.fork() == 0:
            work()


def prefork(listener, log):
    workers(3, lambda: serve(listener, lambda connection: answer(connection, log)))
    serve(listener, lambda connection: answer(connection, log))


def hand_over(listener, log):
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    def work():
        listener.close()
        while True:
            _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
            answer(socket.socket(fileno=fds[0]), log)

    def handle(connection):
        mine.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))])
        connection.close()

    workers(4, work)
    serve(listener, handle)


def main():
    mode, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    print("ready", flush=True)
    {"threads": threads, "fork": fork, "prefork": prefork, "pass": hand_over}[mode](listener, log)


main()
