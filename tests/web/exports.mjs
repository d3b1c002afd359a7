// SPDX-License-Identifier: GPL-2.0-or-later
// The pages that path, flow and report write, opened from the disk as they are; then the views Path and Flow of the
// page on the same recording and trace.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { accessibility, build, finish, is, ok, openPage, picture, root, serve, until } from './harness.mjs';

const room = mkdtempSync(join(tmpdir(), 'nest-exports-'));
process.on('exit', () => rmSync(room, { recursive: true, force: true }));
const file = (name) => join(room, name);
const nest = (...args) => execFileSync(join(build, 'nest'), args, { stdio: ['ignore', 'pipe', 'ignore'] });

writeFileSync(file('path.nest'), gunzipSync(readFileSync(join(root, 'tests/golden/input/path.nest.gz'))));
for (const [name, ...args] of [['small', 'event', '--slow', '5', '--honest', '3'],
  ['normal', 'event', '--seed', '2']]) {
  writeFileSync(file(`${name}.txt`), execFileSync(join(root, 'tests/golden/input/flow-model'), args));
  nest('flow', 'import', file(`${name}.txt`), '-o', file(`${name}.trace`));
}
// One session of 100,000 calls in an order that has no loops in it.
let now = 10, seed = 1;
const lines = ['thread 1 pid=1 tid=1 name=x', '1 1 call main'];
for (let i = 0; i < 50000; i++, now += 10) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  lines.push(`1 ${now} call step_${seed % 97}`, `1 ${now + 2} call inner_${i % 7}`, `1 ${now + 4} return`,
    `1 ${now + 6} return`);
}
writeFileSync(file('large.txt'), `${lines.join('\n')}\n1 ${now} return\n`);
nest('flow', 'import', file('large.txt'), '-o', file('large.trace'));

nest('path', '-f', file('path.nest'), '--html', file('path.html'));
nest('path', '-f', file('path.nest'), '--where', 'total > 1s', '--html', file('empty.html'));
nest('path', '-f', file('path.nest'), '--where', 'comm ~ "*script*"', '--html', file('hostile.html'),
  '--svg', file('hostile.svg'));
nest('flow', 'diagram', file('small.trace'), '--divergence', '-F', 'html', '-o', file('sequence.html'));
nest('flow', 'diagram', file('small.trace'), '--divergence', '-F', 'html', '--depth', '1', '-o', file('shallow.html'));
nest('flow', 'diagram', file('large.trace'), '--by', 'thread', '--max-lines', '200', '-F', 'html', '-o',
  file('large.html'));
nest('flow', 'diagram', file('small.trace'), '--divergence', '--flame', '-F', 'html', '-o', file('flame.html'));
nest('report', 'demo:lossy-path', '--html', file('report.html'));

// The browser lives elsewhere: times are those of the host that wrote the file.
const page = await openPage('file://', { timezoneId: 'Asia/Tokyo' });
async function open(name) {
  await page.goto(`file://${file(`${name}.html`)}`);
  await until(page, () => document.querySelector('main.export'));
}
async function checked(name) {
  await picture(page, name);
  const faults = await accessibility(page);
  ok(faults.length === 0, `${name}: axe-core finds nothing`, ...faults);
}
const text = (selector) => page.locator(selector).first().innerText();
const all = (selector) => page.locator(selector).allInnerTexts();

// --- path
await open('path');
is(await page.locator('.journey-list button').count(), 10, 'the slowest journeys');
is(await text('.waterfall .culprit-words'), 'reader waited 4.61 ms for a CPU: 3 runnable tasks ahead',
  'the first as a waterfall, with its longest stage in words');
const bars = await page.evaluate(() => {
  const way = document.querySelector('.way').getBoundingClientRect();
  const list = [...document.querySelectorAll('.way-bar')].map((bar) => bar.getBoundingClientRect());
  return [list.every((bar) => bar.left >= way.left - 1), way.width > 300, list[4].width > 0.95 * way.width].join();
});
is(bars, 'true,true,true', 'bars lie where the time went');
await page.locator('.journey-list button').nth(3).click();
is(await text('.waterfall tr.widest th'), 'qdisc', 'a click shows another journey');
await page.keyboard.press('ArrowRight');
is(await page.locator('.journey-list button').nth(4).getAttribute('aria-pressed'), 'true', 'so does a key');
ok(await page.evaluate(() => document.activeElement === document.querySelectorAll('.journey-list button')[4]),
  'which takes the focus along');
const drawn = await page.evaluate(() => [...document.querySelectorAll('.stage-map canvas')].map((canvas) =>
  canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((v, i) => i % 4 === 3 && v > 0)));
is(`${drawn.length} ${drawn.every((is) => is)}`, '13 true', 'a map with something in it for each stage');
is(await page.locator('.stage-group').count(), 2, 'a table for each direction');
ok((await all('.stage-group tr')).some((row) => /^irq\s+not visible/.test(row)),
  'what could not be seen is not a zero');
