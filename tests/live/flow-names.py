#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of one name: static in two files, in a header, weak in two objects. Which one does nest flow name?

    flow-names.py BUILD-DIRECTORY ROOM

A server in C++ from two builds whose objects are linked in another order; addr2line says where an address is. Prints
a line for each question: ok or FAIL.
"""
import collections
import json
import os
import socket
import subprocess
import sys

CLIENTS, BAD = 24, 6
HEADER = '''#pragma once
#include <unistd.h>
struct task { char what; };
__attribute__((noinline)) static void prepare(const struct task *t, char slow)
{
	if (t->what == slow)
		usleep(30000);
}
/* Weak: one copy is kept of those in both objects. */
inline __attribute__((noinline)) void account(const struct task *t, char slow)
{
	if (t->what == slow)
		usleep(30000);
}
void first(const struct task *t);
void second(const struct task *t);
'''
PART = '''#include "common.h"
__attribute__((noinline)) static void init(const struct task *t)
{
	if (t->what == '%(init)s' || %(always)d)
		usleep(30000);
}
void %(name)s(const struct task *t)
{
	init(t);
	prepare(t, '%(prepare)s');
	account(t, '%(account)s');
}
'''
MAIN = '''#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include "common.h"
static void serve(int fd)
{
	struct task t = {};

	if (read(fd, &t.what, 1) == 1) {
		first(&t);
		second(&t);
		if (write(fd, &t.what, 1) < 0)
			perror("write");
	}
	close(fd);
}
int main()
{
	struct sockaddr_in a = {};
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&a, n) < 0 || listen(listener, 50) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &n) < 0)
		return 1;
	printf("%u\\n", ntohs(a.sin_port));
	fflush(stdout);
	for (int i = 0; i < CLIENTS; i++)
		serve(accept(listener, NULL, NULL));
	return 0;
}
'''


def build(room, name, order, always=()):
    """A program of that name; the files of `order` in this order; init of those in `always` is slow for everybody."""
    place = f'{room}/{name}'
    os.makedirs(place)
    parts = {'one': {'name': 'first', 'init': 'i', 'prepare': 'p', 'account': 'v'},
             'two': {'name': 'second', 'init': 'j', 'prepare': 'q', 'account': 'w'}}
    texts = {f'{part}.cc': PART % {**values, 'always': part in always} for part, values in parts.items()}
    for file, text in {'common.h': HEADER, 'main.cc': MAIN, **texts}.items():
        with open(f'{place}/{file}', 'w', encoding='ascii') as f:
            f.write(text)
    subprocess.run(['g++', '-O1', '-g', '-finstrument-functions', f'-DCLIENTS={CLIENTS}', '-o', 'server',
                    *(f'{part}.cc' for part in order), 'main.cc'], cwd=place, check=True)
    return f'{place}/server'


def record(o, program, what):
    """A trace of clients, some of which send `what`."""
    trace = f'{program}-{what}.trace'
    with subprocess.Popen([f'{o.build}/nest', 'flow', 'record', '-o', trace, '--', program], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as server:
        port = int(server.stdout.readline())
        for i in range(CLIENTS):
            with socket.create_connection(('127.0.0.1', port), 30) as s:
                s.settimeout(30)
                s.sendall(what.encode() if i % (CLIENTS // BAD) == 1 else b'x')
                assert s.recv(1)
        server.wait(60)
    return trace


def rows(o, *words):
    done = subprocess.run([f'{o.build}/nest', 'flow', *words, '--json'], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def source_of(program, address):
    """(function, file) by the debugger's tables."""
    said = subprocess.run(['addr2line', '-fC', '-e', program, hex(address)], capture_output=True, text=True, check=True)
    function, place = said.stdout.split('\n')[:2]
    return function.split('(')[0], os.path.basename(place.split(':')[0])


def address_of(row, key):
    value = row[key]
    return int(value, 16) if isinstance(value, str) else value


def check(o, good, what, more=''):
    o.failed |= not good
    print(f'{"ok" if good else "FAIL"} {what}{"" if good else " " + str(more)}')


def check_functions(o, program, trace):
    found = collections.Counter()
    for row in rows(o, 'info', trace, '--functions'):
        name = row['function'].split('(')[0]
        if name not in ('init', 'prepare', 'account'):
            continue
        function, file = source_of(program, address_of(row, 'offset'))
        # A function of the header is compiled in the file that includes it.
        right = function == name and (row['file'] is None if name == 'account' else file in (row['file'], 'common.h'))
        check(o, right, f'{name}: {row["file"]}', (row, function, file))
        found[name] += 1
    check(o, found == {'init': 2, 'prepare': 2, 'account': 1}, 'each function of the program is one', found)


def check_answer(o, answer, name, file, what, program=None):
    d = answer['divergence'] or {}
    if name == 'account':
        # Slower for one of its two callers: that one is named, and where it spends the time.
        check(o, (d.get('function'), d.get('waits_in')) == ('second', name), what, answer['answer'])
        return
    good = d.get('function') == name and d.get('file') == file
    if good and program and name == 'init':
        good = source_of(program, address_of(d, 'address')) == (name, file)
    good = good and f'({file})' in answer['answer']
    check(o, good, what, (d.get('function'), d.get('file'), answer['answer']))


def main():
    class o:  # pylint: disable=invalid-name,too-few-public-methods
        build, room = sys.argv[1:]
        failed = False
    old = build(o.room, 'old', ('one', 'two'))
    for what, name, file in (('i', 'init', 'one.cc'), ('j', 'init', 'two.cc'), ('p', 'prepare', 'one.cc'),
                             ('q', 'prepare', 'two.cc'), ('w', 'account', None)):
        trace = record(o, old, what)
        slow = [str(r['session']) for r in rows(o, 'sessions', trace)][1::CLIENTS // BAD]
        answer = rows(o, 'compare', trace, '--bad', f'session in ({", ".join(slow)})')[0]
        check_answer(o, answer, name, file, f'one trace, {what}: {name}, {file or "weak"}', old)
    check_functions(o, old, trace)
    usual = record(o, old, 'x')
    same = record(o, build(o.room, 'same', ('two', 'one')), 'x')
    answer = rows(o, 'compare', usual, same)[0]
    kinds = [d['kind'] for d in [answer['divergence'], *(answer['others'] or [])] if d]
    check(o, not {'extra', 'missing'} & set(kinds), 'another order: no function is extra or missing', answer['answer'])
    for part in ('one', 'two'):
        program = build(o.room, f'new-{part}', ('two', 'one'), always=(part,))
        answer = rows(o, 'compare', usual, record(o, program, 'x'))[0]
        check_answer(o, answer, 'init', f'{part}.cc', f'two traces: init of {part}.cc')
    sys.exit(o.failed)


if __name__ == '__main__':
    main()
