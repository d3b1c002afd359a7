# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx in three ways: one process, four workers, and as a proxy for everything."""
import os

from flow_clients import LARGE_BYTES, Http, Session
from flow_lab import between, fault, server

ALL = 'nginx nginx-workers nginx-proxy'
FILES = 12000
UPSTREAM = ('ngx_http_upstream_handler ngx_http_upstream_process_header ngx_http_upstream_send_request '
            'ngx_http_upstream_send_request_handler ngx_http_upstream_connect ngx_http_upstream_init_request '
            'ngx_http_upstream_init ngx_http_proxy_handler ngx_unix_recv')
LISTING = 'ngx_http_autoindex_handler ngx_de_info ngx_read_dir ngx_http_autoindex_html'


def documents(room, files=FILES):
    """Pages, a large file, a short directory and a long one; the same for all web servers."""
    root = f'{room}/www'
    for name, count in (('list', 5), ('long', files)):
        os.makedirs(f'{root}/{name}')
        for i in range(count):
            with open(f'{root}/{name}/file{i}', 'wb'):
                pass
    for name, size in (('index.html', 700), ('other.html', 900), ('large', LARGE_BYTES)):
        with open(f'{root}/{name}', 'wb') as f:
            f.write(b'x' * size)
    os.chmod(room, 0o755)


def configure(place, workers):
    temp = ' '.join(f'{n}_temp_path {place.room}/{n};' for n in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    upstream = f'proxy_pass http://127.0.0.1:{place.upstream_port}/; proxy_buffers 8 16k;'
    conf = f'{place.room}/nginx.conf'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''daemon off; user root; worker_processes {workers}; pid {place.room}/pid;
error_log {place.room}/error.log; events {{ worker_connections 1024; }}
http {{ access_log off; {temp} limit_req_zone $request_uri zone=each:1m rate=2r/s; keepalive_requests 10000;
proxy_cache_path {place.room}/cache keys_zone=pages:1m;
upstream three {{ {f"server 127.0.0.1:{place.upstream_port} max_fails=0; " * 3} }}
server {{ listen 127.0.0.1:{place.port} backlog=512; root {place.room}/www;
location /list/ {{ autoindex on; }} location /long/ {{ autoindex on; }}
location /up/ {{ {upstream} }} location /limited/ {{ limit_req zone=each burst=50; rewrite ^ /index.html break; }}
location /failing/ {{ {upstream} proxy_intercept_errors on; error_page 503 = /long/; }}
location /cached/ {{ {upstream} proxy_cache pages; proxy_cache_valid 10m; }}
location /tried/ {{ proxy_pass http://three/; proxy_next_upstream http_503; }}
location /private/ {{ auth_basic private; auth_basic_user_file {place.room}/users; }} location /parts/ {{ ssi on; }}
location = /post {{ proxy_pass http://127.0.0.1:{place.upstream_port}/; }}
}} }}
''')
    return [f'{place.servers}/nginx-hooks/nginx', '-p', place.room, '-c', conf]


WEB = Http(other='/list/', post='/post')
PROXIED = Http(page='/up/?ms=0', other='/list/', post='/post')


@server('nginx', WEB, prepare=lambda place: documents(place.room))
def one(place):
    return configure(place, 1)


@server('nginx-workers', WEB, prepare=lambda place: documents(place.room))
def workers(place):
    return configure(place, 4)


@server('nginx-proxy', PROXIED, prepare=lambda place: documents(place.room))
def proxy(place):
    return configure(place, 1)


@fault(ALL, 'drip', 'ngx_http_read_request_header ngx_http_process_request_headers ngx_http_process_request_line '
       'ngx_http_wait_request_handler ngx_unix_recv')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('nginx nginx-workers', 'drip', 'ngx_http_read_client_request_body ngx_http_do_read_client_request_body '
       'ngx_http_read_client_request_body_handler ngx_unix_recv', name='drip-body',
       usual=lambda place, r: Session([place.speaks.post(3000)]))
def drip_body(place, r):
    return Session([place.speaks.post(3000)], bad=True, drip=between(r, 2, 4))


@fault(ALL, 'stall', 'ngx_writev ngx_writev_chain ngx_linux_sendfile_chain ngx_http_write_filter ngx_http_writer '
       'ngx_http_output_filter', usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault(ALL, 'upstream', UPSTREAM, usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def upstream(place, r):
    return Session([place.speaks.ask(f'/up/?ms={int(between(r, 60, 400))}')], bad=True)


@fault('nginx-proxy', 'upstream', 'ngx_event_pipe ngx_event_pipe_read_upstream ngx_event_pipe_write_to_downstream '
       'ngx_http_upstream_process_upstream ngx_http_upstream_process_request ngx_http_upstream_handler '
       'ngx_http_upstream_send_response ngx_readv_chain ngx_unix_recv', name='upstream-body')
def upstream_body(place, r):
    return Session([place.speaks.ask(f'/up/?body={int(between(r, 60, 400))}')], bad=True)


@fault(ALL, 'slow', LISTING, usual=lambda place, r: Session([place.speaks.ask('/list/')]))
def slow(place, _r):
    return Session([place.speaks.ask('/long/')], bad=True)


@fault(ALL, 'error', f'{LISTING} ngx_http_upstream_test_next ngx_http_upstream_intercept_errors '
       'ngx_http_special_response_handler ngx_http_send_error_page ngx_http_internal_redirect',
       usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def error(place, _r):
    return Session([place.speaks.ask('/failing/?status=503')], bad=True)


@fault('nginx nginx-workers', 'error', 'ngx_http_static_handler ngx_http_special_response_handler '
       'ngx_http_send_special_response ngx_http_discard_request_body ngx_http_discard_request_body_filter',
       name='error-quick', labelled_only=True,
       usual=lambda place, r: Session([place.speaks.post(1)]))
def not_allowed(place, _r):
    return Session([place.speaks.ask('/index.html', body='b')], bad=True)


@fault(ALL, 'lock', 'ngx_http_limit_req_handler ngx_http_limit_req_delay',
       usual=lambda place, r: Session([place.speaks.ask(f'/limited/{r.getrandbits(60)}')]))
def limited(place, r):
    page = place.speaks.ask(f'/limited/{r.getrandbits(60)}')
    return Session([page], bad=True, before=Session([page]))
