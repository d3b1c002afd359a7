# SPDX-License-Identifier: GPL-2.0-or-later
"""PostgreSQL: a process per connection that answers one query after the other.

The tables are those of lab/servers/postgres.sql. Bad queries have the form of good ones: other values make them slow.
"""
import contextlib
import shutil
import socket
import struct
import time

from flow_clients import Reader, Session
from flow_dns import take
from flow_lab import between, fault, mix, server

READS = ('ReadCommand SocketBackend pq_getmessage pq_getbytes pq_recvbuf secure_read WaitEventSetWait '
         'WaitEventSetWaitBlock')
WRITES = ('printtup pq_endmessage_reuse socket_putmessage internal_putbytes internal_flush secure_write '
          'WaitEventSetWait WaitEventSetWaitBlock')
SCANS = ('create_seqscan_plan make_seqscan ExecInitSeqScan ExecSeqScan ExecScan ExecScanFetch SeqNext heap_beginscan '
         'heap_getnextslot heapgettup_pagemode heapgetpage')
SORTS = ('ExecSort tuplesort_performsort tuplesort_puttupleslot puttuple_common copytup_heap grow_memtuples '
         'tuplesort_merge_order inittapes inittapestate selectnewtape dumptuples writetup_heap markrunend mergeruns '
         'mergeonerun beginmerge mergereadnext readtup_heap init_slab_allocator tuplesort_sort_memtuples '
         'comparetup_heap tuplesort_heap_replace_top tuplesort_gettupleslot tuplesort_gettuple_common '
         'LogicalTapeSetCreate LogicalTapeCreate ltsCreateTape LogicalTapeWrite ltsGetBlock ltsGetFreeBlock '
         'ltsWriteBlock LogicalTapeRead LogicalTapeRewindForRead ltsReadFillBuffer ltsReadBlock '
         'PrepareTempTablespaces BufFileCreateTemp makeBufFile OpenTemporaryFile OpenTemporaryFileInTablespace '
         'BufFileWrite BufFileDumpBuffer FileWrite')
PLANS = ('pg_plan_queries pg_plan_query planner standard_planner subquery_planner grouping_planner query_planner '
         'make_one_rel make_rel_from_joinlist standard_join_search join_search_one_level make_rels_by_clause_joins '
         'make_join_rel populate_joinrel_with_paths add_paths_to_joinrel match_unsorted_outer try_nestloop_path '
         'build_join_rel_hash')
DEAD_ROWS = ('ExecIndexScan ExecScan ExecScanFetch IndexNext index_getnext_slot index_getnext_tid index_fetch_heap '
             'heapam_index_fetch_tuple heap_hot_search_buffer HeapTupleSatisfiesVisibility HeapTupleSatisfiesMVCC '
             'HeapTupleIsSurelyDead btgettuple _bt_next _bt_steppage _bt_readnextpage')
LOCKS = ('XactLockTableWait LockAcquire LockAcquireExtended WaitOnLock ProcSleep WaitLatch WaitEventSetWait '
         'WaitEventSetWaitBlock heapam_tuple_update heap_update heap_acquire_tuplock LockTuple')
REFERENCES = ('ExecutorFinish standard_ExecutorFinish AfterTriggerEndQuery afterTriggerInvokeEvents '
              'AfterTriggerExecute ExecCallTriggerFunc RI_FKey_noaction_del ri_restrict ri_PerformCheck '
              'SPI_execute_snapshot _SPI_execute_plan _SPI_pquery ExecLockRows '
              f'{SCANS}')
COMMITS = ('exec_stmt_commit SPI_commit _SPI_commit CommitTransactionCommand CommitTransaction '
           'RecordTransactionCommit XLogFlush XLogWrite issue_xlog_fsync pg_fdatasync LWLockAcquireOrWait')


