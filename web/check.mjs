// SPDX-License-Identifier: GPL-2.0-or-later
// Checks the types of the page: node check.mjs DIRECTORY (the one that web/build built in)
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const out = resolve(process.argv[2]);
const config = join(out, 'tsconfig.json');
const source = resolve('src');
writeFileSync(config, JSON.stringify({
  compilerOptions: {
    target: 'ES2022', module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM', 'DOM.Iterable'],
    jsx: 'react-jsx', jsxImportSource: 'preact', types: [], skipLibCheck: true, noEmit: true,
    strict: true, noUnusedLocals: true, noUnusedParameters: true, noImplicitReturns: true,
    noFallthroughCasesInSwitch: true,
    paths: { '*': [join(out, 'check', 'node_modules', '@types', '*'), join(out, 'node_modules', '*')] },
  },
  include: [join(source, '**', '*')],
}));
const tsc = join(out, 'check', 'node_modules', 'typescript', 'bin', 'tsc');
process.exit(spawnSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' }).status ?? 1);
