# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile strings: puts them into a recording, and judges what programs make of them with parsers of their own."""
import base64
import csv
import hashlib
import html.parser
import io
import json
import re
import sqlite3
import sys

STRINGS = [
    'x"y',
    "x'y",
    "a\\b",
    "=1+1",
    "@SUM(A1)",
    "a,b;c d",
    "line\nnext\r\tend",
    "\x1b[31mred\x07",
    "del\x7f",
    "c1\x85\x9b31m",
    "\u202eright to left",
    "zero\u200bwidth\ufeff",
    "\U000e0001tag",
    "</td><script>alert(1)</script>",
    "&amp;<!--",
    '"];evil [label="',
    "%s%n",
    "null",
]
# What no output may carry, whatever its format: it would reach a terminal.
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                    "\ufff9-\ufffb\U000e0000-\U000e0fff]")


def spoil(path):
    """Replaces the texts of all snapshots, findings and marks, and adds columns with such names."""
    db = sqlite3.connect(path)
    keep = {"recording", "host", "column", "attached", "loss", "sample"}
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    changed = 0
    for table in tables:
        if table in keep:
            continue
        columns = [r[1] for r in db.execute(f'PRAGMA table_info("{table}")') if r[2] == "TEXT"]
        for column in columns:
            if column in ("comm", "name", "dev", "cgroup", "path", "host", "label", "because", "advice", "cause",
                          "module", "place", "process", "command"):
                rows = db.execute(f'SELECT rowid FROM "{table}" WHERE "{column}" IS NOT NULL').fetchall()
                for i, (row,) in enumerate(rows):
                    text = STRINGS[(i + changed) % len(STRINGS)].encode()
                    # And bytes that are no UTF-8.
                    text = text + b"\xff\xc3" if i % 3 == 0 else text
                    # The kernel's names have 15 bytes; a row with a longer one is refused.
                    text = text[:15] if column in ("comm", "dev") else text
                    db.execute(f'UPDATE "{table}" SET "{column}" = CAST(? AS TEXT) WHERE rowid = ?', (text, row))
                    changed += 1
    for i, text in enumerate(STRINGS):
        name = text.replace('"', '""').replace("\x00", "")
        db.execute(f'ALTER TABLE mark ADD COLUMN "{i} {name}" TEXT')
    for text in STRINGS:
        db.execute("INSERT INTO mark (time_ns, label) SELECT begin_time_ns, ? FROM sample LIMIT 1", (text,))
    db.execute("UPDATE host SET host = ?", (STRINGS[7],))
    db.commit()
    db.close()
    return changed


def calls():
    """A trace of function calls with such names, nested and repeated, as the trace events of Chrome."""
    events, now = [], 0
    for turn in range(3):
        for i, text in enumerate(STRINGS):
            events.append({"name": text, "ph": "X", "ts": now, "dur": 90, "pid": 1, "tid": 1})
            events.append({"name": STRINGS[(i + turn) % len(STRINGS)], "ph": "X", "ts": now + 10, "dur": 50 + turn,
                           "pid": 1, "tid": 1})
            now += 100
    return json.dumps({"traceEvents": events})


class Page(html.parser.HTMLParser):
    """Counts scripts that the page's own policy does not name by their hash. Data is no script."""

    def __init__(self):
        super().__init__()
        self.scripts = 0
        self.policy = ""
        self.inside = False

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "meta" and named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        self.inside = tag == "script" and named.get("type") != "application/json"
        self.scripts += any(name.startswith("on") for name in named) or (tag == "script" and "src" in named)

    def handle_data(self, data):
        digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
        self.scripts += self.inside and f"'sha256-{digest}'" not in self.policy

    def handle_endtag(self, tag):
        self.inside = False


def judge(kind, data):
    """Raises when the output is not what its format promises."""
    text = data.decode("utf-8")
    found = UNSAFE.search(text)
    if found:
        around = text[max(0, found.start() - 40):found.end()]
        raise ValueError(f"unsafe character {ascii(found.group())} in {ascii(around)}")
    if kind == "lines":
        for line in text.splitlines():
            json.loads(line)
    elif kind == "json":
        json.loads(text)
    elif kind == "csv":
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")
        for row in rows[1:]:
            for cell in row:
                if cell[:1] in ("=", "@"):
                    raise ValueError(f"a formula: {ascii(cell)}")
    elif kind == "html":
        page = Page()
        page.feed(text)
        page.close()
        if page.scripts:
            raise ValueError("a script")
    elif kind == "folded":
        for line in text.splitlines():
            if not re.fullmatch(r"[^\n]* [0-9]+", line):
                raise ValueError(f"not a folded stack: {ascii(line)}")


if __name__ == "__main__":
    if sys.argv[1] == "spoil":
        print(spoil(sys.argv[2]))
    elif sys.argv[1] == "calls":
        print(calls())
    else:
        try:
            judge(sys.argv[1], sys.stdin.buffer.read())
        except ValueError as error:
            print(f"{sys.argv[1]}: {error}")
            sys.exit(1)
