// SPDX-License-Identifier: GPL-2.0-or-later
// The functions behind the page, without a browser: figures, routes, sorting, distributions, the graph.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, finish, is, ok, root } from './harness.mjs';

const web = join(build, 'web');
const { build: bundle } = createRequire(join(web, 'package.json'))('esbuild');
const names = ['api', 'format', 'route', 'grid', 'heat', 'graph', 'comparison', 'tools', 'tables', 'time'];
mkdirSync(join(web, 'functions'), { recursive: true });
await bundle({
  entryPoints: names.map((name) =>
    join(root, 'web', 'src', `${name}.ts${['api', 'format', 'route'].includes(name) ? '' : 'x'}`)),
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
const [api, format, route, grid, heat, graph, comparison, tools, tables, time] = await Promise.all(names.map(load));

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
is(format.shell("it's"), "'it'\\''s'", 'a shell word');

const there = route.parseRoute('#/tables/sockets?where=rport%20%3D%3D%20443&rec=1');
is(there.view + there.part + there.args.where, 'tablessocketsrport == 443', 'a link is read');
is(route.formatRoute(there), '#/tables/sockets?where=rport%20%3D%3D%20443&rec=1', 'and written again');
is(route.parseRoute('').view, 'now', 'no link is the first view');
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
is(comparison.changeText(0, 5), 'new', 'what was not there');
is(comparison.changeText(5, 5.1), '', 'no change');
is(comparison.meanOf([1, null, 3]), 2, 'unknown values are left out of a mean');
is(time.groupSeries([{ name: 'tx', title: 'sent' }, { name: 'odd', title: 'odd' }, { name: 'rx', title: 'received' }])
  .map((group) => group.series.map((one) => one.name).join('+')).join(' '), 'rx+tx odd',
'measures are grouped, none lost');
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
await finish();
