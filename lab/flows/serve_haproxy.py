# SPDX-License-Identifier: GPL-2.0-or-later
"""HAProxy: streams and tasks over an event loop with two threads."""
from flow_clients import LARGE_BYTES, Http, Session
from flow_lab import between, fault, server

PATTERNS = 3000
READS = 'h1_recv h1_io_cb h1_process h1_process_demux h1_handle_headers raw_sock_to_buf http_wait_for_request'
UPSTREAM = ('http_wait_for_response h1_recv h1_io_cb h1_process raw_sock_to_buf sc_conn_recv sc_conn_io_cb '
            'sc_conn_process')
CONNECTS = ('connect_server back_try_conn_req back_handle_st_con back_handle_st_cer back_handle_st_req '
            'tcp_connect_server')


def patterns(place):
    with open(f'{place.room}/patterns', 'w', encoding='ascii') as f:
        f.writelines(f'^/mapped/.*x{i}y$ {i}\n' for i in range(PATTERNS))


@server('haproxy', Http(page='/up/?ms=0', large=f'/up/?size={LARGE_BYTES}', other='/other', post='/up/'),
        prepare=patterns)
def haproxy(place):
    conf = f'{place.room}/haproxy.cfg'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''global
    nbthread 2
    maxconn 2000
defaults
    mode http
    timeout connect 120ms
    timeout client 60s
    timeout server 60s
    timeout tarpit {place.seed % 4 * 60 + 100}ms
    retries 3
    option redispatch
frontend all
    bind 127.0.0.1:{place.port}
    http-request deny deny_status 404 if {{ path_beg /missing }}
    http-request tarpit if {{ path_beg /refused }}
    http-request return status 200 content-type text/plain string hello if {{ path_beg /other }}
    http-request set-header x-map %[path,map_reg({place.room}/patterns)] if {{ path_beg /mapped }}
    use_backend failing if {{ path_beg /retried }}
    default_backend working
backend working
    server one 127.0.0.1:{place.upstream_port}
backend failing
    server none 127.0.0.1:9 weight 256
    server one 127.0.0.1:{place.upstream_port} backup
''')
    return [f'{place.servers}/haproxy-hooks/haproxy', '-db', '-f', conf]


@fault('haproxy', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('haproxy', 'stall', 'h1_send h1_snd_buf h1_io_cb h1_process h1_process_mux raw_sock_from_buf sc_conn_send',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('haproxy', 'upstream', UPSTREAM)
def upstream(place, r):
    return Session([place.speaks.ask(f'/up/?ms={int(between(r, 60, 400))}')], bad=True)


@fault('haproxy', 'upstream', UPSTREAM, name='upstream-body')
def upstream_body(place, r):
    return Session([place.speaks.ask(f'/up/?body={int(between(r, 60, 400))}')], bad=True)


@fault('haproxy', 'slow', 'pat_match_reg pat_match_regm pattern_exec_match sample_conv_map '
       'regex_exec_match regex_exec2')
def slow(place, r):
    # Results are cached by path.
    return Session([place.speaks.ask(f'/mapped/page{r.getrandbits(60)}')], bad=True)


@fault('haproxy', 'error', 'http_process_tarpit http_reply_and_close http_req_get_intercept_rule')
def error(place, _r):
    return Session([place.speaks.ask('/refused')], bad=True)


@fault('haproxy', 'retry', CONNECTS)
def retry(place, _r):
    return Session([place.speaks.ask('/retried')], bad=True)
