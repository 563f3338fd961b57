#!/usr/bin/env node
// `npm run mutants`: installs Stryker beside this file, then runs main.ts on the pinned Node. Stryker is not a dependency of the root,
// because its 177 packages would be a third of what `npm ci` installs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureInstalled, ensurePackages, root } from '../../bin/install.mjs';

const node = await ensureInstalled({ dev: true });
await ensurePackages(join(import.meta.dirname, 'stryker'), { dev: false, say: (line) => console.error(line) });
const main = join(import.meta.dirname, 'main.ts');
const child = spawn(node, [main, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
// Stryker removes its copy of the code before it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.once('exit', (code) => (process.exitCode = code ?? 1));
