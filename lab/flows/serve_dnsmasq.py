# SPDX-License-Identifier: GPL-2.0-or-later
"""dnsmasq: a process per TCP connection, which answers from a cache or forwards.."""
from flow_clients import Session
from flow_dns import LARGE_TEXTS, MX, Dns
from flow_lab import between, fault, server

EXCHANGES = 30000
FORWARDS = 'read_write tcp_talk'


def names(place):
    with open(f'{place.room}/dnsmasq.conf', 'w', encoding='ascii') as f:
        f.write(f'''port={place.port}
listen-address=127.0.0.1
bind-interfaces
user=root
pid-file={place.room}/pid
no-resolv
no-hosts
no-poll
local=/lab.test/
host-record=page.lab.test,10.1.1.1
txt-record=text.lab.test,{"t" * 200}
bogus-nxdomain=10.9.9.9
server=/up.test/127.0.0.1#{place.upstream_port}
''')
        # Three ways to the same server: it tells them apart by the address that asks.
        f.writelines(f'server=/tried.test/127.0.0.1#{place.upstream_port}@127.0.0.{i}\n' for i in (2, 3, 1))
        f.writelines(f'txt-record=large.lab.test,{"t" * 200}{i:04}{"t" * 50}\n' for i in range(LARGE_TEXTS))


def exchanges(place):
    """Names of mail servers: dnsmasq keeps them in a list."""
    names(place)
    if place.what == 'grow':
        with open(f'{place.room}/dnsmasq.conf', 'a', encoding='ascii') as f:
            f.writelines(f'mx-host=m{i}.lab.test,page.lab.test\n' for i in range(EXCHANGES))


@server('dnsmasq', Dns(), prepare=exchanges)
def dnsmasq(place):
    return [f'{place.servers}/dnsmasq-hooks/dnsmasq', '--keep-in-foreground', f'--conf-file={place.room}/dnsmasq.conf',
            f'--log-facility={place.room}/dnsmasq.log']


@fault('dnsmasq', 'drip', 'read_write tcp_request')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('dnsmasq', 'stall', 'read_write tcp_request', usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('dnsmasq', 'upstream', FORWARDS, usual=lambda place, r: Session([place.speaks.upstream(r)]))
def upstream(place, r):
    return Session([place.speaks.upstream(r, f'ms={int(between(r, 60, 400))}')], bad=True)


@fault('dnsmasq', 'upstream', FORWARDS, name='upstream-body',
       usual=lambda place, r: Session([place.speaks.upstream(r)]))
def upstream_body(place, r):
    return Session([place.speaks.upstream(r, f'body={int(between(r, 60, 400))}')], bad=True)


@fault('dnsmasq', 'miss', f'{FORWARDS} blockdata_retrieve lookup_domain add_edns0_config hash_questions')
def miss(place, r):
    """The others are answered from memory."""
    return Session([place.speaks.upstream(r, f'ms={int(between(r, 60, 400))}')], bad=True)


def tried(place, r, words):
    return place.speaks.ask(f'{words}-{r.getrandbits(40):x}.tried.test')


@fault('dnsmasq', 'retry', FORWARDS, usual=lambda place, r: Session([tried(place, r, 'ms=0')]))
def retry(place, r):
    """Two ways fail, the third works."""
    return Session([tried(place, r, f'fail={int(between(r, 30, 200))}')], bad=True)


@fault('dnsmasq', 'grow', 'answer_request hostname_isequal hostname_order')
def grow(place, r):
    """Every query compares all names of a list that has grown long."""
    return Session([place.speaks.asked(r.randint(3, 12), 'm1.lab.test', MX)], bad=True)


@fault('dnsmasq', 'error', 'process_reply check_for_bogus_wildcard extract_addresses cache_start_insert cache_insert '
       'cache_end_insert', name='error-quick', labelled_only=True,
       usual=lambda place, r: Session([place.speaks.upstream(r)]))
def error_quick(place, r):
    """An address that stands for no such name."""
    return Session([place.speaks.upstream(r, 'bogus=1')], bad=True)
