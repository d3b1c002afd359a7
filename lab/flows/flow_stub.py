#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for nest flow, to prove the laboratory: an oracle that reads the truth beside the trace, or a liar.

    FLOW_STUB=oracle|liar FLOW_NEST=PROGRAM flow_stub.py flow sessions|compare TRACE ...
"""
import json
import os
import subprocess
import sys


def main():
    command, trace = sys.argv[2:4]
    done = subprocess.run([os.environ['FLOW_NEST'], 'flow', 'sessions', trace, '--json'], capture_output=True,
                          text=True, check=True)
    if command == 'sessions':
        print(done.stdout, end='')
        return
    with open(os.path.join(os.path.dirname(trace), 'truth.json'), encoding='utf-8') as f:
        truth = json.load(f)
    lies = os.environ['FLOW_STUB'] == 'liar'
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [row['session'] for row in rows if (row['rport'] in truth['bad']) != lies]
    function = 'a_lie' if lies else (truth['functions'] or [None])[0]
    print(json.dumps({'groups': [{'name': 'good', 'sessions': len(rows) - len(bad)},
                                 {'name': 'bad', 'sessions': len(bad), 'members': bad}],
                      'divergence': {'function': function} if function else None}))


main()
