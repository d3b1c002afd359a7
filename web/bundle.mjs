// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles the page and the template of pages in files into DIRECTORY, and lists the licences of what went into them:
// node bundle.mjs DIRECTORY
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const LIMIT_BYTES = 250_000;
const out = process.argv[2];
const packages = join(out, 'node_modules');
const { build } = createRequire(join(out, 'package.json'))('esbuild');

const result = await build({
  entryPoints: ['src/app.tsx', 'src/export.tsx', 'src/app.css'],
  outdir: out,
  bundle: true,
  minify: true,
  metafile: true,
  format: 'iife',
  target: ['chrome100', 'firefox102', 'safari15.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  nodePaths: [packages],
  legalComments: 'none',
  logLevel: 'warning',
});

// A page with the licence of each package, and its text, which most of them ask to be kept.
const names = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found)
    names.add(found[1]);
}
const bundled = [...names].sort().map((name) => {
  const about = JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'));
  const file = readdirSync(join(packages, name)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file ? readFileSync(join(packages, name, file), 'utf8').replace(/\r/g, '').trim() : '';
  return { name, version: about.version, licence: about.license, text };
});
for (const part of bundled)
  if (!part.licence)
    throw new Error(`${part.name} names no licence`);
const list = bundled.map((part) => `${part.name} ${part.version}: ${part.licence}\n`).join('');
const texts = bundled.map((part) => `\n${part.name} ${part.version}\n\n${part.text}\n`).join('');
writeFileSync(join(out, 'licences.txt'), `Bundled in the page of nest serve:\n${list}${texts}`);

for (const name of ['index.html', 'icon.svg'])
  copyFileSync(join('src', name), join(out, name));

// A page in a file holds style and script; only this script may run in it.
const script = readFileSync(join(out, 'export.js'), 'utf8').trim();
const style = readFileSync(join(out, 'app.css'), 'utf8').trim();
if (/<\/script|<!--/i.test(script) || /<\//.test(style))
  throw new Error('export.js or app.css would end its element');
const hash = createHash('sha256').update(script).digest('base64');
const parts = { SCRIPT_HASH: `'sha256-${hash}'`, STYLE: style, SCRIPT_TEXT: script };
writeFileSync(join(out, 'export.html'), readFileSync(join('src', 'export.html'), 'utf8')
  .replace(/SCRIPT_HASH|STYLE|SCRIPT_TEXT/g, (mark) => parts[mark]));

let size = 0;
for (const name of ['index.html', 'app.js', 'app.css', 'icon.svg', 'export.html'])
  size += existsSync(join(out, name)) ? gzipSync(readFileSync(join(out, name)), { level: 9 }).length : 0;
if (size > LIMIT_BYTES)
  throw new Error(`the page has ${size} bytes compressed, more than ${LIMIT_BYTES}`);
