# SPDX-License-Identifier: GPL-2.0-or-later
"""Leader and followers: equal threads wait in turn for all connections.."""
import serve_passed  # pylint: disable=unused-import  # declares faults that are taken from pool
from flow_clients import Session
from flow_lab import FAULTS, between, fault, server
from serve_small import Small

OWN = ('drip', 'stall')


@server('leader', Small())
def leader(place):
    return [f'{place.servers}/small-hooks/leader', str(place.port), str(place.upstream_port), place.room]


# The steps of small_work.c are the same.
for _fault in [f for f in FAULTS if f.server == 'pool' and f.name not in OWN]:
    fault('leader', _fault.kind, ' '.join(_fault.functions), usual=_fault.usual, name=_fault.name,
          labelled_only=_fault.labelled_only)(_fault.make)


@fault('leader', 'drip', 'read_some handle_client')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('leader', 'stall', 'send_answer handle_client', usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('leader', 'logging', 'write_line log_request')
def logging(place, r):
    """A verbose log, whose reader is slow."""
    return Session([place.speaks.with_query(f'log={int(between(r, 50, 400))}')], bad=True)


@fault('leader', 'contend', 'lock_shard touch_shard')
def contend(place, r):
    """Another thread of the server has the lock."""
    return Session([place.speaks.with_query(f'held={int(between(r, 50, 400))}')], bad=True)


@fault('leader', 'grow', 'find_visitor same_visitor')
def grow(place, r):
    """A list that is searched from its beginning has grown long."""
    return Session([place.speaks.with_query(f'rows={int(between(r, 60000, 400000))}')], bad=True)


@fault('leader', 'chunk', 'send_pieces write_piece', usual=lambda place, r: Session(
    [place.speaks.with_query('pieces=3')]))
def chunk(place, r):
    """A page in many small writes."""
    return Session([place.speaks.with_query(f'pieces={int(between(r, 12000, 60000))}')], bad=True)


@fault('leader', 'dns', 'name_client read_name', usual=lambda place, r: Session([place.speaks.with_query('name=0')]))
def dns(place, r):
    """A name server that is asked for the client's name is slow."""
    return Session([place.speaks.with_query(f'name={int(between(r, 60, 400))}')], bad=True)
