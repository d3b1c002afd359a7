// SPDX-License-Identifier: GPL-2.0-or-later
// Called by live.t with a namespace and the process in it that stops reading on SIGUSR1.
import { accessibility, finish, is, ok, openPage, picture, serve, until } from './harness.mjs';

const [netns, load, saved] = process.argv.slice(2);
const server = await serve('-N', netns, '--save-in', saved);
const page = await openPage(server.origin);
await page.goto(server.link);
ok(await until(page, () => /No bottleneck found/.test(document.querySelector('.verdict')?.textContent ?? ''), 30000),
  'a healthy host has no finding');
process.kill(Number(load), 'SIGUSR1');
const began = Date.now();
ok(await until(page, () => /app-not-reading/.test(document.querySelector('.verdict')?.textContent ?? ''), 60000),
  'the verdict appears by itself');
console.log(`# ${((Date.now() - began) / 1000).toFixed(1)} s after the reader stopped`);
const mark = () => page.evaluate(() => {
  const box = document.querySelector('.node.culprit rect');
  return box && getComputedStyle(box).strokeWidth;
});
is(await mark(), '2.5px', 'the culprit is marked');
await picture(page, 'live-now');
const faults = await accessibility(page);
ok(faults.length === 0, 'axe-core finds nothing', ...faults);
await page.locator('.finding .next a', { hasText: 'Open' }).first().click();
ok(await until(page, () => [...document.querySelectorAll('.grid-row')].some((row) => /7001/.test(row.textContent))),
  'it leads to the connection');
await picture(page, 'live-tables');
await page.locator('.grid-row', { hasText: 'ESTABLISHED' }).first().click();
ok(await until(page, () => document.querySelectorAll('.drawer .u-over').length >= 2, 30000),
  'whose figures are plotted as they come');
await picture(page, 'live-drawer');
await page.keyboard.press('Escape');
await page.evaluate(() => { location.hash = '#/tools/tcplife'; });
await page.getByRole('button', { name: 'Start' }).click();
ok(await until(page, () => document.querySelectorAll('.runner .grid-row').length >= 2, 60000), 'a tool shows its rows');
ok(await page.locator('.histogram tr').count() >= 1, 'with their distribution');
await picture(page, 'live-tool');
await page.getByRole('button', { name: 'Save as recording' }).click();
ok(await until(page, () => /recording to .*-tcplife-/.test(document.querySelector('.saved')?.textContent ?? ''), 30000),
  'which can be recorded');
// Whole connections: begun and ended while it records.
const rows = await page.locator('.toolbar [role=status]').first().innerText();
await until(page, (count) => parseInt(document.querySelector('.toolbar [role=status]').textContent, 10) > count, 60000,
  parseInt(rows, 10) + 8);
await page.getByRole('button', { name: 'End recording' }).click();
ok(await until(page, () => /saved: .*\.nest/.test(document.querySelector('.saved')?.textContent ?? ''), 30000),
  'until it is ended');
await picture(page, 'live-saved');
await page.getByRole('button', { name: 'Stop' }).click();
await page.evaluate(() => { location.hash = '#/path'; });
await page.getByRole('button', { name: 'Start' }).click();
ok(await until(page, () => document.querySelectorAll('.journey-list button').length > 0, 60000),
  'packets are followed as they come');
const first = await page.locator('.runner .toolbar [role=status]').first().innerText();
ok(await until(page, (before) => [...document.querySelectorAll('.runner .toolbar [role=status]')]
  .some((one) => one.textContent !== before), 20000, first), 'and the picture moves on');
await picture(page, 'live-path');
const pathFaults = await accessibility(page);
ok(pathFaults.length === 0, 'axe-core finds nothing in it', ...pathFaults);
await page.getByRole('button', { name: 'Stop' }).click();
await page.evaluate(() => { location.hash = '#/time'; });
ok(await until(page, () => document.querySelector('.lane .bar') && document.querySelectorAll('.u-over').length >= 4),
  'the finding is on the time line');
await picture(page, 'live-time');
ok(page.faults.length === 0, 'no console error, no request to another host', ...page.faults);
await server.stop();

// What was saved is a recording, with a view of its tool.
const { readdirSync } = await import('node:fs');
const files = readdirSync(saved).filter((name) => name.endsWith('.nest'));
is(files.length, 1, 'the recording is there');
const again = await serve('-f', `${saved}/${files[0]}`);
const past = await openPage(again.origin);
await past.goto(again.link);
ok(await until(past, () => document.querySelectorAll('.tool-list li').length > 100), 'and opens with the tools');
await past.evaluate(() => { location.hash = '#/tools/tcplife'; });
await past.getByRole('button', { name: 'Start' }).click();
ok(await until(past, () => document.querySelectorAll('.runner .grid-row').length >= 2, 30000), 'its rows are in it');
await picture(past, 'saved-tool');
await again.stop();
await finish();
