# SPDX-License-Identifier: GPL-2.0-or-later
"""mini_httpd: a process per request, CGI, passwords."""
import os

from flow_clients import Http, Session
from flow_lab import between, fault, server
from serve_nginx import documents


def prepare(place):
    documents(place.room)
    os.makedirs(f'{place.room}/www/cgi-bin')
    with open(f'{place.room}/www/cgi-bin/run', 'w', encoding='ascii') as f:
        f.write('#!/bin/sh\nsleep "$QUERY_STRING"\n'
                'printf "Content-Type: text/plain\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n"\n')
    os.chmod(f'{place.room}/www/cgi-bin/run', 0o755)


@server('mini_httpd', Http(other='/list/', closes=True), prepare=prepare)
def mini_httpd(place):
    return [f'{place.servers}/mini_httpd-hooks/mini_httpd', '-D', '-h', '127.0.0.1', '-p', str(place.port), '-u',
            'root', '-d', f'{place.room}/www', '-c', 'cgi-bin/*', '-i', f'{place.room}/pid', '-l', f'{place.room}/log']


@fault('mini_httpd', 'drip', 'my_read handle_request')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('mini_httpd', 'stall', 'do_file send_via_write send_via_sendfile my_write my_sendfile',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('mini_httpd', 'slow', 'do_dir file_details', usual=lambda place, r: Session([place.speaks.ask('/list/')]))
def slow(place, _r):
    return Session([place.speaks.ask('/long/')], bad=True)


@fault('mini_httpd', 'lock', 'do_file')
def lock(place, r):
    name = f'held{r.getrandbits(60)}'
    path = f'{place.room}/www/{name}'
    with open(path, 'wb') as f:
        f.write(b'x' * 700)
    return Session([place.speaks.ask(f'/{name}')], bad=True, lock=path, lock_seconds=between(r, 0.05, 0.4), lease=True)


@fault('mini_httpd', 'child', 'do_cgi cgi_interpose_output',
       usual=lambda place, r: Session([place.speaks.ask('/cgi-bin/run?0')]))
def child(place, r):
    return Session([place.speaks.ask(f'/cgi-bin/run?{between(r, 0.06, 0.4):.3f}')], bad=True)


@fault('mini_httpd', 'error', 'send_error really_send_error send_error_and_exit send_error_body send_error_file '
       'send_error_tail add_headers', name='error-quick', labelled_only=True)
def error_quick(place, _r):
    return Session([place.speaks.ask('/index.html', body='b')], bad=True)
