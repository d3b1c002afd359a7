# SPDX-License-Identifier: GPL-2.0-or-later
"""Staged events: four queues with threads each, and a poller."""
import serve_passed  # pylint: disable=unused-import  # declares faults that are taken from pool
from flow_clients import Session
from flow_lab import FAULTS, between, fault, server
from serve_small import Small

OWN = ('drip', 'stall')


@server('seda', Small())
def seda(place):
    return [f'{place.servers}/small-hooks/seda', str(place.port), str(place.upstream_port), place.room]


# The steps of small_work.c are the same.
for _fault in [f for f in FAULTS if f.server == 'pool' and f.name not in OWN]:
    fault('seda', _fault.kind, ' '.join(_fault.functions), usual=_fault.usual, name=_fault.name,
          labelled_only=_fault.labelled_only)(_fault.make)


@fault('seda', 'drip', 'read_input dispatch')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('seda', 'stall', 'write_all work_write send_page', usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


def with_headers(place, count):
    return place.speaks.ask('/page', headers=''.join(f'{i:04x}:\r\n' for i in range(count)))


@fault('seda', 'quadratic', 'find_header unique_headers', usual=lambda place, r: Session(
    [with_headers(place, r.randint(10, 60))]))
def quadratic(place, r):
    """Thousands of headers, each compared with all before it."""
    return Session([with_headers(place, int(between(r, 5500, 9500)))], bad=True)


@fault('seda', 'sync', 'sync_record write_journal')
def sync(place, r):
    """The journal is synchronised after every record."""
    return Session([place.speaks.with_query(f'sync={int(between(r, 50, 400))}')], bad=True)


@fault('seda', 'interrupt', 'wait_quota reserve_quota')
def interrupt(place, r):
    """Signals interrupt a wait, which begins anew each time."""
    return Session([place.speaks.with_query(f'signals={int(between(r, 50, 400))}')], bad=True)


@fault('seda', 'duplicate', 'render_part render_page')
def duplicate(place, r):
    """The same part is rendered again and again; each time takes no longer than usual."""
    return Session([place.speaks.with_query(f'again={int(between(r, 150, 1000))}')], bad=True)


def with_body(place, count):
    return place.speaks.ask('/page', body=f'{count}:z;{count}:y;')


@fault('seda', 'inflate', 'expand_run inflate_body', usual=lambda place, r: Session(
    [with_body(place, r.randint(100, 4000))]))
def inflate(place, r):
    """A few bytes that expand to hundreds of megabytes."""
    return Session([with_body(place, int(between(r, 30000000, 75000000)))], bad=True)
