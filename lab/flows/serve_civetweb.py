# SPDX-License-Identifier: GPL-2.0-or-later
"""CivetWeb: worker threads that take accepted connections from a queue."""
import os

from flow_clients import Http, Session
from flow_lab import between, fault, server
from serve_nginx import documents

READS = 'get_request get_message read_message pull_inner process_new_connection'
CGI = 'handle_cgi_request read_message pull_inner pull_all mg_read_inner'
THROTTLED = 4000  # bytes, at 2,000 per second


def prepare(place):
    documents(place.room)
    root = f'{place.room}/www'
    for name in ('limited', 'free'):
        os.makedirs(f'{root}/{name}')
        with open(f'{root}/{name}/page', 'wb') as f:
            f.write(b'x' * THROTTLED)
    with open(f'{root}/run.cgi', 'w', encoding='ascii') as f:
        f.write('#!/bin/sh\nsleep "$QUERY_STRING"\n'
                'printf "Content-Type: text/plain\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n"\n')
    os.chmod(f'{root}/run.cgi', 0o755)


@server('civetweb', Http(other='/list/', post='/index.html'), prepare=prepare)
def civetweb(place):
    options = {'document_root': f'{place.room}/www', 'listening_ports': f'127.0.0.1:{place.port}', 'num_threads': 24,
               'enable_keep_alive': 'yes', 'keep_alive_timeout_ms': 5000, 'request_timeout_ms': 60000,
               'throttle': '/limited/**=2000', 'error_log_file': f'{place.room}/error.log'}
    return [f'{place.servers}/civetweb-hooks/civetweb', *(str(word) for name, value in options.items()
                                                         for word in (f'-{name}', value))]


@fault('civetweb', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('civetweb', 'stall', 'mg_write push_all push_inner send_file_data handle_static_file_request',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('civetweb', 'slow', 'handle_directory_request scan_directory dir_scan_callback print_dir_entry mg_stat '
       'mg_printf mg_vprintf compare_dir_entries', usual=lambda place, r: Session([place.speaks.ask('/list/')]))
def slow(place, _r):
    return Session([place.speaks.ask('/long/')], bad=True)


@fault('civetweb', 'lock', 'mg_fopen handle_static_file_request handle_file_based_request')
def lock(place, r):
    name = f'held{r.getrandbits(60)}'
    path = f'{place.room}/www/{name}'
    with open(path, 'wb') as f:
        f.write(b'x' * 700)
    return Session([place.speaks.ask(f'/{name}')], bad=True, lock=path, lock_seconds=between(r, 0.05, 0.4), lease=True)


@fault('civetweb', 'child', CGI, usual=lambda place, r: Session([place.speaks.ask('/run.cgi?0')]))
def child(place, r):
    """A program that the server started answers late."""
    return Session([place.speaks.ask(f'/run.cgi?{between(r, 0.06, 0.4):.3f}')], bad=True)


@fault('civetweb', 'throttle', 'mg_write send_file_data handle_static_file_request',
       usual=lambda place, r: Session([place.speaks.ask('/free/page')]))
def throttle(place, _r):
    """The server itself limits the rate."""
    return Session([place.speaks.ask('/limited/page')], bad=True)


@fault('civetweb', 'error', 'mg_send_http_error mg_send_http_error_impl handle_static_file_request parse_range_header',
       name='error-quick', labelled_only=True)
def error_quick(place, _r):
    return Session([place.speaks.ask('/index.html', headers='Range: bytes=90000-\r\n')], bad=True)
