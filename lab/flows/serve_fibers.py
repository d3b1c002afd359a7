# SPDX-License-Identifier: GPL-2.0-or-later
"""User threads: each connection has its own stack, all in one thread."""
from flow_clients import Session
from flow_lab import between, fault, server
from serve_small import Small

SWITCHES = 'fiber_switch fiber_wait'


@server('fibers', Small())
def fibers(place):
    return [f'{place.servers}/small-hooks/fibers', str(place.port), str(place.upstream_port), place.room]


@fault('fibers', 'drip', f'receive_request {SWITCHES}')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('fibers', 'stall', f'send_all answer_request {SWITCHES}', usual=lambda place, r: Session(
    [place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


def query_fault(kind, functions, query, low=50, high=400, usual=None):
    @fault('fibers', kind, functions, usual=usual)
    def make(place, r):
        return Session([place.speaks.with_query(query.format(int(between(r, low, high))))], bad=True)
    return make


query_fault('slow', 'compute_page', 'slow={}')
query_fault('upstream', f'read_upstream ask_upstream {SWITCHES}', 'up={}', usual=lambda place, r: Session(
    [place.speaks.with_query('up=0')]))
# A loop that lets others run far more often than it does anything.
query_fault('yield', 'visit_rows fiber_yield fiber_switch', 'turns={}', 15000, 100000)
query_fault('throttle', 'keep_rate fiber_sleep fiber_switch', 'rate={}')
# What another user thread is to send comes late.
query_fault('mail', 'await_mail write_mail fiber_sleep fiber_switch', 'mail={}')
# It asks again and again whether another user thread has finished.
query_fault('spin', 'enter_table fiber_yield own_table fiber_sleep fiber_switch', 'owner={}')
query_fault('recursion', 'descend walk_tree', 'levels={}', 1000, 2100)