is((await all('.stage-group tr.widest td:nth-child(8)')).join(), '100 %,100 %', 'the stage behind the tail, its share');
is(await text('.note'), '240 journeys from 2026-11-15 02:13:07 to 02:13:12 +0000; 3 were lost',
  'what was seen, and lost');
is(await text('.stage-map-axis span'), '02:13:06.993', 'on the clock of the host');
await checked('export-path');
await open('empty');
ok(/No journeys.*0 journeys; where .total .* 1s/s.test(await text('.state')), 'a page without journeys says so');
await open('hostile');
ok((await text('.waterfall p')).includes('</script>'), 'a name cannot end the script');
is(await page.evaluate(() => document.scripts.length), 2, 'nor begin one');
await page.setContent(readFileSync(file('hostile.svg'), 'utf8'));
ok(await page.locator('rect').count() > 20, 'the picture draws');
is(await page.locator('script').count(), 0, 'and a name is only text in it');

// --- sequence diagram
const rowsOf = async () => Number((await text('.sequence .rows')).replace(/,/g, '').split(' ')[0]);
await open('sequence');
ok(await page.locator('.sequence-row').count() > 10, 'the session is drawn');
ok(/^session \d+/.test(await page.title()), 'and named');
ok(await until(page, () => {
  const box = document.querySelector('.box-name')?.getBoundingClientRect();
  const view = document.querySelector('.sequence-scroll').getBoundingClientRect();
  return box && box.top > view.top && box.bottom < view.bottom;
}), 'where it differs is in view');
await checked('export-sequence');
const before = await rowsOf();
await page.getByRole('button', { name: 'Fold all', exact: true }).click();
ok(await rowsOf() < before / 3, 'folded');
const sum = (await page.locator('.sequence-row text:not(.box-name, .loop-name, .gap-name)').allTextContents())
  .filter((words) => words.trim()).reduce((n, words) => n + 1 + Number(/\+(\d+) call/.exec(words)?.[1] ?? 0), 0);
is(sum, Number(/(\d+) calls/.exec(await page.title())[1]),
  'folded calls are counted: all together those of the session');
const few = await page.locator('.sequence-heads rect').count();
await page.getByLabel('Search a function').fill('read_more');
ok(await until(page, () => /^1 of \d+$/.test(document.querySelector('.hits').textContent)),
  'a search finds a function');
ok(await until(page, () => {
  const now = document.querySelector('.sequence-row.now')?.getBoundingClientRect();
  const view = document.querySelector('.sequence-scroll').getBoundingClientRect();
  return now && now.top >= view.top && now.bottom <= view.bottom;
}), 'and goes to it, also when it was folded away');
await page.getByRole('button', { name: 'Unfold all' }).click();
is(await rowsOf(), before, 'unfolded again');
ok(few < await page.locator('.sequence-heads rect').count() / 2, 'lifelines of folded calls had taken no room');
await page.locator('.sequence-scroll').focus();
await page.keyboard.press('Home');
await page.keyboard.press('Enter');
ok(await until(page, () => document.querySelector('.sequence-row.now text')?.textContent.startsWith('▸')),
  'Enter folds a call');
const height = await page.locator('.sequence-space').evaluate((element) => element.offsetHeight);
await page.getByRole('button', { name: 'Zoom in' }).click();
ok(await page.locator('.sequence-space').evaluate((element) => element.offsetHeight) > height, 'zoom');
await open('shallow');
await page.getByLabel('Search a function').fill('read_more');
ok(await until(page, () => document.querySelector('.hits').textContent === 'no hit (not all calls are included)'),
  'a search does not deny what is not in the file');
await open('large');
const began = Date.now();
await page.getByRole('button', { name: 'Unfold all' }).click();
ok(await rowsOf() > 100000, '100,000 calls are all there');
await page.locator('.sequence-scroll').evaluate((element) => { element.scrollTop = 1e6; });
await page.getByLabel('Search a function').fill('inner_3');
ok(await until(page, () => /^1 of 7,14\d$/.test(document.querySelector('.hits').textContent)), 'all are searched');
ok(await page.locator('.sequence-row').count() < 200, 'few are drawn at a time');
console.log(`# ${Date.now() - began} ms to unfold, scroll and search`);

// --- flame graph
await open('flame');
ok(Number(/(\d+) boxes/.exec(await text('.flame .hits'))[1]) > 5, 'the flame graph draws');
await page.getByLabel('Search a function').fill('recv');
ok(await until(page, () => /^[2-9] hits/.test(document.querySelector('.flame .hits').textContent)), 'and searches');
is((await all('.flame tbody th'))[0], 'recv', 'the function that differs most is first in the table');
await checked('export-flame');

