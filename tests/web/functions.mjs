// SPDX-License-Identifier: GPL-2.0-or-later
// The functions behind the page, without a browser: figures, routes, sorting, distributions, the graph.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, finish, is, ok, root } from './harness.mjs';

const web = join(build, 'web');
const { build: bundle } = createRequire(join(web, 'package.json'))('esbuild');
const names = ['api', 'format', 'route', 'calls', 'grid', 'heat', 'graph', 'comparison', 'tools', 'tables', 'time',
  'flame', 'journeys', 'report'];
const plain = ['api', 'format', 'route', 'calls'];
mkdirSync(join(web, 'functions'), { recursive: true });
await bundle({
  entryPoints: names.map((name) =>
    join(root, 'web', 'src', `${name}.ts${plain.includes(name) ? '' : 'x'}`)),
  outdir: join(web, 'functions'), outExtension: { '.js': '.mjs' }, bundle: true, format: 'esm', platform: 'node',
  jsx: 'automatic', jsxImportSource: 'preact', nodePaths: [join(web, 'node_modules')], logLevel: 'error',
});
// What the modules touch when they are loaded.
globalThis.document = { documentElement: { dataset: {} },
  createElement: () => ({ getContext: () => null, style: {} }) };
globalThis.window = globalThis;
globalThis.matchMedia ??= () => ({ addEventListener() {}, matches: false });
globalThis.devicePixelRatio ??= 1;
globalThis.addEventListener ??= () => undefined;
Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true });
globalThis.dispatchEvent ??= () => undefined;
const load = (name) => import(join(web, 'functions', `${name}.mjs`));
const [api, format, route, calls, grid, heat, graph, comparison, tools, tables, time, flame, journeys, report] =
  await Promise.all(names.map(load));

// Figures: the same as nest writes them (docs/figures, tests/golden/figures.golden).
is(format.bytes(42_500_000), '42.5 MB', 'bytes in SI units');
is(format.bytes(999_700), '1.00 MB', 'three digits do not become four');
is(format.bytes(0), '0 B', 'no bytes');
is(format.count(9_999), '9999', 'counts in full below 10,000');
is(format.count(12_345), '12.3k', 'counts are scaled above');
is(format.duration(1_570_000), '1.57 ms', 'one unit for time');
is(format.duration(65_500), '65.5 us', 'microseconds');
is(format.duration(13_000_000_000), '13.0 s', 'seconds');
is(format.percent(0.005), '0.5 %', 'a small share');
is(format.percent(0.98), '98 %', 'a share');
is(format.withUnit(null, 'B/s'), '-', 'unknown is -');
is(format.withUnit(6_300_000, 'B/s'), '6.30 MB/s', 'a rate');
is(format.fieldValue(undefined, { name: 'x', kind: 'count' }), '-', 'an unknown field is -');
is(format.fieldValue(1500, api.normalField({ name: 'mtu', kind: 'size' })), '1500', 'an MTU is written in full');
is(format.fieldValue(1500, api.normalField({ name: 'recvq_bytes', kind: 'size' })), '1.50 kB', 'a size is not');
is(format.fieldValue(0.5, api.normalField({ name: 'x', kind: 'share', unit: '%' })), '50 %', 'a share');
is(format.fieldValue(2e6, api.normalField({ name: 'x', kind: 'B/s', unit: 'B/s' })), '2.00 MB/s', 'a rate of a field');
is(format.fieldValue(0, { name: 'x', kind: 'count' }), '0', 'zero is not unknown');
is(format.literal('a "b"', { name: 'comm', kind: 'text' }), '"a \\"b\\""', 'text in an expression is quoted');
is(format.literal('10.0.0.1', { name: 'raddr', kind: 'addr' }), '10.0.0.1', 'an address is not');
is(format.andWhere('a == 1 or b == 2', 'c == 3'), '(a == 1 or b == 2) and c == 3', 'a term joins all of a filter');
format.setZone(9 * 3600);
is(format.dateTime(0), '1970-01-01 09:00:00', 'times of a file are those of the host that wrote it');
format.setZone(null);
is(format.withUnit(0.5, '1'), '50 %', 'a share of a measure');
is(format.shell("it's"), "'it'\\''s'", 'a shell word');

const there = route.parseRoute('#/tables/sockets?where=rport%20%3D%3D%20443&rec=1');
is(there.view + there.part + there.args.where, 'tablessocketsrport == 443', 'a link is read');
is(route.formatRoute(there), '#/tables/sockets?where=rport%20%3D%3D%20443&rec=1', 'and written again');
is(route.parseRoute('#/tables/%zz').part, '%zz', 'a broken link is no error');
is(route.parseRoute('').view, '', 'no link leaves the view open');
is(route.parseRoute(route.linkTo('time', '', {}, there)).args.rec, '1', 'the recording goes along');

