# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers written in lab/servers: a thread pool, a process per connection, two stages, an event loop."""
from flow_clients import Http, Session
from flow_lab import between, fault, server

ALL = 'pool fork stages loop'
READS = {'pool': 'read_request work_connection', 'fork': 'read_request work_connection',
         'stages': 'read_some hand_over', 'loop': 'handle_input'}
WRITES = {'pool': 'write_all work_write', 'fork': 'write_all work_write', 'stages': 'write_all work_write',
          'loop': 'client_send client_reply handle_output'}


class Small(Http):
    """Their requests; a fault is part of the query."""

    def __init__(self, query=''):
        super().__init__(page=f'/page{query}', large='/large', other='/other?up=0')

    def with_query(self, query):
        return self.ask(f'/page?{query}')

    def cold(self, r, number):
        return self.ask(f'/page{number}?cold={int(between(r, 1, 12))}')


def small(name, query=''):
    @server(name, Small(query))
    def command(place):
        return [f'{place.servers}/small-hooks/{name}', str(place.port), str(place.upstream_port), place.room]
    return command


for _name in ('pool', 'fork', 'stages'):
    small(_name)
small('loop', '?up=0')


def query_fault(kind, functions, query, usual=None):
    """A fault of own time, 50 to 400 ms, switched on by the query."""
    @fault(ALL, kind, functions, usual=usual)
    def make(place, r):
        return Session([place.speaks.with_query(query.format(ms=int(between(r, 50, 400))))], bad=True)
    return make


def calls_upstream(place, _r):
    return Session([place.speaks.with_query('up=0')])


query_fault('slow', 'compress_page', 'slow={ms}')
query_fault('upstream', 'read_upstream ask_upstream', 'up={ms}', usual=calls_upstream)
query_fault('skip', 'sort_rows search_rows scan_rows', 'skip={ms}')
query_fault('error', 'fail_request write_report', 'error={ms}')


@fault(ALL, 'skip', 'sort_rows search_rows scan_rows', name='skip-quick', labelled_only=True)
def skip_quick(place, _r):
    return Session([place.speaks.with_query('skip=0')], bad=True)


@fault(ALL, 'error', 'fail_request write_report find_page', name='error-quick', labelled_only=True)
def error_quick(place, _r):
    return Session([place.speaks.with_query('error=0')], bad=True)


@fault(ALL, 'lock', 'account_lock check_account', usual=lambda place, r: Session(
    [place.speaks.with_query(f'account=account{r.randint(1, 5)}')]))
def lock(place, r):
    name = f'held{r.getrandbits(60)}'
    return Session([place.speaks.with_query(f'account={name}')], bad=True, lock=f'{place.room}/{name}',
                   lock_seconds=between(r, 0.05, 0.4))


for _name in ALL.split():
    @fault(_name, 'drip', READS[_name])
    def drip(place, r):
        return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))

    @fault(_name, 'stall', WRITES[_name], usual=lambda place, r: Session([place.speaks.large()]))
    def stall(place, r):
        return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))
