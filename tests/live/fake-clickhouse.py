#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that knows as much of ClickHouse as nest ships with, keeps the rows, and misbehaves on request.

    fake-clickhouse.py PORT-FILE [CERTIFICATE KEY]     with both: over TLS

It prints nothing; its port is in PORT-FILE. GET /rows answers with the rows by table; /mode/MODE/N makes the next N
requests that carry rows misbehave: 500, cut (keeps the rows, then closes without an answer), lost (closes without
keeping them), garbage, redirect (to /stolen of itself), refuse (400, as for rows that cannot be read); `huge` and
`slow` spoil all requests until /mode/ok/0.
"""
import gzip
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

tables = {}    # name -> {"columns": [...], "rows": [...]}
mode = ["ok", 0]
seen = {"inserts": 0, "auth": set(), "statements": [], "stolen": 0}
lock = threading.Lock()


def plain(sql):
    return sql.replace("`", "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, text, status=200):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang_up(self):
        self.close_connection = True
        self.connection.close()

    def misbehaves(self):
        with lock:
            if mode[0] == "ok" or mode[1] == 0:
                return None
            mode[1] -= 1
            return mode[0]

    def insert(self, table, body):
        how = self.misbehaves()
        if how == "500":
            return self.answer("Code: 241, e.displayText() = DB::Exception: Memory limit exceeded", 500)
        if how == "refuse":
            return self.answer("Code: 27, e.displayText() = DB::Exception: Cannot parse input", 400)
        if how == "garbage":
            self.wfile.write(b"\x00\xffHTTP/9 nonsense\r\n" * 100)
            return self.hang_up()
        if how == "lost":
            return self.hang_up()
        if how == "redirect":
            self.send_response(307)
            self.send_header("Location", "/stolen")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        rows = [json.loads(line) for line in gzip.decompress(body).splitlines()]
        with lock:
            seen["inserts"] += 1
            tables[table]["rows"] += rows
        if how == "cut":
            return self.hang_up()
        return self.answer("")

    def statement(self, sql, body):
        sql = plain(sql)
        words = sql.split()
        with lock:
            seen["statements"].append(sql[:300])
        if sql.startswith("SELECT version()"):
            return self.answer("18.16.1\n")
        if sql.startswith("CREATE DATABASE"):
            return self.answer("")
        if sql.startswith("CREATE TABLE"):
            name = words[5].split(".")[1]
            with lock:
                tables.setdefault(name, {"columns": [], "rows": []})
            return self.answer("")
        if "system.columns" in sql:
            name = sql.split("table = '")[1].split("'")[0]
            return self.answer("".join(c + "\n" for c in tables[name]["columns"]))
        if sql.startswith("ALTER TABLE"):
            name = words[2].split(".")[1]
            with lock:
                tables[name]["columns"] += [part.split()[0] for part in sql.split("ADD COLUMN ")[1:]]
            return self.answer("")
        if sql.startswith("INSERT INTO"):
            return self.insert(words[2].split(".")[1], body)
        if sql.startswith("SELECT DISTINCT host"):
            name = words[7].split(".")[1]
            with lock:
                lines = {(r["host"], r["boot"], r["stream"], r["row"]) for r in tables[name]["rows"]}
            return self.answer("".join("%s\t%s\t%d\t%d\n" % key for key in sorted(lines)
                                       if "row = %d)" % key[3] in sql))
        return self.answer("Code: 62, e.displayText() = DB::Exception: Syntax error", 400)

    def ask(self, sql):
        """With names and types, for nest sql."""
        if sql.startswith("SELECT version()"):
            return self.answer("version()\nString\n18.16.1\n")
        if sql == "SELECT slow":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a\nUInt8\n")
            try:
                for _ in range(600):
                    self.wfile.write(b"1\n")
                    time.sleep(0.1)
            except OSError:
                pass
            return self.hang_up()
        if sql == "SELECT line":
            try:
                self.send_response(200)
                self.end_headers()
                for _ in range(1000):
                    self.wfile.write(b"x" * (1 << 20))
            except OSError:
                pass
            return self.hang_up()
        if sql == "SELECT hostile":
            return self.answer("a\tb\nString\tUInt64\n\x1b[31m=1+1\\n\t18446744073709551614\n\\N\t7\n")
        if sql == "SELECT columns":
            return self.answer("a\tb\nString\tUInt64\n1\n")
        return self.answer("Code: 47, e.displayText() = DB::Exception: Unknown identifier: \x1b[31m", 404)

    def handle_all(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with lock:
            seen["auth"].add(self.headers.get("Authorization") or "")
        if url.path == "/rows":
            with lock:
                return self.answer(json.dumps({"tables": tables, "inserts": seen["inserts"],
                                               "auth": sorted(seen["auth"]), "statements": seen["statements"],
                                               "stolen": seen["stolen"]}))
        if url.path == "/stolen":
            seen["stolen"] += 1
            return self.answer("")
        if url.path.startswith("/mode/"):
            mode[:] = [url.path.split("/")[2], int(url.path.split("/")[3])]
            return self.answer("")
        if mode[0] == "huge":
            try:
                self.send_response(200)
                self.end_headers()
                for _ in range(200):
                    self.wfile.write(b"y" * (1 << 20))
            except OSError:
                pass
            return self.hang_up()
        if mode[0] == "slow":
            time.sleep(30)
            return self.hang_up()
        if "default_format" in query:
            return self.ask(query.get("query") or body.decode())
        if "query" in query:
            return self.statement(query["query"], body)
        return self.statement(body.decode(), b"")

    do_GET = do_POST = handle_all


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Of one client: a handshake that it broke off."""


def main():
    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 2:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*sys.argv[2:4])
        # The handshake in the thread of the connection.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(server.server_port))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