class Queries:
    """Its protocol, version 3: simple queries. A client that has nothing more to ask says so with its last one."""

    @staticmethod
    def ask(query, last=True):
        text = query.encode() + b'\0'
        return struct.pack('!cI', b'Q', 4 + len(text)) + text + (struct.pack('!cI', b'X', 4) if last else b'')

    def asked(self, *queries):
        """Several requests."""
        return [self.ask(query, query is queries[-1]) for query in queries]

    def get(self, last=True):
        return self.ask('SELECT body FROM page WHERE id = 7', last)

    def other(self, last=True):
        return self.ask('SELECT substr(mark, 1, 1), count(*), max(name) FROM item WHERE id BETWEEN 100 AND 160 '
                        'GROUP BY 1 ORDER BY 2 DESC LIMIT 5', last)

    def missing(self, last=True):
        """An error to the server: there is no such table."""
        return self.ask('SELECT body FROM pages WHERE id = 7', last)

    def large(self, last=True):
        return self.ask('SELECT line FROM archive', last)

    def post(self, size, last=True):
        return self.ask(f"INSERT INTO note (body) VALUES ('{'b' * size}')", last)

    @staticmethod
    def cold(r, number):
        """A table of the catalogue that hardly anybody asks for: descriptions are loaded on first use."""
        return Queries.ask(f'SELECT count(*) FROM {CATALOGUE[number % len(CATALOGUE)]} WHERE oid < {r.randint(1, 99)}')

    @staticmethod
    def read(stream, begin=lambda: None):
        """Messages up to ReadyForQuery."""
        kind = b''
        while kind != b'Z':
            head = take(stream, 5)
            if len(head) < 5:
                return False
            begin()
            kind, size = struct.unpack('!cI', head)
            stream.read(size - 4)
        return True

    def login(self, s, stream, _user):
        words = b'user\0lab\0database\0postgres\0application_name\0lab\0\0'
        s.sendall(struct.pack('!II', 8 + len(words), 3 << 16) + words)
        if not self.read(stream):
            raise ConnectionError('the server does not accept the user lab')

    def fill(self, port):
        """Waits for the server: it listens before it has read its journal."""
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), 10) as s, \
                    s.makefile('rb', buffering=0) as raw:
                self.login(s, Reader(raw), '')
                s.sendall(self.get())
                return
            time.sleep(0.05)


CATALOGUE = ('pg_am', 'pg_cast', 'pg_class', 'pg_collation', 'pg_constraint', 'pg_conversion', 'pg_language',
             'pg_namespace', 'pg_opclass', 'pg_operator', 'pg_opfamily', 'pg_proc', 'pg_rewrite', 'pg_trigger',
             'pg_ts_config', 'pg_ts_dict', 'pg_ts_parser', 'pg_type')


def cluster(place):
    """A copy of the cluster that was made when the server was built."""
    data = f'{place.room}/data'
    shutil.copytree(f'{place.servers}/postgres-hooks/data', data)
    with open(f'{data}/postgresql.conf', 'a', encoding='ascii') as f:
        f.write(f'''
listen_addresses = '127.0.0.1'
port = {place.port}
unix_socket_directories = ''
max_connections = 100
max_prepared_transactions = 32
shared_buffers = 64MB
work_mem = 512kB
random_page_cost = 1.1
max_parallel_workers_per_gather = 0
max_wal_size = 64MB
log_min_messages = fatal
''')


@server('postgres', Queries(), prepare=cluster)
def postgres(place):
    return [f'{place.servers}/postgres-hooks/bin/postgres', '-D', f'{place.room}/data']


@mix('transactions', only=frozenset({'postgres'}))
def transactions(place, r, _i, _n):
    """Some clients change two rows in one transaction, and some of those change their mind."""
    if r.random() > 0.3:
        return Session([place.speaks.get()])
    return Session(place.speaks.asked('BEGIN', restock(r), restock(r), r.choice(['COMMIT', 'COMMIT', 'ROLLBACK'])))


def restock(r):
    return f'UPDATE stock SET pieces = pieces - 1 WHERE id = {r.randint(1, 1000)}'


