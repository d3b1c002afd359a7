#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent written from the description of frames alone, honest or not.

    collect-agent.py URL TOKEN WHAT     prints the status and the answer

WHAT: good, again (the same batch as good), retry (with the header), garbage, cut, damaged, table, host, bomb, json,
rows, empty, large, many (batches until something other than 200)
"""
import gzip
import http.client
import json
import struct
import sys
import urllib.parse
import zlib

url, token, what = sys.argv[1:4]
place = urllib.parse.urlsplit(url)


def frame(host="web1", table="mark", first=1, rows=3, body=None, said=None, named=None):
    lines = "".join('{"host":"%s","boot":"b","stream":7,"row":%d,"time_ns":%d,"label":"x"}\n' %
                    (named or host, first + i, 1794736360000000000 + i) for i in range(rows))
    body = gzip.compress(lines.encode() if body is None else body)
    tail = struct.pack("<IIIHBBQQQQ", 0, said or rows, len(body), len(table), len(host), 1, 7, first,
                       1794736360000000000, 1794736360000000000 + rows)
    tail += table.encode() + host.encode() + b"b" + body
    return struct.pack("<II", 0x31424E0A, zlib.crc32(tail)) + tail


def post(body, headers=None):
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    try:
        connection.request("POST", "/api/v1/batches", body,
                           {"Authorization": "Bearer " + token, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace").strip()
    except (ConnectionError, TimeoutError) as error:
        return 0, type(error).__name__
    finally:
        connection.close()


bodies = {
    "good": lambda: frame() + frame(table="loss", rows=2),
    "again": lambda: frame() + frame(table="loss", rows=2),
    "retry": lambda: frame(first=100),
    "garbage": lambda: b"\xff" * 5000,
    "cut": lambda: frame(first=200)[:-3],
    "damaged": lambda: frame(first=300)[:-3] + b"abc",
    "table": lambda: frame(table="passwd", first=400) + frame(first=410),
    "host": lambda: frame(named="web2", first=500),
    "bomb": lambda: frame(body=b"\0" * (80 << 20), first=600),
    "json": lambda: frame(body=b'{"host":"web1","boot":"b","stream":7,"row":700,"x":[[[[\n' * 3, first=700),
    "rows": lambda: frame(first=800, said=4),
    "empty": lambda: b"",
    "large": lambda: b"x" * (17 << 20),
}
if what == "many":
    for n in range(200):
        noise = "".join("%08x" % (zlib.crc32(struct.pack("<II", n, i))) for i in range(4000))
        text = json.dumps({"host": "web9", "boot": "b", "stream": 7, "row": n + 1, "time_ns": 1794736360000000000,
                           "label": noise}, separators=(",", ":")) + "\n"
        status, text = post(frame(host="web9", first=n + 1, rows=1, body=text.encode()))
        if status != 200:
            break
    print(n, status)
else:
    print(*post(bodies[what](), {"Nest-Retry": "1"} if what == "retry" else None))
