# SPDX-License-Identifier: GPL-2.0-or-later
"""Coroutines on threads that steal work, and shards with a thread each."""
from flow_clients import Session
from flow_lab import between, fault, server
from serve_small import Small

SHARDS = 8


@server('weave', Small())
def weave(place):
    return [f'{place.servers}/weave-hooks/weave', str(place.port), str(place.upstream_port)]


@fault('weave', 'drip', 'weave::read_request weave::receive_some weave::request_size weave::Ready::await_suspend')
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('weave', 'stall', 'weave::write_answer weave::send_some weave::Ready::await_suspend',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


def query_fault(kind, functions, query, low=50, high=400, usual=None):
    @fault('weave', kind, functions, usual=usual)
    def make(place, r):
        return Session([place.speaks.with_query(query.format(int(between(r, low, high)), r.randrange(1, SHARDS)))],
                       bad=True)
    return make


query_fault('slow', 'weave::compress_page', 'slow={}')
query_fault('upstream', 'weave::ask_upstream weave::Ready::await_suspend', 'up={}', usual=lambda place, r: Session(
    [place.speaks.with_query('up=0')]))
# The same computation in many more slices, each of which waits for its turn.
query_fault('yield', 'weave::count_rows weave::count_slice weave::Yield::await_suspend', 'slices={}', 3000, 20000)
# Nobody has a credit to give.
query_fault('credit', 'weave::take_credit weave::After::await_suspend weave::Poller::wake_at', 'credit={}')
# A batch that does not fill, and waits for its timer.
query_fault('batch', 'weave::join_batch weave::After::await_suspend weave::Poller::wake_at', 'batch={}')
# One of several parts that are made at the same time is slow.
query_fault('fan-out', 'weave::gather_parts weave::fetch_part weave::ask_upstream weave::Joined::await_suspend '
            'weave::Ready::await_suspend', 'part={}', usual=lambda place, r: Session(
                [place.speaks.with_query('part=0')]))
# The thread that is to do it is busy with something else.
query_fault('queue', 'weave::write_shard weave::Shard::compact weave::OnShard::await_suspend', 'compact={}&shard={}')
