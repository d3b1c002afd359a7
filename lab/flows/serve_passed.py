# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that accepts and passes connections to worker processes, and two kinds of faults for several servers."""
from flow_clients import Session
from flow_lab import FAULTS, between, fault, server
from serve_nginx import UPSTREAM
from serve_small import Small


@server('passed', Small())
def passed(place):
    return [f'{place.servers}/small-hooks/passed', str(place.port), str(place.upstream_port), place.room]


# It serves connections as the thread pool does.
for _fault in [f for f in FAULTS if f.server == 'pool']:
    fault('passed', _fault.kind, ' '.join(_fault.functions), usual=_fault.usual, name=_fault.name,
          labelled_only=_fault.labelled_only)(_fault.make)


@fault('passed pool fork stages loop', 'miss', 'load_page find_page')
def miss(place, r):
    return Session([place.speaks.with_query(f'miss={int(between(r, 50, 400))}')], bad=True)


@fault('passed pool fork stages loop', 'retry', 'store_visit store_once')
def retry(place, r):
    return Session([place.speaks.with_query(f'retry={int(between(r, 50, 400))}')], bad=True)


NGINX = 'nginx nginx-workers nginx-proxy'


@fault(NGINX, 'miss', f'{UPSTREAM} ngx_http_upstream_cache ngx_http_file_cache_open ngx_http_file_cache_exists '
       'ngx_http_file_cache_update ngx_http_proxy_create_request',
       usual=lambda place, r: Session([place.speaks.ask('/cached/?ms=0')]))
def nginx_miss(place, r):
    return Session([place.speaks.ask(f'/cached/?ms={int(between(r, 60, 400))}&key={r.getrandbits(60)}')], bad=True)


@fault(NGINX, 'retry', f'{UPSTREAM} ngx_http_upstream_next ngx_http_upstream_test_next ngx_http_upstream_reinit',
       usual=lambda place, r: Session([place.speaks.ask('/tried/?ms=0')]))
def nginx_retry(place, r):
    return Session([place.speaks.ask(f'/tried/?status=503&ms={int(between(r, 20, 130))}')], bad=True)
