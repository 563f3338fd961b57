#!/usr/bin/env node
// `weir …` from a checkout: makes sure that the dependencies are there, then becomes the pinned Node running
// src/main.ts. Plain JavaScript, because it runs before anything is installed, on any Node from 18 on.
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { become } from './become.mjs';
import { ensureInstalled, root } from './install.mjs';
import { ensurePages } from './pages.mjs';

const main = join(root, 'src', 'main.ts');
/** `kubectl weir …` runs the second one, if the folder is on PATH. */
const commands = ['weir', 'kubectl-weir'];

/** npm links the binaries of dependencies but not the package's own; with these links `npx weir` starts at once. */
function linkCommands() {
  for (const name of commands) {
    const command = join(root, 'node_modules', '.bin', name);
    if (existsSync(command)) continue;
    try {
      symlinkSync(join('..', '..', 'bin', 'weir.mjs'), command);
    } catch {
      // Another start was first, or node_modules is read-only: npx then finds its own, slower way.
    }
  }
}

/** Node keeps the stripped and compiled sources here, which halves the time to the first line of our code. */
function compileCache() {
  const folder = join(root, 'node_modules', '.cache', 'weir-compiled');
  try {
    mkdirSync(folder, { recursive: true });
    return { NODE_COMPILE_CACHE: folder };
  } catch {
    return {};
  }
}

try {
  const node = await ensureInstalled();
  linkCommands();
  // `weir start` builds them beside the gateway.
  if (process.argv[2] === 'portal') await ensurePages(node);
  become(node, [main, ...process.argv.slice(2)], { ...compileCache(), ...process.env });
} catch (error) {
  console.error(`weir: ${error.message}`);
  process.exit(1);
}
