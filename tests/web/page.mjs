// SPDX-License-Identifier: GPL-2.0-or-later
// The page in Chromium, on bundled recordings: every view, links, keys, both colours, a narrow window, accessibility.
import { accessibility, finish, is, ok, openPage, picture, serve, until } from './harness.mjs';

const server = await serve('-f', 'demo:lossy-path', '-f', 'demo:healthy');
const { origin } = server;
const page = await openPage(origin);

async function checked(name) {
  await picture(page, name);
  const faults = await accessibility(page);
  ok(faults.length === 0, `${name}: axe-core finds nothing`, ...faults);
}
const go = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
const text = (selector) => page.locator(selector).first().innerText();

// --- the session
await page.goto(server.link);
ok(await until(page, () => document.querySelector('.verdict')), 'the link that is printed shows the diagnosis');
ok(!page.url().includes('token'), 'the token leaves the address bar');
ok((await page.context().cookies()).some((cookie) => cookie.httpOnly && cookie.sameSite === 'Strict'),
  'and becomes a cookie that scripts cannot read');

// --- now
ok(/path-loss/.test(await text('.verdict h2')), 'the verdict names the cause');
ok(await page.locator('.node.culprit').count() >= 1, 'the culprit is marked in the graph');
ok(await page.locator('.finding .next code').count() >= 1, 'a finding has commands to go on with');
await checked('now');
await page.locator('.node.culprit').first().click();
ok(await until(page, () => document.querySelector('.drawer')), 'a click on a module opens it');
await page.keyboard.press('Escape');
ok(await until(page, () => !document.querySelector('.drawer')), 'Esc closes it');
await page.locator('.finding header .term').first().click();
ok(await until(page, () => /path-loss/.test(document.querySelector('.drawer')?.textContent ?? '')),
  'a cause is explained');
await page.keyboard.press('Escape');

// --- time
await page.keyboard.press('2');
ok(await until(page, () => document.querySelectorAll('.u-over').length >= 4), 'the plots are drawn');
ok(await until(page, () => document.querySelector('.lane .bar')), 'findings are bars');
await checked('time');
const plot = await page.locator('.u-over').first().boundingBox();
await page.mouse.move(plot.x + plot.width * 0.3, plot.y + 40);
await page.mouse.down();
await page.mouse.move(plot.x + plot.width * 0.7, plot.y + 50, { steps: 5 });
await page.mouse.up();
ok(await until(page, () => /from=\d+/.test(location.hash)), 'a span that is dragged is in the address');
ok(await until(page, () => document.querySelector('.span-tag')), 'and shown in the header');
await page.getByRole('button', { name: 'Compare: A' }).click();
await page.keyboard.press('-');
await page.getByRole('button', { name: 'with B' }).click();
ok(await until(page, () => document.querySelectorAll('table.plain tbody tr').length > 4), 'two spans are compared');
await picture(page, 'time-compare');

// --- tables
await go('#/tables');
ok(await until(page, () => document.querySelectorAll('.grid-row').length > 0), 'a table has rows');
ok(/state%20!%3D%20LISTEN/.test(page.url()), 'connections are the first tab, with their filter in the address');
await checked('tables');
await go('#/tables/sockets');
await until(page, () => document.querySelector('.grid-row') && !document.querySelector('.filter input').value);
const all = await page.locator('.toolbar [role=status]').innerText();
await page.keyboard.press('/');
await page.keyboard.type('rpo');
ok(await until(page, () => [...document.querySelectorAll('.offer li code')].some((one) => one.textContent === 'rport')),
  'field names are completed');
await page.keyboard.press('Tab');
await page.keyboard.type('== 5001');
await page.keyboard.press('Enter');
ok(await until(page, () => /where=rport/.test(location.hash)), 'the filter is in the address');
ok(await until(page, () => /^1 row$/.test(document.querySelector('.toolbar [role=status]').textContent)),
  'it filters', all, await page.locator('.toolbar [role=status]').innerText());
await page.locator('.grid').focus();
await page.keyboard.press('ArrowDown');
await page.keyboard.press('Enter');
ok(await until(page, () => document.querySelectorAll('.drawer .facts-table tr').length > 5), 'Enter opens a row');
await checked('drawer');
const link = page.url();
await page.keyboard.press('Escape');
const second = await page.context().newPage();
await second.goto(link);
ok(await until(second, () => document.querySelectorAll('.drawer .facts-table tr').length > 5),
  'its link opens the same row in another window');
await second.close();
await page.getByLabel('Filter expression').fill('nosuch == 1');
await page.keyboard.press('Enter');
ok(await until(page, () => /nosuch/.test(document.querySelector('.filter-error')?.textContent ?? '')),
  'a wrong expression is explained');
ok(await page.locator('.filter-error pre').count() === 1, 'with a caret under it');
await picture(page, 'filter-error');

// --- a table of 100,000 rows, made here
const many = Array.from({ length: 100000 }, (_, i) => ({ proto: 'tcp', state: 'ESTABLISHED', laddr: '10.0.0.1',
  lport: 1 + i % 65535, raddr: `10.1.${i >> 8 & 255}.${i & 255}`, rport: 443, pid: i, comm: `worker-${i % 9}`,
  cookie: i }));