// --- report
await open('report');
ok(/path-loss/.test(await text('.finding')), 'a report has its findings');
ok(await until(page, () => document.querySelectorAll('.report-plot .u-over').length === 2), 'plots of what happened');
ok(/None in this time: retransmitted segments, drops/.test(await text('.report')), 'a plot of nothing is a sentence');
ok(/09:52:2\d to 2026-11-15 09:52:4/.test(await text('.report-head')), 'on the clock of the host');
await checked('export-report');
await page.emulateMedia({ colorScheme: 'dark' });
for (const name of ['path', 'sequence', 'flame', 'report']) {
  await open(name);
  await checked(`export-${name}-dark`);
}
for (const name of ['path', 'sequence', 'flame', 'report']) {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  ok(wide <= 0, `${name} fits 390 pixels`, `${wide} too wide`);
  await picture(page, `export-${name}-390`);
}
ok(page.faults.length === 0, 'no error, nothing fetched', ...page.faults);

// --- the same in the page of nest serve
const server = await serve('-f', file('path.nest'), '-f', file('small.trace'), '-f', file('normal.trace'));
const view = await openPage(server.origin);
const go = (hash) => view.evaluate((to) => { location.hash = to; }, hash);
const loaded = () => until(view, () => !document.querySelector('.spinner'));
const shows = (selector, pattern) => until(view, ([where, what]) =>
  [...document.querySelectorAll(where)].some((one) => new RegExp(what).test(one.textContent)), 20000,
[selector, pattern.source]);
async function viewed(name) {
  await picture(view, name);
  const faults = await accessibility(view);
  ok(faults.length === 0, `${name}: axe-core finds nothing`, ...faults);
}
await view.goto(server.link);
ok(await until(view, () => document.querySelector('.journey-list')), 'a recording of journeys opens with them');
is(await view.locator('.views a').count(), 4, 'and has no view of what was not recorded');
is(await view.locator('.waterfall .culprit-words').innerText(),
  'reader waited 4.61 ms for a CPU: 3 runnable tasks ahead', 'as in the file');
await view.locator('.journey-list button').nth(3).click();
ok(/journey=3/.test(view.url()), 'the journey is in the address');
await viewed('path');
await view.getByLabel('direction').selectOption('tx');
ok(await shows('.note', /120 journeys .*dir == tx/), 'one direction');
await view.getByLabel('Filter expression').fill('nonsense == 1');
await view.keyboard.press('Enter');
ok(await shows('.failed', /unknown field .nonsense/), 'a wrong filter is explained');
await go('#/flow');
ok(await shows('.grid-row', /40018/), 'sessions');
ok(await until(view, () => document.querySelectorAll('.flow tbody tr').length === 3), 'and their classes');
await viewed('flow-sessions');
await view.locator('.flow tbody button.value').nth(1).click();
ok(await shows('[role=status]', /^5 sessions/), 'the sessions of a class');
await view.locator('.grid-row').first().click();
ok(await until(view, () => /row=10/.test(location.hash)), 'an open session is in the address');
await view.getByRole('link', { name: 'Sequence diagram' }).last().click();
ok(await shows('.flow h2', /^session 10 of/), 'leads to its diagram');
await view.getByRole('button', { name: /An outlier/ }).click();
ok(await until(view, () => document.querySelector('.box-name')), 'an outlier, and where it differs');
await viewed('flow-diagram');
await go('#/flow/flame?divergence=1');
ok(await shows('.flame tbody th', /^recv/), 'a differential flame graph');
await viewed('flow-flame');
await go('#/flow/compare');
ok(await shows('.verdict h2', /process_headers is called in 5 of 5 bad/), 'outliers are found, and what they do');
await viewed('flow-compare');
await view.getByLabel('with trace').selectOption({ label: 'normal.trace' });
ok(await shows('.verdict .quiet', /48 good .*sessions/), 'two traces are compared');
await go('#/flow/compare?bad=nonsense');
ok(await shows('.state', /nonsense/), 'a wrong expression is explained');
await view.emulateMedia({ colorScheme: 'dark' });
for (const [name, hash] of [['path', '#/path'], ['flow-sessions', '#/flow'],
  ['flow-diagram', '#/flow/diagram?divergence=1'], ['flow-flame', '#/flow/flame'],
  ['flow-compare', '#/flow/compare']]) {
  await go(hash);
  await loaded();
  await viewed(`${name}-dark`);
}
await view.emulateMedia({ colorScheme: 'light' });
for (const width of [390, 1024]) {
  await view.setViewportSize({ width, height: 844 });
  for (const [name, hash] of [['path', '#/path'], ['flow', '#/flow'], ['diagram', '#/flow/diagram'],
    ['flame', '#/flow/flame'], ['compare', '#/flow/compare']]) {
    await go(hash);
    await loaded();
    const wide = await view.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    ok(wide <= 0, `${name} fits ${width} pixels`, `${wide} too wide`);
    await picture(view, `${name}-${width}`);
  }
}
const foreign = view.faults.filter((fault) => !/status of 400/.test(fault));
ok(foreign.length === 0, 'no console error, no request to another host', ...foreign);
await server.stop();

// A function trace alone.
const alone = await serve('-f', file('small.trace'));
await view.setViewportSize({ width: 1280, height: 900 });
await view.goto(alone.link);
ok(await shows('.views a', /^Flow$/), 'a trace alone has one view');
ok(await shows('.grid-row', /40018/), 'which is shown');
await alone.stop();
await finish();