@fault('postgres', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('postgres', 'stall', WRITES, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


def by_name(place, pattern, bad=False):
    return Session([place.speaks.ask(f"SELECT count(*) FROM item WHERE name LIKE '{pattern}'")], bad=bad)


@fault('postgres', 'scan', SCANS, usual=lambda place, r: by_name(place, f'item0{r.randrange(1000, 10000)}%'))
def scan(place, r):
    """The end of a name, for which the index is of no use: the whole table is read."""
    return by_name(place, f'%{r.randrange(1000, 10000)}', bad=True)


def sorted_items(place, r, count, bad=False):
    first = r.randint(1, 1000)
    return Session([place.speaks.ask(f'SELECT max(mark) FROM (SELECT mark FROM item WHERE id BETWEEN {first} AND '
                                     f'{first + int(count)} ORDER BY mark OFFSET 1) AS marks')], bad=bad)


@fault('postgres', 'spill', SORTS, usual=lambda place, r: sorted_items(place, r, between(r, 50, 300)))
def spill(place, r):
    """So many rows that they are sorted on disk."""
    return sorted_items(place, r, between(r, 15000, 30000), bad=True)


def joined(place, r, count, bad=False):
    tables = ', '.join(f'part AS p{i}' for i in range(count))
    links = ' AND '.join(f'p{i}.id = p{i + 1}.id' for i in range(count - 1))
    return Session([place.speaks.ask(f'SELECT p0.id FROM {tables} WHERE {links} AND p0.of = {r.randint(1, 25)}')],
                   bad=bad)


@fault('postgres', 'plan', PLANS, usual=lambda place, r: joined(place, r, r.randint(2, 3)))
def plan(place, r):
    """A join of many tables: to find its order takes longer than to make it."""
    return joined(place, r, r.randint(7, 8), bad=True)


def oldest(place, queue, bad=False):
    return Session([place.speaks.ask(f'SELECT id, what FROM {queue} ORDER BY id LIMIT 1')], bad=bad)


@fault('postgres', 'dead-rows', DEAD_ROWS, usual=lambda place, r: oldest(place, 'job'))
def dead_rows(place, _r):
    """The index leads to 149,000 deleted rows before the first one that is there."""
    return oldest(place, 'mail', bad=True)


@fault('postgres', 'row-lock', LOCKS, usual=lambda place, r: Session([place.speaks.ask(restock(r))]))
def row_lock(place, r):
    """The row has been changed by a transaction that was prepared, and whose coordinator takes its time."""
    name, change = f'x{r.getrandbits(60):x}', restock(r)
    return Session([place.speaks.ask(change)], bad=True,
                   before=Session(place.speaks.asked('BEGIN', change, f"PREPARE TRANSACTION '{name}'")),
                   later=(between(r, 0.1, 0.5), Session([place.speaks.ask(f"COMMIT PREPARED '{name}'")])))


def removed(place, r, table, bad=False):
    return Session([place.speaks.ask(f'DELETE FROM {table} WHERE id = {r.randint(101, 20000)}')], bad=bad)


@fault('postgres', 'reference', REFERENCES, usual=lambda place, r: removed(place, r, 'shelf'))
def reference(place, r):
    """A row is removed that others could refer to: they are all read, since no index has that column."""
    return removed(place, r, 'aisle', bad=True)


def booked(place, r, each, bad=False):
    return Session([place.speaks.ask(f'CALL book({int(between(r, 200, 1200))}, {each})')], bad=bad)


@fault('postgres', 'sync', COMMITS, usual=lambda place, r: booked(place, r, 'false'))
def sync(place, r):
    """Each row of many is committed, which brings it to the disk, instead of all together."""
    return booked(place, r, 'true', bad=True)


def faculty(place, number, bad=False):
    return Session([place.speaks.ask(f'SELECT length(factorial({int(number)})::text)')], bad=bad)


@fault('postgres', 'slow', 'numeric_fac mul_var', usual=lambda place, r: faculty(place, between(r, 5, 50)))
def slow(place, r):
    """The factorial of a large number."""
    return faculty(place, between(r, 6000, 12000), bad=True)
