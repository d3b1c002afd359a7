# SPDX-License-Identifier: GPL-2.0-or-later
"""Web clients: curl, one request per process, and wrk."""

import os
import subprocess
import time

import undo
from real import metered, meter as meters, path_of

CLONE_NEWNS = 0x00020000
RESOLV_CONF = "/etc/resolv.conf"


def use_resolver(addresses, search=None):
    """A private resolv.conf for this process and its children.

    Also hides /run: name service daemons of the host listen there and would
    resolve names outside the laboratory.
    """
    if undo.LIBC.unshare(CLONE_NEWNS) != 0:
        raise SystemExit("cannot create a mount namespace")
    for words in (("--make-rprivate", "/"),
                  ("-t", "tmpfs", "nestlab", "/run")):
        subprocess.run(["mount", *words], check=True)
    with open("/run/resolv.conf", "w") as file:
        file.writelines(f"nameserver {address}\n"
                        for address in addresses.split(","))
        if search:
            file.write(f"search {search.replace(',', ' ')}\n"
                       "options ndots:5\n")
    target = os.path.realpath(RESOLV_CONF)
    if target.startswith("/run/"):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "a").close()
    subprocess.run(["mount", "--bind", "/run/resolv.conf", target], check=True)


@metered("curl")
def curl(meter, room, *, url, interval_ms="0", timeout="10", resolver=None,
         search=None, insecure="0"):
    """Sequential requests; counts bytes as they arrive.

    Names are tried in each domain of `search` first, as in a cluster;
    insecure=1 accepts any certificate.
    """
    if resolver:
        use_resolver(resolver, search)
    command = [path_of("curl"), "-q", "--silent", "--noproxy", "*",
               "--max-time", timeout, "--write-out",
               "%{stderr}%{http_code} %{time_total}",
               *(["--insecure"] if int(insecure) else []), url]
    fetch_often(meter, command, interval_ms)


def fetch_often(meter, command, interval_ms):
    """At this interval, for ever; after a long one, the next at once."""
    meter.ready()
    due = time.monotonic()
    while True:
        fetch(meter, command)
        due = max(due + float(interval_ms) / 1000, time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))


def fetch(meter, command):
    with meters.start(command, stderr=subprocess.PIPE) as process:
        while True:
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                break
            meter.moved(len(data))
        said = process.stderr.read().split()
    if process.returncode == 0 and said[:1] == [b"200"]:
        meter.op(float(said[1]))
    else:
        meter.error()
        # No busy loop if the program fails at once.
        time.sleep(0.05)


# Reports each complete response. wrk has no latency of single requests, so
# there is none.
SCRIPT = """function delay() return {delay} end
function response(status, headers, body)
    io.write(status, " ", #body, "\\n")
    io.flush()
end
"""


@metered("wrk")
def wrk(meter, room, *, url, conns="4", delay_ms="10"):
    """conns persistent connections, each with a pause before a request."""
    script = room.write("count.lua", SCRIPT.format(delay=int(delay_ms)))
    process = meters.start([path_of("wrk"), "-t1", f"-c{int(conns)}", "-d1h",
                            "-s", script, url])
    meter.ready()
    for line in process.stdout:
        words = line.split()
        if len(words) != 2 or not words[0].isdigit():
            continue
        if words[0] == b"200":
            meter.moved(int(words[1]))
            meter.op()
        else:
            meter.error()
