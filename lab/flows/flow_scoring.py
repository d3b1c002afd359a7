# SPDX-License-Identifier: GPL-2.0-or-later
"""Scores what `nest flow compare` said about recordings whose truth is known.

Right is: the first function named is one that the fault's author accepts. Members: the bad group is exactly the
sessions of the bad clients (exact), or nearly (Jaccard >= 0.8); a program that does not list members is judged by
their number, which is marked. Healthy: nothing may be named. A fault that its clients did not feel is not scored.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from scoring import proportion  # noqa: E402  pylint: disable=wrong-import-position

NEARLY = 0.8
# A bad session lasts at least this much longer than the median of the good ones.
BITES_SECONDS = 0.02


def read_result(out):
    """(truth, answer) of one recording; answer is None if the comparison failed."""
    with open(os.path.join(out, 'truth.json'), encoding='utf-8') as f:
        truth = json.load(f)
    try:
        with open(os.path.join(out, 'answer.json'), encoding='utf-8') as f:
            return truth, json.load(f)
    except (OSError, ValueError):
        return truth, None


def bad_group(said):
    return next((g for g in said.get('groups') or [] if g['name'] == 'bad'), {})


def overlap(truth, answer, said):
    """(Jaccard of the bad group with the bad clients, whether members were listed)."""
    group, bad = bad_group(said), set(truth['bad'])
    if 'members' in group:
        # A session that is no client's has no port here: it counts as a wrong member.
        members = {answer['ports'].get(str(number), f'session {number}') for number in group['members'] or []}
        return (len(members & bad) / len(members | bad) if members | bad else 1.0), True
    count = group.get('sessions', 0)
    return (min(count, len(bad)) / max(count, len(bad)) if max(count, len(bad)) else 1.0), False


def name_of(said):
    return ((said or {}).get('divergence') or {}).get('function')


def why_invalid(truth, answer):
    if truth['failed'] > truth['clients'] * 0.02:
        return f'{truth["failed"]} of {truth["clients"]} clients failed: {truth["errors"][:1]}'
    if answer is not None and answer['bad_seen'] < len(truth['bad']):
        return f'{answer["bad_seen"]} of {len(truth["bad"])} bad sessions are in the trace'
    if truth['bad'] and not truth['labelled_only'] \
            and truth['bad_seconds'] < truth['good_seconds'] + BITES_SECONDS:
        return f'the fault had no impact: {truth["bad_seconds"]} s, good ones {truth["good_seconds"]} s'
    return None


def judge(truth, answer):
    """One row per recording."""
    case = truth['case']
    row = {**case, 'load': truth['load'], 'background': truth['background'], 'invalid': why_invalid(truth, answer)}
    free, labelled = (answer or {}).get('unlabelled'), (answer or {}).get('labelled')
    row['named'], row['named_labelled'] = name_of(free), name_of(labelled)
    row['seconds'] = (answer or {}).get('seconds')
    if case['kind'] == 'healthy':
        row['right'] = free is not None and row['named'] is None
        return row
    right = set(truth['functions'])
    row['function'] = row['named'] in right
    jaccard, listed = overlap(truth, answer, free) if free else (0.0, False)
    row.update(exact=jaccard == 1.0, nearly=jaccard >= NEARLY, members_listed=listed)
    row['right'] = row['function'] and row['nearly']
    row['labelled'] = row['named_labelled'] in right
    row['labelled_only'] = truth['labelled_only']
    return row


def add_up(rows):
    """Figures of some rows."""
    faults = [r for r in rows if r['kind'] != 'healthy']
    free = [r for r in faults if not r['labelled_only']]
    healthy = [r for r in rows if r['kind'] == 'healthy']
    figures = {name: proportion(sum(bool(r[name]) for r in free), len(free))
               for name in ('right', 'function', 'exact', 'nearly')}
    figures['labelled'] = proportion(sum(bool(r['labelled']) for r in faults), len(faults))
    figures['healthy_named'] = proportion(sum(not r['right'] for r in healthy), len(healthy))
    return figures


def score(results):
    """results: (truth, answer) pairs."""
    rows = [judge(truth, answer) for truth, answer in results]
    valid = [r for r in rows if not r['invalid']]

    def by(key, chosen=valid):
        return {str(k): add_up([r for r in chosen if key(r) == k]) for k in sorted({key(r) for r in chosen})}
    faults = [r for r in valid if r['kind'] != 'healthy']
    return {'total': add_up(valid), 'server': by(lambda r: r['server']), 'fault': by(lambda r: r['kind'], faults),
            'size': by(lambda r: f'{r["bad"]} of {r["sessions"]}', faults), 'load': by(lambda r: r['load']),
            'mix': by(lambda r: r['what'], [r for r in valid if r['kind'] == 'healthy']),
            'cells': cells(valid), 'members_listed': bool(faults) and all(r['members_listed'] for r in faults),
            'invalid': [r for r in rows if r['invalid']], 'rows': rows}


def cells(rows):
    """Server x fault or mix: per size how many of how many recordings were right."""
    found = {}
    for r in rows:
        cell = found.setdefault((r['kind'] == 'healthy', r['server'], r['what']), {})
        counts = cell.setdefault(f'{r["bad"]} of {r["sessions"]}', {'right': 0, 'labelled': 0, 'total': 0})
        counts['total'] += 1
        counts['right'] += bool(r['right'])
        counts['labelled'] += bool(r.get('labelled'))
    return [{'healthy': key[0], 'server': key[1], 'what': key[2], 'sizes': found[key]} for key in sorted(found)]


def is_miss(row):
    """Whether the trace is worth a look."""
    if row['invalid']:
        return False
    if row['kind'] == 'healthy':
        return not row['right']
    return not row['labelled'] or (not row['labelled_only'] and not (row['right'] and row['exact']))


def figure(p):
    if not p['total']:
        return '-'
    return f'{p["right"]}/{p["total"]} {100 * p["share"]:.0f}% ({100 * p["low"]:.0f}-{100 * p["high"]:.0f})'


COLUMNS = (('right', 'right'), ('function', 'function'), ('exact', 'members exact'), ('nearly', 'members >= 0.8'),
           ('labelled', 'labelled'), ('healthy_named', 'healthy named'))


def table(title, groups):
    lines = [f'{title:16}' + ''.join(f'{head:>20}' for _, head in COLUMNS)]
    lines += [f'{name:16}' + ''.join(f'{figure(figures[key]):>20}' for key, _ in COLUMNS)
              for name, figures in groups.items()]
    return '\n'.join(lines) + '\n'


def render_cells(result):
    """A line per server and fault: right without labels and with them; per server and mix: silent."""
    lines = ['cells: right without labels, with labels / recordings; healthy: nothing named / recordings']
    for cell in result['cells']:
        sizes = sorted(cell['sizes'].items(), key=lambda item: int(item[0].split()[-1]))
        figures = [f'{size}: {c["right"]}/{c["total"]}' if cell['healthy'] else
                   f'{size}: {c["right"]},{c["labelled"]}/{c["total"]}' for size, c in sizes]
        lines.append(f'{cell["server"]:16}{cell["what"]:16}' + ''.join(f'{text:22}' for text in figures).rstrip())
    return '\n'.join(lines) + '\n'


def render(result):
    parts = [table('', {'all': result['total']})]
    parts += [table(f'by {key}', result[key]) for key in ('server', 'fault', 'size', 'load', 'mix') if result[key]]
    if result['rows'] and not result['members_listed']:
        parts.append('members: this program lists none; judged by their number\n')
    parts.append(render_cells(result))
    misses = [r for r in result['rows'] if is_miss(r)]
    for r in misses:
        said = f'named {r["named"]}'
        if r['kind'] != 'healthy':
            said += f', labelled {r["named_labelled"]}, members {"exact" if r["exact"] else "wrong"}'
        parts.append(f'miss {r["server"]}.{r["what"]}.{r["bad"]}of{r["sessions"]}.{r["seed"]} ({r["load"]}): {said}')
    parts += [f'not scored {r["server"]}.{r["what"]}.{r["bad"]}of{r["sessions"]}.{r["seed"]}: {r["invalid"]}'
              for r in result['invalid']]
    return '\n'.join(parts)