const rows = [{ a: 2 }, { a: null }, { a: 10 }, { a: 1 }];
is(JSON.stringify(grid.sortRows(rows, '-a').map((row) => row.a)), '[10,2,1,null]', 'sorted, unknown last');
is(JSON.stringify(grid.sortRows(rows, 'a').map((row) => row.a)), '[1,2,10,null]', 'also the other way round');
is(JSON.stringify(grid.sortRows([{ a: '10.0.0.10' }, { a: '10.0.0.9' }], 'a').map((row) => row.a)),
  '["10.0.0.9","10.0.0.10"]', 'addresses by their numbers');

is(heat.bucketOf(1500).lo, 1024, 'the bucket of a value');
const sum = heat.addUp([{ time: 0, buckets: [{ lo: 4, hi: 8, count: 3 }] },
  { time: 1, buckets: [{ lo: 4, hi: 8, count: 1 }, { lo: 2, hi: 4, count: 4 }] }]);
is(JSON.stringify(sum.map((bucket) => [bucket.lo, bucket.count])), '[[2,4],[4,4]]', 'buckets are added up in order');
is(heat.quantile(sum, 0.5), 4, 'the median of a histogram');
is(heat.quantile(sum, 1), 8, 'and its end');
const samples = tools.toSamples([{ time_ns: 1e9, lat_ns: 100 }, { time_ns: 1.5e9, lat_ns: 100 },
  { time_ns: 2e9, lat_ns: 5000 }], 'lat_ns');
is(JSON.stringify(samples.map((sample) => sample.buckets.map((bucket) => bucket.count))), '[[2],[1]]',
  'rows fall into intervals of a second');
is(tools.guessField('time_ns').kind + tools.guessField('lat_ns').kind, 'timeduration', 'a name says its kind');

is(comparison.changeText(2, 5), '× 2.50', 'a change');
is(comparison.changeText(20, 0.1), '÷ 200', 'a fall is not rounded to nothing');
const measures = (...names) => ({ from_ns: 0, step_ns: 1,
  series: names.map((name) => ({ name, title: name, unit: '/s', values: [1, 3] })) });
is(comparison.compareMeasures(measures('rx'), measures('rx', 'drop.NO_SOCKET')).map((row) => `${row.name} ${row.mean}`)
  .join(), 'rx 2,2,drop.NO_SOCKET ,2', 'what only one of two has is compared as well');
is(tools.figureFields([{ name: 'sum', kind: 'count' }, { name: 'count_rate', kind: 'count' }], { name: 'bytes',
  kind: 'bytes' }).map((field) => field.kind + (field.unit ?? '')).join(), 'bytes,ratio/s',
'sums are in the unit of what is added up');
is(comparison.changeText(0, 5), 'new', 'what was not there');
is(comparison.changeText(5, 5.1), '', 'no change');
is(comparison.meanOf([1, null, 3]), 2, 'unknown values are left out of a mean');
is(time.groupSeries([{ name: 'tx', title: 'sent' }, { name: 'odd', title: 'odd' }, { name: 'rx', title: 'received' }])
  .map((group) => group.series.map((one) => one.name).join('+')).join(' '), 'rx+tx odd',
'measures are grouped, none lost');
is(time.groupSeries([{ name: 'drop.B', title: 'B' }, { name: 'drop.A', title: 'A' }])
  .map((group) => `${group.title}: ${group.series.length}`).join(), 'Drops by reason: 2',
'reasons of drops are one plot');
is(tables.findTable([{ name: 'socket', record: 'socket', fields: [] }], 'sockets')?.name, 'socket',
  'a command names its table');

// Forty idle connections of one program are one node; the culprit is always there.
const module = (id, layer, state, below) => ({ id, layer, name: id, state, depends_on: below });
const many = Array.from({ length: 40 }, (_, i) => module(`conn:${i}`, 'socket', 'idle', ['path:p']));
const picture = graph.buildGraph({
  modules: [module('app:1', 'application', 'active', many.map((one) => one.id)), ...many,
    module('path:p', 'path', 'active', []), module('cpu:0', 'host', 'active', [])],
  findings: [{ module: 'path:p', affects: ['conn:3'] }],
  time: [{ module: 'app:1', shares: [{ share: 0.98, on: 'path:p', what: 'answer' }] }],
});
is(picture.nodes.length, 4, 'connections that are alike are one node, an affected one stands alone');
ok(picture.nodes.some((node) => node.title === '39 connections'), 'and says how many');
ok(picture.nodes.find((node) => node.id === 'path:p').culprit, 'the culprit is marked');
is(picture.edges.find((edge) => edge.from === 'app:1' && edge.to === 'path:p')?.label, '98 % answer',
  'an edge has the share of the time');
