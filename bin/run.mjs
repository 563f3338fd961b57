#!/usr/bin/env node
// `npm run …` on a fresh clone, or after `npm start` alone: installs what is missing, then becomes a tool (`oxfmt`) or a
// program of the checkout (`bench/main.ts`) on the pinned Node.
//
//   node bin/run.mjs [--packages FOLDER] [--pages] TOOL|FILE [ARGUMENT…]
//
// --packages: with the packages of this folder, too. --pages: with the built pages of the portal.
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { become } from './become.mjs';
import { ensureInstalled, ensurePackages, root } from './install.mjs';
import { ensurePages } from './pages.mjs';

const say = (line) => console.error(line);

/** Splits the command line into our flags, what is to run, and its own arguments. */
function readCommand([word, ...rest]) {
  if (word === '--pages') return { ...readCommand(rest), pages: true };
  if (word === '--packages') return { ...readCommand(rest.slice(1)), folder: rest[0] };
  if (word === undefined || word.startsWith('-')) throw new Error(`run.mjs: expected a tool or a file, got "${word}"`);
  return { target: word, args: rest };
}

try {
  const { target, args, folder, pages } = readCommand(process.argv.slice(2));
  const node = await ensureInstalled({ dev: true, say });
  if (folder !== undefined) await ensurePackages(join(root, folder), { dev: true, say });
  if (pages && !(await ensurePages(node, { say }))) process.exit(1);
  const tools = join(root, 'node_modules', '.bin');
  // Tools are scripts that begin with `#!/usr/bin/env node`, and start others of their kind.
  const env = { ...process.env, PATH: [tools, dirname(node), process.env.PATH].join(delimiter) };
  if (/\.m?ts$/.test(target)) become(node, [join(root, target), ...args], env);
  else if (existsSync(join(tools, target))) become(join(tools, target), args, env);
  else throw new Error(`run.mjs: there is no tool "${target}" in ${tools}`);
} catch (error) {
  say(error.message);
  process.exit(1);
}
