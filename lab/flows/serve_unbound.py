# SPDX-License-Identifier: GPL-2.0-or-later
"""Unbound: two threads with an event loop each; a query is a state machine over it.."""
from flow_clients import Session
from flow_dns import LARGE_TEXTS, Dns
from flow_lab import between, fault, server

READS = 'comm_point_tcp_handle_callback comm_point_tcp_handle_read'
WRITES = 'comm_point_tcp_handle_callback comm_point_tcp_handle_write'
FORWARDS = ('outnet_serviced_query serviced_timer_cb serviced_tcp_initiate pending_tcp_query '
            'outnet_tcp_take_into_use outnet_tcp_cb serviced_tcp_callback worker_handle_service_reply '
            f'mesh_report_reply {READS}')


def names(place):
    with open(f'{place.room}/unbound.conf', 'w', encoding='ascii') as f:
        f.write(f'''server:
    interface: 127.0.0.1@{place.port}
    access-control: 127.0.0.0/8 allow
    username: ""
    chroot: ""
    directory: "{place.room}"
    pidfile: "{place.room}/pid"
    logfile: "{place.room}/unbound.log"
    use-syslog: no
    num-threads: 2
    do-udp: no
    do-ip6: no
    tcp-upstream: yes
    do-not-query-localhost: no
    module-config: "iterator"
    incoming-num-tcp: 64
    outgoing-num-tcp: 64
    max-reuse-tcp-queries: 1
    tcp-idle-timeout: 60000
    rrset-roundrobin: no
    minimal-responses: yes
    local-zone: "test." nodefault
    local-zone: "lab.test." static
    local-data: "page.lab.test. A 10.1.1.1"
    local-data: 'text.lab.test. TXT "{"t" * 200}"'
''')
        # One record of many texts: with a record each, most of the trace would be of these.
        texts = f' "{"t" * 254}"' * LARGE_TEXTS
        f.write(f'''    local-data: 'large.lab.test. TXT{texts}'
forward-zone:
    name: "up.test."
    forward-addr: 127.0.0.1@{place.upstream_port}
remote-control:
    control-enable: no
''')


@server('unbound', Dns(), prepare=names)
def unbound(place):
    return [f'{place.servers}/unbound-hooks/unbound', '-d', '-c', f'{place.room}/unbound.conf']


@fault('unbound', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('unbound', 'stall', f'{WRITES} tcp_req_info_handle_writedone',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('unbound', 'upstream', FORWARDS, usual=lambda place, r: Session([place.speaks.upstream(r)]))
def upstream(place, r):
    return Session([place.speaks.upstream(r, f'ms={int(between(r, 60, 400))}')], bad=True)


@fault('unbound', 'upstream', FORWARDS, name='upstream-body',
       usual=lambda place, r: Session([place.speaks.upstream(r)]))
def upstream_body(place, r):
    return Session([place.speaks.upstream(r, f'body={int(between(r, 60, 400))}')], bad=True)


@fault('unbound', 'miss', f'{FORWARDS} mesh_new_client mesh_run iter_operate iter_handle processInitRequest '
       'processQueryTargets')
def miss(place, r):
    """The others are answered from memory."""
    return Session([place.speaks.upstream(r, f'ms={int(between(r, 60, 400))}')], bad=True)


@fault('unbound', 'error', f'{FORWARDS} processQueryResponse processQueryTargets error_response error_response_cache',
       usual=lambda place, r: Session([place.speaks.upstream(r)]))
def error(place, r):
    """The upstream server fails, and is asked again several times."""
    return Session([place.speaks.upstream(r, f'code=2-ms={int(between(r, 20, 60))}')], bad=True)
