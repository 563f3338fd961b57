// The pages of the portal are built from portal/ into portal/dist, once for each state of their sources. Plain JavaScript on any
// Node, as install.mjs.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { alone, ensurePackages, root } from './install.mjs';

const folder = join(root, 'portal');
/** Pages of it are rendered into the portal. */
const docs = join(root, 'docs');
const dist = join(folder, 'dist');
/** Written when a build has come to its end, with the hash of what it was made of. */
const stamp = join(dist, 'sources.sha256');

/**
 * Builds the pages when their sources have changed since, and installs what that takes. Resolves to whether they are there: what went
 * wrong is said, and the gateway works without them. `dev: true` installs the types for the checks too.
 *
 * @param {string} node
 * @param {{ dev?: boolean, say?: (line: string) => void }} [options]
 * @returns {Promise<boolean>}
 */
export async function ensurePages(node, { dev = false, say = (line) => console.error(line) } = {}) {
  if (!existsSync(join(folder, 'package.json'))) return existsSync(stamp); // An image has the built pages alone.
  try {
    if (dev) await ensurePackages(folder, { dev, say });
    const wanted = hashOfSources();
    if (readStamp() === wanted) return true;
    await ensurePackages(folder, { dev, say });
    await alone('pages.lock', say, async () => {
      if (readStamp() !== wanted) await build(node, wanted, say);
    });
    return true;
  } catch (error) {
    say(`The pages of the portal could not be built (${error.message}); its API works without them.`);
    return false;
  }
}

function readStamp() {
  try {
    return readFileSync(stamp, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Over the names and contents of everything that a build reads but its packages, which the lock file stands for. */
function hashOfSources() {
  const hash = createHash('sha256');
  for (const path of [...filesBelow(folder), ...filesBelow(docs)].sort((one, other) => (one < other ? -1 : 1))) {
    hash
      .update(`${relative(folder, path)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex');
}

function* filesBelow(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (path === dist || entry.name === 'node_modules' || path === join(folder, 'test')) continue;
    if (path.startsWith(docs) && entry.isFile() && !entry.name.endsWith('.md')) continue;
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

async function build(node, wanted, say) {
  const started = Date.now();
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  // Whatever starts the build: React for tests, which NODE_ENV=test would choose, is twice as large.
  const env = { ...process.env, NODE_ENV: 'production' };
  const child = spawn(node, [vite, 'build', '--logLevel', 'error'], { cwd: folder, stdio: ['ignore', 2, 2], env });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`vite build ended with ${code}`);
  writeFileSync(stamp, `${wanted}\n`);
  say(`Pages of the portal built in ${Math.round((Date.now() - started) / 1000)} s.`);
}