is(picture.hidden, 1, 'what is hidden is counted');
is(graph.buildGraph({ modules: [module('app:1', 'application', 'idle', []), module('cpu:0', 'host', 'active', [])],
  findings: [] }, true).nodes.length, 2, 'or shown, where all are wanted');

// main calls a three times in a loop, and b, which calls c; c is deeper than what is shown.
const C = 0, R = 1, L = 2, E = 3;
const item = (kind, from, to, depth, label, times = 1) => ({ kind, from, to, depth, label, times });
const items = [item(C, 0, 0, 0, 0), item(L, 0, 0, 1, 0, 3), item(C, 0, 1, 1, 1), item(R, 1, 0, 1, 1),
  item(E, 0, 0, 1, 0), item(C, 0, 2, 1, 2), item(C, 2, 3, 2, 3), item(R, 3, 2, 2, 3),
  item(R, 2, 0, 1, 2), item(R, 0, 0, 0, 0)];
const column = (name) => items.map((one) => one[name]);
const zeros = items.map(() => 0);
const diagram = new calls.Calls({ title: '', note: '', left_out: 0, lines: ['main', 'a', 'b', 'c'],
  labels: ['main', 'a', 'b', 'c'], kind: column('kind'), from: column('from'), to: column('to'), depth: column('depth'),
  times: column('times'), folded: zeros, start_ns: zeros, lat_ns: zeros, label: column('label') });
is(diagram.layout().rows.length, items.length, 'an unfolded diagram has all rows');
is(diagram.inside[0], 5, 'calls inside a call: those of loops count with each turn');
diagram.foldTo(2);
is(diagram.layout().rows.map((i) => diagram.words(i)).filter((text) => text.includes('b')).join(), '▸ b (+1 call)',
  'a folded call says how many it hides');
is(diagram.layout().used.join(), '0,1,2', 'lifelines of folded calls take no room');
is(diagram.find('C').join(), '6', 'a search finds what is folded');
diagram.reveal(6);
is(diagram.layout().rowOf[6], 6, 'which is unfolded then');
diagram.foldTo(1);
is(diagram.layout().rows.length, 1, 'folded to its first call');
is(diagram.words(0), '▸ main (+5 calls)', 'which counts all of them');

const boxes = { title: '', note: '', is_time: true, is_difference: false, names: ['main', 'a', 'b'],
  parent: [0, 0, 0, 1], value: [100, 60, 30, 20], before: [10, 5, 5, 0], count: [1, 2, 3, 4], name: [0, 1, 2, 2] };
const placed = flame.placeBoxes(boxes);
is(JSON.stringify([...placed.left]), '[0,0,60,0]', 'boxes lie beside each other, in their caller');
is(JSON.stringify([...placed.depth]), '[0,1,1,2]', 'and above it');
is(flame.sumFunctions(boxes, placed).map((sum) => `${sum.name} ${sum.own} ${sum.calls}`).join(),
  'b 50 7,a 40 2,main 10 1', 'time in each function itself');
is(placed.all, 100, 'all of it');

const map = { dir: 'rx', stage: 'sched', zero: true, first_ns: 1024, rows: 3, most: 1, column: [], row: [], count: [] };
is(journeys.mapRow(map, 0) + ', ' + journeys.mapRow(map, 2), '0 ns, 2.05 us to 4.10 us', 'rows of a map double');
is(JSON.stringify(report.seriesOf([{ time_ns: 1e9, v: 1 }, { time_ns: 3e9, v: 2 }], 'v')), '[1,null,2]',
  'a second without a sample is a gap');
// What a build without node and npm says.
const room = mkdtempSync(join(tmpdir(), 'nest-page-'));
process.on('exit', () => rmSync(room, { recursive: true, force: true }));
for (const name of ['bash', 'cat', 'cmp', 'dirname', 'env', 'gzip', 'mkdir', 'mv', 'rm', 'sed'])
  symlinkSync(`/usr/bin/${name}`, join(room, name));
const without = spawnSync(join(root, 'web', 'build'), [join(room, 'out')], { env: { PATH: room }, encoding: 'utf8' });
is(`${without.status} ${without.stdout}${without.stderr}`,
  '0 page: not built: missing: node npm (sudo scripts/setup page)\n', 'a build without node says so in one line');
await finish();