await page.route('**/api/v1/tables/sockets?*', (route) => {
  const limit = Number(new URL(route.request().url()).searchParams.get('limit'));
  return route.fulfill({ json: { rows: many.slice(0, limit), total: many.length } });
});
await go('#/tables/sockets?show=pid,comm,raddr,lport&sort=pid');
ok(await until(page, () => /^100,000 rows/.test(document.querySelector('.toolbar [role=status]')?.textContent ?? '')),
  '100,000 rows are loaded');
const frames = await page.evaluate(async () => {
  const grid = document.querySelector('.grid'), times = [];
  for (let i = 0; i < 40; i++) {
    const began = performance.now();
    grid.scrollTop = i * 61234 % 2700000;
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
    times.push(performance.now() - began);
  }
  return times.sort((x, y) => x - y);
});
console.log(`# a jump in them takes ${frames[20].toFixed(0)} ms, at most ${frames[39].toFixed(0)} ms`);
ok(await page.locator('.grid-row').count() < 100, 'few are drawn at a time');
await page.locator('.grid').focus();
await page.keyboard.press('End');
ok(await until(page, () => /^99999/.test([...document.querySelectorAll('.grid-row')].at(-1)?.textContent ?? '')),
  'a key goes to the last');
const sorting = Date.now();
await page.locator('.grid-head button', { hasText: 'raddr' }).click();
ok(await until(page, () => /10\.1\.0\.0/.test(document.querySelector('.grid-row')?.textContent ?? '')),
  'they are sorted');
console.log(`# ${Date.now() - sorting} ms to sort them by address`);
await picture(page, 'tables-100000');
await page.unroute('**/api/v1/tables/sockets?*');

// --- tools
await go('#/tools');
ok(await until(page, () => document.querySelectorAll('.tool-list li').length > 100), 'tools and events are listed');
await checked('tools');

// --- side by side
await go('#/sides');
ok(await until(page, () => document.querySelectorAll('.sides .u-over').length >= 4),
  'two recordings, on the same axes');
await checked('sides');

// --- what a recording does not have
await go('#/path');
ok(await until(page, () => /has no journeys/.test(document.querySelector('.state')?.textContent ?? '')),
  'a recording without journeys says how to make one');
await checked('path-none');
await go('#/flow');
ok(await until(page, () => /No function trace/.test(document.querySelector('.state')?.textContent ?? '')),
  'a server without a function trace says how to make one');
await checked('flow-none');

// --- keys, colours, narrow windows
await page.keyboard.press('?');
ok(await until(page, () => /Keys/.test(document.querySelector('.drawer h2')?.textContent ?? '')), '? shows the keys');
await page.keyboard.press('Escape');
for (const [width, height] of [[1024, 768], [1920, 1080], [390, 844]]) {
  await page.setViewportSize({ width, height });
  for (const view of ['now', 'time', 'tables', 'tools', 'sides']) {
    await go(`#/${view}`);
    await until(page, () => !document.querySelector('.spinner'), 10000);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    ok(wide <= 0, `${view} fits ${width} pixels`, `${wide} too wide`);
    if (width !== 1920)
      await picture(page, `${view}-${width}`);
  }
}
await page.setViewportSize({ width: 1280, height: 900 });
await page.emulateMedia({ colorScheme: 'dark' });
for (const view of ['now', 'time', 'tables', 'tools', 'sides']) {
  await go(`#/${view}`);
  await until(page, () => !document.querySelector('.spinner'), 10000);
  await checked(`${view}-dark`);
}
await page.emulateMedia({ media: 'print', colorScheme: 'light' });
await go('#/now');
await until(page, () => document.querySelector('.verdict'));
is(await page.evaluate(() => getComputedStyle(document.querySelector('.top')).display), 'none',
  'a print has the findings, not the header');
await picture(page, 'now-print');
await page.emulateMedia({ media: 'screen' });
const foreign = page.faults.filter((fault) => !/status of 400/.test(fault));
ok(foreign.length === 0, 'no console error, no request to another host', ...foreign);

// --- without the server
await go('#/tables');
await server.stop();
await page.reload().catch(() => undefined);
const alone = await openPage(origin);
const again = await serve('-f', 'demo:healthy');
await alone.goto(again.origin);
ok(await until(alone, () => document.querySelector('.sign-in')), 'without a token the page asks for it');
await alone.getByLabel('Link or token').fill(again.link);
await alone.getByRole('button', { name: 'Open' }).click();
ok(await until(alone, () => document.querySelector('.verdict')), 'and takes the link');
is(await alone.locator('.verdict h2').innerText(), 'No bottleneck found', 'a healthy host has no finding');
const third = await openPage(again.origin);
await third.goto(again.origin);
await until(third, () => document.querySelector('.sign-in'));
await third.goto(again.link);
ok(await until(third, () => document.querySelector('.verdict')), 'the link also works in a window that asks for it');
await again.stop();
await alone.evaluate(() => { location.hash = '#/tables'; });
ok(await until(alone, () => /Disconnected/.test(document.body.textContent)), 'a server that is gone is reported');
await picture(alone, 'disconnected');
await finish();
