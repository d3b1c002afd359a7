# SPDX-License-Identifier: GPL-2.0-or-later
"""Tinyproxy: a thread per connection, a proxy for everything."""
from flow_clients import LARGE_BYTES, Http, Session
from flow_lab import between, fault, server

PATTERNS = 400
HEADERS = 'readline get_all_headers process_server_headers'
RELAYS = 'relay_connection write_buffer read_buffer'


def patterns(place):
    with open(f'{place.room}/patterns', 'w', encoding='ascii') as f:
        f.writelines(f'x{i}.*y{i}$\n' for i in range(PATTERNS))


SPEAKS = Http(page='/up/?ms=0', large=f'/up/?size={LARGE_BYTES}', other='/other/', post='/up/', closes=True)


@server('tinyproxy', SPEAKS, prepare=patterns)
def tinyproxy(place):
    conf = f'{place.room}/tinyproxy.conf'
    pages = f'{place.servers}/tinyproxy-hooks/templates'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''Port {place.port}
Listen 127.0.0.1
Timeout 60
MaxClients 100
LogFile "{place.room}/proxy.log"
LogLevel Critical
PidFile "{place.room}/pid"
DefaultErrorFile "{pages}/default.html"
StatFile "{pages}/stats.html"
Filter "{place.room}/patterns"
FilterURLs On
FilterExtended On
ReverseOnly Yes
ReversePath "/up/" "http://127.0.0.1:{place.upstream_port}/"
ReversePath "/other/" "http://127.0.0.1:{place.upstream_port}/?size=900&"
ReversePath "/refused/" "http://127.0.0.1:9/"
''')
    return [f'{place.servers}/tinyproxy-hooks/tinyproxy', '-d', '-c', conf]


@fault('tinyproxy', 'drip', 'readline read_request_line get_all_headers process_client_headers')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('tinyproxy', 'stall', RELAYS, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('tinyproxy', 'upstream', HEADERS)
def upstream(place, r):
    return Session([place.speaks.ask(f'/up/?ms={int(between(r, 60, 400))}')], bad=True)


@fault('tinyproxy', 'upstream', f'{RELAYS} {HEADERS}', name='upstream-body')
def upstream_body(place, r):
    return Session([place.speaks.ask(f'/up/?body={int(between(r, 60, 400))}')], bad=True)


@fault('tinyproxy', 'slow', 'filter_run filter_url filter_domain process_request')
def slow(place, r):
    """The time of a filter grows with the address."""
    return Session([place.speaks.ask(f'/up/?ms=0&{"x1" * r.randint(1500, 3000)}')], bad=True)


@fault('tinyproxy', 'error', 'send_http_error_message indicate_http_error opensock send_http_headers send_html_file '
       'error_add_variable add_standard_vars handle_connection_failure', name='error-quick', labelled_only=True)
def error_quick(place, _r):
    return Session([place.speaks.ask('/refused/')], bad=True)
