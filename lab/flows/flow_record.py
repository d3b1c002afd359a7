# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes one recording: server, upstream, clients, perhaps a busy machine; then asks the comparison."""
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

import flow_lab
from flow_clients import Session, run_sessions

PATIENCE = 300


class Place:
    """Where a server runs in this recording: what commands and sessions need to know."""

    def __init__(self, case, room, servers):
        self.room, self.servers, self.seed, self.what = room, servers, case.seed, case.what
        self.speaks = flow_lab.SERVERS[case.server].speaks
        self.port, self.upstream_port = free_port(), free_port()


def free_port():
    """Below the ports that clients get."""
    while True:
        port = random.randrange(12000, 31000)
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
                return port
            except OSError:
                continue


def wait_for(port, process, what):
    for _ in range(600):
        try:
            with socket.create_connection(('127.0.0.1', port), 1):
                return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError(f'{what} does not listen')


def usual(place, case, r):
    """A good session beside a fault."""
    if case.background == 'uniform' or r.random() < 0.75:
        return Session([place.speaks.get()])
    if r.random() < 0.4:
        return Session([place.speaks.missing()])
    count = r.randint(2, 4)
    return Session([place.speaks.get(i == count - 1) for i in range(count)])


def draw_sessions(place, case, r):
    n = case.sessions
    if case.kind == 'healthy':
        draw = flow_lab.mix_of(case).draw
        return [draw(place, r, i, n) for i in range(n)]
    fault = flow_lab.fault_of(case)
    # Large answers are costly: among 2,000 sessions a few are enough to be usual.
    share = 0.3 if n < 1000 else 0.05
    good = [fault.usual(place, r) if fault.usual and r.random() < share else usual(place, case, r)
            for _ in range(n - case.bad)]
    bad = [fault.make(place, r) for _ in range(case.bad)]
    # Not among the first: those are slower anyway.
    for session in bad:
        good.insert(r.randint(min(8, len(good)), len(good)), session)
    return good


class Running:
    """Processes that end with the block."""

    def __init__(self):
        self.all = []

    def __enter__(self):
        return self

    def start(self, command, **more):
        self.all.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **more))
        return self.all[-1]

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def __exit__(self, *_):
        for process in self.all:
            self.end(process)


def record(case, room, servers, nest):
    """Returns the truth; the trace is ROOM/trace."""
    r = random.Random(case.id)
    place = Place(case, room, servers)
    server = flow_lab.SERVERS[case.server]
    server.prepare(place)
    with Running() as running, open(f'{room}/log', 'w', encoding='utf-8') as log:
        upstream = running.start([f'{servers}/small-hooks/upstream', str(place.upstream_port)], stderr=log)
        wait_for(place.upstream_port, upstream, 'the upstream')
        process = running.start([nest, 'flow', 'record', '-o', f'{room}/trace', '--', *server.command(place)],
                                stdout=log, stderr=log)
        wait_for(place.port, process, case.server)
        if hasattr(place.speaks, 'fill'):
            place.speaks.fill(place.port)
        for _ in range(r.randint(1, 3) if case.load == 'hog' else 0):
            running.start([sys.executable, '-c', 'while True: pass'])
        ports, errors = run_sessions(draw_sessions(place, case, r), place.port, place.speaks)
        running.end(process)
    fault = flow_lab.fault_of(case) if case.kind != 'healthy' else None
    return {'case': case.__dict__, 'load': case.load, 'background': case.background, 'port': place.port,
            'functions': sorted(fault.functions) if fault else [], 'labelled_only': bool(fault and fault.labelled_only),
            'bad': sorted(p for p, bad in ports.used.items() if bad), 'clients': len(ports.used),
            'errors': errors[:5], 'failed': len(errors), **durations(ports)}


def durations(ports):
    """By the clients' clock: the shortest bad session, the median of the good ones."""
    bad = [ports.seconds.get(p, 0) for p, is_bad in ports.used.items() if is_bad]
    good = [ports.seconds.get(p, 0) for p, is_bad in ports.used.items() if not is_bad]
    return {'bad_seconds': round(min(bad), 4) if bad else None, 'good_seconds': round(statistics.median(good), 4)}


def ask(nest, *words):
    """JSON lines of nest flow, and how long it took; [] if it failed."""
    begin = time.monotonic()
    done = subprocess.run([nest, 'flow', *words, '--json'], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line] if done.returncode in (0, 1) else []
    return rows, round(time.monotonic() - begin, 3), done.stderr[-500:]


def compare(truth, trace, nest):
    """What the program says about a recording, without labels and with them."""
    sessions, _, said = ask(nest, 'sessions', trace)
    mine = {row['session']: row['rport'] for row in sessions if row.get('lport') == truth['port']}
    seen = set(mine.values())
    free, seconds, error = ask(nest, 'compare', trace)
    answer = {'ports': {str(number): port for number, port in mine.items()}, 'rows': len(sessions),
              'bad_seen': sum(port in seen for port in truth['bad']), 'unlabelled': free[0] if free else None,
              'seconds': seconds, 'said': (said + error)[-500:], 'labelled': None}
    if truth['bad']:
        label = ' or '.join(f'rport == {port}' for port in truth['bad'])
        rows, _, error = ask(nest, 'compare', trace, '--bad', f'lport == {truth["port"]} and ({label})')
        answer['labelled'] = rows[0] if rows else None
        answer['said'] += error
    return answer


def run(case, out, servers, nest):
    """One recording in OUT: truth.json, answer.json, trace, log."""
    shutil.rmtree(out, ignore_errors=True)
    room = f'{out}/room'
    os.makedirs(room)
    os.chmod(out, 0o755)
    try:
        truth = record(case, room, servers, nest)
        os.rename(f'{room}/trace', f'{out}/trace')
        truth['trace_bytes'] = os.path.getsize(f'{out}/trace')
        with open(f'{out}/truth.json', 'w', encoding='utf-8') as f:
            json.dump(truth, f)
        answer_again(out, nest)
    finally:
        if os.path.exists(f'{room}/log'):
            shutil.copy(f'{room}/log', f'{out}/log')
        shutil.rmtree(room, ignore_errors=True)


def answer_again(out, nest):
    with open(f'{out}/truth.json', encoding='utf-8') as f:
        truth = json.load(f)
    answer = compare(truth, f'{out}/trace', nest)
    with open(f'{out}/answer.json', 'w', encoding='utf-8') as f:
        json.dump(answer, f)
