#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a trace: `nest flow compare` beside `uftrace report` on the same calls, interleaved rounds, CPU time of each command.

    tests/bench/flow-report.py [BUILD-DIRECTORY [MILLION-EVENTS [ROUNDS]]]

The trace is the model of bench_flow_analysis, an event-driven server. nest reads it, takes it apart into sessions, classifies and
summarises them and compares two groups; uftrace sums up calls and times by function.
"""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, '../../build'))
MILLION = int(sys.argv[2]) if len(sys.argv) > 2 else 20
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
FUNCTIONS = 340


def record_functions(room):
    """A directory that uftrace made, of a program with the model's functions, and their addresses."""
    source = ''.join(f'__attribute__((noinline)) void function_{i}(void) {{ asm volatile(""); }}\n' for i in range(FUNCTIONS))
    with open(f'{room}/model.c', 'w', encoding='ascii') as f:
        f.write(source + 'int main(void) { ' + ' '.join(f'function_{i}();' for i in range(FUNCTIONS)) + ' return 0; }\n')
    subprocess.run(['gcc', '-O1', '-finstrument-functions', '-o', f'{room}/model', f'{room}/model.c'], check=True)
    subprocess.run(['uftrace', 'record', '--no-libcall', '--no-event', '-d', f'{room}/u.data', f'{room}/model'], check=True,
                   stdout=subprocess.DEVNULL)
    names = os.listdir(f'{room}/u.data')
    data = next(name for name in names if name.endswith('.dat'))
    with open(f'{room}/u.data/{next(name for name in names if name.endswith(".map"))}', encoding='ascii') as f:
        base = min(int(line.split('-')[0], 16) for line in f if line.rstrip().split(' build-id')[0].endswith('/model'))
    with open(f'{room}/u.data/model.sym', encoding='ascii') as f:
        at = {m[2]: int(m[1], 16) for m in re.finditer(r'^([0-9a-f]+) . (function_\d+)$', f.read(), re.M)}
    with open(f'{room}/addresses', 'w', encoding='ascii') as f:
        f.writelines(f'{base + at[f"function_{i}"]}\n' for i in range(FUNCTIONS))
    # The model's clock begins at 0.
    with open(f'{room}/u.data/task.txt', encoding='ascii') as f:
        text = re.sub(r'timestamp=[0-9.]+', 'timestamp=0.000000000', f.read())
    with open(f'{room}/u.data/task.txt', 'w', encoding='ascii') as f:
        f.write(text)
    return f'{room}/u.data/{data}'


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main():
    if not shutil.which('uftrace'):
        sys.exit('flow-report: uftrace is not installed: there is nothing to compare with')
    with tempfile.TemporaryDirectory(prefix='nest-bench-') as room:
        data = record_functions(room)
        subprocess.run([f'{BUILD}/tests/bench/bench_flow_analysis', 'make', f'{room}/trace', data, f'{room}/addresses',
                        str(MILLION)], check=True)
        commands = {
            'nest flow compare': [f'{BUILD}/nest', 'flow', 'compare', f'{room}/trace', '--bad', 'calls > 180', '--json'],
            'uftrace report': ['uftrace', 'report', '--no-pager', '-d', f'{room}/u.data'],
        }
        seconds = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                took, said = cpu(command)
                seconds[name].append(took)
                if 'function_200' not in said:
                    sys.exit(f'flow-report: {name} does not know the calls')
        for name, values in seconds.items():
            print(f'{name:20} {statistics.median(values):7.3f} s of CPU for {MILLION} million events, '
                  f'{statistics.median(values) * 1e3 / MILLION:6.1f} ns an event (median of {ROUNDS})')
        print(f'uftrace takes {statistics.median(seconds["uftrace report"]) / statistics.median(seconds["nest flow compare"]):.1f} '
              f'times as long')


main()
