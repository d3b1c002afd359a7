# SPDX-License-Identifier: GPL-2.0-or-later
"""Two kinds of faults for several servers: a costly password, and a part of a page that another server makes."""
import base64
import ctypes
import os

from flow_clients import Session
from flow_lab import between, fault
from serve_nginx import UPSTREAM

NGINX = 'nginx nginx-workers nginx-proxy'
# Rounds of SHA-512, the first one quick, the others about 60 to 400 ms on a CPU of 2.8 GHz.
ROUNDS = (1000, 100000, 190000, 360000, 600000)


def users():
    """NAME:HASH lines; the password is the name."""
    crypt = ctypes.CDLL('libcrypt.so.1').crypt
    crypt.restype = ctypes.c_char_p
    return ''.join(f'u{i}:{crypt(b"u%d" % i, b"$6$rounds=%d$salt" % rounds).decode()}\n'
                   for i, rounds in enumerate(ROUNDS))


def make_private(place):
    """Servers read the list of users at each request."""
    directory = f'{place.room}/www/private'
    if os.path.exists(directory):
        return
    os.makedirs(directory)
    text = users()
    for path, content in ((f'{directory}/page', 'x' * 700), (f'{place.room}/users', text),
                          (f'{directory}/.htpasswd', text)):
        with open(path, 'w', encoding='ascii') as f:
            f.write(content)


def as_user(place, number):
    make_private(place)
    word = base64.b64encode(b'u%d:u%d' % (number, number)).decode()
    return Session([place.speaks.ask('/private/page', headers=f'Authorization: Basic {word}\r\n')], bad=number > 0)


@fault(NGINX, 'auth', 'ngx_crypt ngx_libc_crypt ngx_http_auth_basic_crypt_handler ngx_http_auth_basic_handler',
       usual=lambda place, r: as_user(place, 0))
def nginx_auth(place, r):
    return as_user(place, r.randrange(1, len(ROUNDS)))


@fault('mini_httpd', 'auth', 'auth_check auth_check2', usual=lambda place, r: as_user(place, 0))
def mini_auth(place, r):
    return as_user(place, r.randrange(1, len(ROUNDS)))


def with_part(place, ms, bad):
    directory = f'{place.room}/www/parts'
    if not os.path.exists(directory):
        os.makedirs(directory)
        with open(f'{directory}/page.html', 'w', encoding='ascii') as f:
            f.write('<p>head</p><!--# include virtual="/up/?$args" --><p>foot</p>\n')
    return Session([place.speaks.ask(f'/parts/page.html?ms={ms}')], bad=bad)


@fault(NGINX, 'part', f'{UPSTREAM} ngx_http_ssi_include ngx_http_subrequest ngx_http_run_posted_requests '
       'ngx_http_postpone_filter ngx_http_ssi_body_filter', usual=lambda place, r: with_part(place, 0, False))
def part(place, r):
    return with_part(place, int(between(r, 60, 400)), True)
