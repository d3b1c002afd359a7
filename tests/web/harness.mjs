// SPDX-License-Identifier: GPL-2.0-or-later
// What the tests of the page share: TAP, nest serve as a process, and a browser that notes everything that goes wrong.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const build = process.env.NEST_BUILD ?? join(root, 'build');
export const pictures = join(build, 'web', 'pictures');
const require = createRequire(join(build, 'web', 'check', 'package.json'));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

let number = 0, failed = 0;

export function ok(is, name, ...notes) {
  number++;
  if (!is)
    failed++;
  console.log(`${is ? 'ok' : 'not ok'} ${number} - ${name}`);
  if (!is)
    for (const note of notes)
      console.log(String(note).replace(/^/gm, '# '));
  return !!is;
}

export function is(got, want, name) {
  return ok(got === want, name, `got  ${got}`, `want ${want}`);
}

// nest serve with these arguments, until stop() is called: its address, and the address with the token.
export async function serve(...args) {
  const server = spawn(join(build, 'nest'), ['serve', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  // However the test ends.
  process.on('exit', () => server.kill('SIGINT'));
  server.stderr.on('data', (piece) => { errors += piece; });
  const line = await new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (piece) => {
      text += piece;
      if (text.includes('\n'))
        resolve(text.split('\n')[0]);
    });
    server.on('exit', (code) => reject(new Error(`nest serve ended with ${code}: ${errors}`)));
  });
  const stop = () => new Promise((resolve) => {
    server.on('exit', resolve);
    server.kill('SIGINT');
  });
  return { link: line.trim(), origin: new URL(line.trim()).origin, stop };
}

let browser = null;

// A page whose console errors, failed requests and requests to other hosts are kept in .faults.
export async function openPage(origin, options = {}) {
  const { chromium } = require('playwright-core');
  browser ??= await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:') && !url.startsWith('data:'))
      faults.push(`request to another host: ${url}`);
  });
  page.faults = faults;
  return page;
}

// Waits until the function is true of the page; false after the limit. arg: what the function is given.
export async function until(page, condition, limit = 20000, arg = null) {
  try {
    await page.waitForFunction(condition, arg, { timeout: limit });
    return true;
  } catch {
    return false;
  }
}

// Faults that axe-core finds, one line each.
export async function accessibility(page) {
  // The page forbids scripts of others: this one comes in through the debugger.
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  return page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return result.violations.map((fault) =>
      `${fault.id}: ${fault.help}: ${fault.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
}

export async function picture(page, name) {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

export async function finish() {
  await browser?.close();
  console.log(`1..${number}`);
  process.exit(failed ? 1 : 0);
}
