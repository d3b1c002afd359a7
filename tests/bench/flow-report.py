#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a trace of nginx: CPU time of `nest flow compare` and `uftrace report` on the same calls, interleaved.

    tests/bench/flow-report.py BUILD-DIRECTORY SERVERS-DIRECTORY [MILLION-EVENTS [ROUNDS]]

nginx with hooks (lab/servers/build) is recorded by nest under wrk: pages, missing pages and POST over connections of
ten requests. The same calls are written in uftrace's form into a directory that uftrace made when it recorded this
nginx, and both must count as many calls of every function. nest reads them, takes them apart into sessions,
classifies and summarises them and compares two groups; uftrace sums up calls and times by function. Each is bound to
one processor.
"""
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../lab/studies'))
import study  # noqa: E402  pylint: disable=wrong-import-position

LOAD = '''local n = 0
request = function()
  n = n + 1
  if n % 20 == 7 then return wrk.format("GET", "/missing") end
  if n % 20 == 13 then return wrk.format("POST", "/index.html", nil, "a=b") end
  return wrk.format("GET", "/index.html")
end
'''


def server(servers, room, port):
    """nginx in one process, connections of ten requests."""
    command = study.nginx(servers, room, port)
    with open(f'{room}/nginx.conf', encoding='ascii') as f:
        text = f.read()
    with open(f'{room}/nginx.conf', 'w', encoding='ascii') as f:
        f.write('master_process off; ' + text.replace('http {', 'http { keepalive_requests 10; log_not_found off; '))
    return command


def record(build, servers, room, events):
    port = study.free_port()
    with open(f'{room}/load.lua', 'w', encoding='ascii') as f:
        f.write(LOAD)
    with study.Recorded(build, room, 'nginx', server(servers, room, port), port) as recorded:
        load = subprocess.Popen(['wrk', '-t1', '-c8', '-d120s', '-s', f'{room}/load.lua',
                                 f'http://127.0.0.1:{port}/index.html'],
                                stdout=subprocess.DEVNULL)
        # Slightly more than four bytes per event.
        while load.poll() is None and os.path.getsize(recorded.trace) < events * 4.3:
            time.sleep(0.01)
        load.send_signal(signal.SIGINT)
        load.wait(30)
    return recorded.trace


def record_with_uftrace(servers, room):
    """A uftrace directory for this program, and its load address."""
    port = study.free_port()
    command = server(servers, room, port)
    process = subprocess.Popen(['uftrace', 'record', '--no-libcall', '--no-event', '-d', f'{room}/u.data', *command],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        time.sleep(0.1)
        if os.path.exists(f'{room}/pid') and os.path.getsize(f'{room}/pid'):
            break
    with open(f'{room}/pid', encoding='ascii') as f:
        os.kill(int(f.read()), signal.SIGQUIT)
    process.wait(30)
    names = os.listdir(f'{room}/u.data')
    with open(f'{room}/u.data/{next(name for name in names if name.endswith(".map"))}', encoding='ascii') as f:
        base = min(int(line.split('-')[0], 16) for line in f if line.split(' build-id')[0].rstrip().endswith('/nginx'))
    # The converted clock starts at one second.
    with open(f'{room}/u.data/task.txt', encoding='ascii') as f:
        text = re.sub(r'timestamp=[0-9.]+', 'timestamp=0.000000000', f.read())
    with open(f'{room}/u.data/task.txt', 'w', encoding='ascii') as f:
        f.write(text)
    return f'{room}/u.data/{next(name for name in names if name.endswith(".dat"))}', base


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(['taskset', '-c', '0', *command], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def anonymous(command):
    """Peak memory without the mapped file, in MB."""
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                with open(f'/proc/{process.pid}/status', encoding='utf-8') as f:
                    most = max([most] + [int(line.split()[1]) for line in f if line.startswith('RssAnon:')])
            except OSError:
                break
            time.sleep(0.001)
    return most / 1024


def check_same(build, trace, report):
    """Both report the same functions with the same number of calls; a name may denote several functions."""
    mine, theirs = {}, {}
    for f in map(json.loads,
                 subprocess.run([f'{build}/nest', 'flow', 'info', trace, '--functions', '--json'], check=True,
                                            capture_output=True, text=True).stdout.splitlines()):
        if f['calls']:
            mine[f['function']] = mine.get(f['function'], 0) + f['calls']
    for line in report.splitlines()[2:]:
        words = line.split()
        theirs[words[-1]] = theirs.get(words[-1], 0) + int(words[-2])
    different = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
    if different:
        sys.exit('flow-report: not the same calls: ' +
                 ', '.join(f'{n} {mine.get(n)} and {theirs.get(n)}' for n in different[:5]))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, servers = (os.path.abspath(path) for path in sys.argv[1:3])
    million, rounds = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((3, 20), (4, 7)))
    for needed in ('uftrace', 'wrk', 'taskset'):
        if not shutil.which(needed):
            sys.exit(f'flow-report: {needed} is not installed')
    if not os.path.exists(f'{servers}/nginx-hooks/nginx'):
        sys.exit(f'flow-report: {servers} has no nginx: make servers-nginx')
    with tempfile.TemporaryDirectory(prefix='nest-bench-') as room:
        os.chmod(room, 0o755)
        trace = record(build, servers, room, million * 1e6)
        data, base = record_with_uftrace(servers, room)
        subprocess.run([f'{build}/tests/bench/bench_flow_analysis', 'convert', trace, data, str(base)], check=True)
        measure(build, trace, f'{room}/u.data', rounds)


def measure(build, trace, directory, rounds):
    about = json.loads(subprocess.run([f'{build}/nest', 'flow', 'info', trace, '--json'], check=True,
                                      capture_output=True,
                                      text=True).stdout)
    # A connection with a POST is longer than ten requests for pages.
    commands = {
        'nest flow compare': [f'{build}/nest', 'flow', 'compare', trace, '--bad', 'rx_bytes > 520', '--json'],
        'uftrace report': ['uftrace', 'report', '--no-pager', '-d', directory],
    }
    seconds = {name: [] for name in commands}
    said = {}
    for _ in range(rounds):
        for name, command in commands.items():
            took, said[name] = cpu(command)
            seconds[name].append(took)
    check_same(build, trace, said['uftrace report'])
    answer = json.loads(said['nest flow compare'])
    print(f'{about["events"] / 1e6:.1f} million events of nginx, ' +
          ' and '.join(f'{g["sessions"]} {g["name"]}' for g in answer['groups']) +
          f' sessions: {answer["answer"]}')
    for name, values in seconds.items():
        print(f'{name:20} {statistics.median(values):7.3f} s of CPU, '
              f'{statistics.median(values) * 1e9 / about["events"]:6.1f} ns per event (median of {rounds})')
    ratio = statistics.median(seconds["uftrace report"]) / statistics.median(seconds["nest flow compare"])
    print(f'uftrace takes {ratio:.1f} times as '
          f'long; nest has {anonymous(commands["nest flow compare"]):.1f} MB beyond the mapped file')


main()
