# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx with one document, /data, or as a proxy; writes to its private directory only."""

import os

from real import path_of, server

# One process, so that the lab's pid is the serving one. nginx creates the
# temporary paths at startup even if unused.
CONFIG = """daemon off;
master_process off;
pid {room}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    client_body_temp_path {room}/body;
    proxy_temp_path {room}/proxy;
    fastcgi_temp_path {room}/fastcgi;
    uwsgi_temp_path {room}/uwsgi;
    scgi_temp_path {room}/scgi;
{server}
}}
"""
# Requests of one connection before nginx closes it: never.
MANY = "100000000"
DOCUMENTS = """    server {{
        listen {port} backlog={backlog};
        keepalive_requests {requests};
        location / {{ root {room}/documents; }}
    }}"""
LIMITED = """    limit_req_zone $binary_remote_addr zone=each:1m rate={per_s}r/s;
    server {{
        listen {port};
        keepalive_requests {requests};
        limit_req zone=each burst={burst}{nodelay};
        limit_req_status 429;
        limit_rate {bytes_s};
        location / {{ root {room}/documents; }}
    }}"""
PROXY = """    upstream behind {{ {upstreams} {keepalive} }}
    server {{
        listen {port};
        keepalive_requests {requests};
        location / {{
            proxy_pass http://behind;
            proxy_http_version 1.1;
            proxy_connect_timeout {connect_s}s;
            proxy_set_header Connection "";
        }}
    }}"""


def command(room, text, **words):
    """Writes the configuration with this server block."""
    text = CONFIG.format(room=room.path, server=text.format(
        room=room.path, **words))
    path = room.write("nginx.conf", text)
    return [path_of("nginx"), "-p", room.path, "-e", "stderr", "-c", path]


def write_document(room, size):
    os.mkdir(room.place("documents"))
    with open(room.place("documents/data"), "wb") as file:
        file.truncate(int(float(size)))


@server("nginx")
def nginx(room, *, port, size="2000", backlog="511", requests=MANY):
    write_document(room, size)
    return command(room, DOCUMENTS, port=int(port), backlog=int(backlog),
                   requests=int(requests))


@server("nginx", name="nginx-limited")
def nginx_limited(room, *, port, size="2000", per_s="10000", burst="1000",
                  bytes_s="0", refuse="0"):
    """Limits of each client: requests per second, bytes per second.

    Requests above the limit wait, up to `burst` of them; with refuse=1 nobody
    waits. The rest is answered with status 429.
    """
    write_document(room, size)
    return command(room, LIMITED, port=int(port), requests=MANY,
                   per_s=int(per_s), burst=int(burst), bytes_s=int(bytes_s),
                   nodelay=" nodelay" if int(refuse) else "")


@server("nginx", name="nginx-proxy")
def nginx_proxy(room, *, port, upstream, connect_s="60", keepalive="32"):
    """In front of one server, or several with commas, never marked as down.

    keepalive=0: a new connection to the upstream for each request."""
    upstreams = " ".join(f"server {one} max_fails=0;"
                         for one in upstream.split(","))
    kept = f"keepalive {int(keepalive)};" if int(keepalive) else ""
    return command(room, PROXY, port=int(port), upstreams=upstreams,
                   connect_s=int(connect_s), keepalive=kept, requests=MANY)
