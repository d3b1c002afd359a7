#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers of several kinds that do one thing wrong for 5 of 100 clients: which function does nest flow compare name?

Without labels only time is a fault; a difference in calls is mentioned. With them, and between two traces, both are.

    flow-odd.py BUILD-DIRECTORY ROOM [MANNER[,MANNER..]]

Without labels the sessions of one trace, and two traces, before and after. Prints the answers, and a line for each:
ok or FAIL, what was asked.
"""
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS, HONEST_SLOW = 100, 4
ODD = range(7, CLIENTS, 20)
MANNERS = {'epoll': 'c', 'pool': 'c', 'fork': 'c', 'thread': 'c++'}
# What must be named, and how.
RIGHT = {'extra': ({'audit'}, 'extra'), 'missing': ({'authorise'}, 'missing'), 'error': ({'send_error'}, 'extra'),
         'slow': ({'find_row'}, 'slower'), 'lock': ({'take_lock'}, 'slower'), 'retry': ({'query'}, 'extra'),
         'none': None,
         'fourfold': ({'find_row'}, 'slower')}
TIMES = ('slow', 'lock')
AFTER = ('none', 'fourfold', 'slow', 'extra', 'missing', 'retry')
REQUEST = 'GET /%s HTTP/1.0\nHost: here\nAccept: */*\n\n'


def build(room, language):
    path = f'{room}/server-{language}'
    if not os.path.exists(path):
        subprocess.run(['g++' if language == 'c++' else 'gcc', '-x', language, '-O1', '-g', '-pthread',
                        '-finstrument-functions',
                        '-o', path, f'{HERE}/flow-odd.c'], check=True)
    return path


def client(port, what, pieces):
    with socket.create_connection(('127.0.0.1', port), 20) as s:
        text = (REQUEST % what).encode()
        step = -(-len(text) // pieces)
        for at in range(0, len(text), step):
            s.sendall(text[at:at + step])
            if pieces > 1:
                time.sleep(0.02)
        s.settimeout(20)
        while s.recv(4096):
            pass


def record(o, manner, fault, odd):
    """A trace of 100 clients, of which some ask for what goes wrong, and others are slow for reasons of their own."""
    trace = f'{o.room}/{manner}-{fault}.trace'
    command = [f'{o.build}/nest', 'flow', 'record', '-o', trace, '--', build(o.room, MANNERS[manner]), manner, fault]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        port = int(server.stdout.readline())
        slow = [threading.Thread(target=client, args=(port, 'xxx', 4)) for _ in range(HONEST_SLOW)]
        for i in range(CLIENTS - HONEST_SLOW):
            if i % 20 == 3 and i // 20 < len(slow):
                slow[i // 20].start()
            client(port, 'odd' if i in odd else 'xxx', 1)
            time.sleep(o.random.random() * 0.002)
        for s in slow:
            s.join()
        server.stdin.close()
        server.wait(60)
    return trace


def compare(o, *words):
    done = subprocess.run([f'{o.build}/nest', 'flow', 'compare', *words, '--json'], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[0])


def judge(found, right):
    divergence = found['divergence']
    if right is None:
        return not divergence
    names, kind = right
    return bool(divergence) and divergence['function'].split('(')[0] in names and divergence['kind'] == kind


def find_odd(o, manner, fault):
    trace = record(o, manner, fault, ODD)
    found = compare(o, trace)
    members = found['groups'][1]['members'] or []
    if fault in ('none', *TIMES):
        # A session that was interrupted at the wrong moment may be among them, or missing.
        return judge(found, RIGHT[fault]) and (fault == 'none' or abs(len(members) - len(ODD)) <= 2), found
    # Mentioned, with the sessions to compare; then they are labelled.
    names = RIGHT[fault][0]
    mentioned = re.search(r"Not reported: .* --bad '(session in \([0-9, ]+\))'", found['answer'])
    if found['divergence'] or not mentioned or not any(name in found['answer'] for name in names):
        return False, found
    found = compare(o, trace, '--bad', mentioned.group(1))
    return judge(found, RIGHT[fault]) and len(found['groups'][1]['members']) == len(ODD), found


def before_and_after(o, manner, fault):
    before = f'{o.room}/{manner}-before.trace'
    if not os.path.exists(before):
        os.rename(record(o, manner, 'none', ()), before)
    found = compare(o, before, record(o, manner, fault, range(CLIENTS)))
    good = judge(found, RIGHT[fault])
    if not good:
        os.remove(before)
    return good, found


def ask(question, o, manner, fault, what):
    """Right at once, or two of three times: whatever else the machine does may come between."""
    right, wrong = 0, 0
    while right < 1 + wrong and wrong < 2:
        good, found = question(o, manner, fault)
        right, wrong = right + good, wrong + (not good)
        print(f'     {"right" if good else "wrong"}: {found["answer"]}', flush=True)
    print(f'{"ok  " if wrong < 2 else "FAIL"} {manner}, {fault}, {what}', flush=True)
    return wrong < 2


class Options:
    def __init__(self, words):
        self.build, self.room = words[0], words[1]
        self.manners = words[2].split(',') if len(words) > 2 else list(MANNERS)
        self.random = random.Random(1)


def main():
    o = Options(sys.argv[1:])
    good = True
    for manner in o.manners:
        for fault in RIGHT:
            good &= fault == 'fourfold' or ask(find_odd, o, manner, fault, '5 of 100')
        for fault in AFTER:
            good &= ask(before_and_after, o, manner, fault, 'before and after')
    sys.exit(0 if good else 1)


main()
