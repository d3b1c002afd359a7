// SPDX-License-Identifier: GPL-2.0-or-later
// Called by fleet.t with the URL of a ClickHouse and its process: the fleet, a host, a span, every state of the view.
import { accessibility, finish, is, ok, openPage, picture, serve, until } from './harness.mjs';

const [fleet, clickhouse] = process.argv.slice(2);
const server = await serve('--fleet', fleet);
const { origin } = server;
const page = await openPage(origin);
const go = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
const text = (selector) => page.locator(selector).first().innerText();
const card = (title) => page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) });
async function checked(name) {
  await picture(page, name);
  const faults = await accessibility(page);
  ok(faults.length === 0, `${name}: axe-core finds nothing`, ...faults);
}

// --- loading, then the fleet
let release;
const held = new Promise((resolve) => { release = resolve; });
await page.route('**/api/v1/fleet*', async (route) => {
  await held;
  return route.continue();
});
await page.goto(server.link);
ok(await until(page, () => /Loading the fleet/.test(document.querySelector('.state')?.textContent ?? '')),
  'the page of a fleet begins with it, and says that it loads');
await checked('fleet-loading');
release();
ok(await until(page, () => document.querySelector('.verdict')), 'the fleet is shown');
await page.unroute('**/api/v1/fleet*');
ok(/^10\.77\.2\.2: 3 of 4 hosts/.test(await text('.verdict h2')), 'an address that three of four hosts accuse',
  await text('.verdict h2'));
ok(/10\.77\.3\.3: 2 of 4/.test(await text('.verdict ul')), 'and the other one', await text('.verdict'));
ok(/7 hosts, 6 with findings/.test(await text('.verdict')), 'how many hosts have findings', await text('.verdict'));
is(await card('Addresses accused').locator('tbody tr').first().locator('td').nth(1).innerText(), '3 of 4',
  'accusers of those that talk to it');
ok(/^5432\s+2\s+1\s+peer-slow/.test(await card('Service ports accused').locator('tbody tr').first().innerText()),
  'the service that they accuse', await card('Service ports accused').innerText());
is(await card('Hosts with findings').locator('tbody tr').count(), 6, 'every host with findings has a row');
ok(await page.locator('.u-over').count() === 1, 'hosts with findings are plotted over time');
ok(!(await page.content()).includes('secret-of-nest'), 'the password is not on the page');
await checked('fleet');

// --- a host
await card('Hosts with findings').getByRole('link', { name: 'db1' }).click();
ok(await until(page, () => /app-not-reading/.test(document.querySelector('.finding')?.textContent ?? '')),
  'a click on a host opens its findings');
ok(/#\/fleet\/db1/.test(page.url()), 'its name is in the address');
ok(!/path-loss/.test(await text('.fleet')), 'those of other hosts are not there');
await checked('fleet-host');
await page.getByRole('link', { name: 'All hosts' }).click();
ok(await until(page, () => /10\.77\.2\.2/.test(document.querySelector('.verdict')?.textContent ?? '')), 'and back');

// --- time
await page.getByRole('button', { name: '15m' }).click();
ok(await until(page, () => /last=15m/.test(location.hash) && !/db1/.test(document.querySelector('.fleet').textContent)
  && document.querySelector('.verdict')), 'a shorter time has fewer hosts');
await page.getByRole('button', { name: '1h', exact: true }).click();
await until(page, () => /db1/.test(document.querySelector('.fleet').textContent));
const plot = await page.locator('.u-over').boundingBox();
await page.mouse.move(plot.x + 2, plot.y + 40);
await page.mouse.down();
await page.mouse.move(plot.x + plot.width * 0.6, plot.y + 50, { steps: 5 });
await page.mouse.up();
ok(await until(page, () => /from=\d+/.test(location.hash) && !/10\.77\.3\.3/.test(
  document.querySelector('.verdict')?.textContent ?? '10.77.3.3')), 'a span that is dragged selects its rows');
await page.getByRole('button', { name: 'Show the whole time' }).click();
ok(await until(page, () => /10\.77\.3\.3/.test(document.querySelector('.verdict')?.textContent ?? '')),
  'and the whole time is back');

// --- nothing, and nobody who answers
await go('#/fleet/nosuch');
ok(await until(page, () => /No rows in this time/.test(document.querySelector('.state')?.textContent ?? '')),
  'a host without rows is said to have none');
await checked('fleet-empty');
const hostile = await page.request.get(`${origin}/api/v1/fleet?host=${encodeURIComponent("x' OR host != '")}`);
is((await hostile.json()).hosts_seen, 0, 'the name of a host is a text for the server, whatever is in it');
is((await page.request.get(`${origin}/api/v1/fleet?from=yesterday`)).status(), 400, 'a wrong time is refused');
is((await page.request.get(`${origin}/api/v1/fleet?from=20&to=10`)).status(), 400,
  'and a span that ends before it begins');
await go('#/fleet');
await until(page, () => document.querySelector('.verdict'));
is(page.faults.length, 0, 'no error and no request to another host');
process.kill(Number(clickhouse), 'SIGKILL');
await page.getByRole('button', { name: 'Refresh' }).click();
ok(await until(page, () => /connect to server\. What is shown is from/.test(
  document.querySelector('.banner[role=alert]')?.textContent ?? '')), 'a server that does not answer is reported',
  await text('.fleet'));
ok(!(await page.content()).includes('secret-of-nest'), 'without the password');
ok(await page.locator('.verdict').count() === 1, 'what was loaded before stays');
await checked('fleet-stale');
await go('#/fleet/web1');
ok(await until(page, () => /Request failed/.test(document.querySelector('.state.failed')?.textContent ?? '')),
  'and where nothing was loaded before, with a button to try again');
await checked('fleet-failed');

// --- narrow and dark
const narrow = await openPage(origin, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
await narrow.route('**/api/v1/fleet*', async (route) => route.fulfill({ json: {
  schema: 'nest.fleet-report/1', from_ns: 1.79e18, to_ns: 1.79e18 + 3.6e12, step_ns: 6e10, hosts_seen: 3,
  hosts_with_findings: 0, host: null, conclusions: [], causes: [], timeline: [], findings: null, accused: [],
  accused_services: [], lossy: [], alone: [], hosts: [], services: [], paths: [], retransmits: [], drops: [],
  losses: null } }));
await narrow.goto(server.link);
ok(await until(narrow, () => /No findings/.test(document.querySelector('.verdict.healthy')?.textContent ?? '')),
  'a fleet without findings is healthy');
is(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true,
  'nothing is wider than a phone');
await picture(narrow, 'fleet-narrow');
await server.stop();
await finish();
