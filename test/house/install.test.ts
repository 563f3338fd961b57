import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

// bin/install.mjs in a project of its own, whose one dependency is a file: nothing here needs a network.

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const script = `import('./bin/install.mjs').then(
  async ({ ensureInstalled }) => console.log(await ensureInstalled({ dev: true })),
  ).catch((error) => { console.error(error.message); process.exitCode = 1; });`;
let folder: string;

const write = (path: string, content: unknown): Promise<void> =>
  writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
const npm = (...parameters: readonly string[]): Promise<unknown> =>
  run('npm', ['--offline', ...parameters], {
    cwd: folder,
    env: { ...process.env, npm_config_cache: join(folder, 'npm') },
  });

async function pack(version: string): Promise<void> {
  await write('dep/package.json', { name: 'dep', version });
  await npm('pack', './dep');
  await write('package.json', { name: 'fresh', version: '1.0.0', dependencies: { dep: `file:dep-${version}.tgz` } });
  await npm('install', '--package-lock-only');
}

async function ensureInstalled(): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { npm_execpath: _, ...environment } = process.env;
  return run(process.execPath, ['-e', script], { cwd: folder, env: environment });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-install-'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(folder, 'dep'));
  await cp(join(root, 'bin', 'install.mjs'), join(folder, 'bin', 'install.mjs'));
  await pack('1.0.0');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

test('installs a fresh clone once, also when two begin at the same time, and then does nothing', async () => {
  const both = await Promise.all([ensureInstalled(), ensureInstalled()]);
  expect(both.map(({ stdout }) => stdout.trim())).toEqual([process.execPath, process.execPath]);
  expect(both.filter(({ stderr }) => stderr.includes('Dependencies installed'))).toHaveLength(1);
  expect((await ensureInstalled()).stderr).toBe('');
});

test('installs again when the lock file names another version', async () => {
  await ensureInstalled();
  await pack('2.0.0');
  await ensureInstalled();
  expect(JSON.parse(await readFile(join(folder, 'node_modules/dep/package.json'), 'utf8'))).toMatchObject({
    version: '2.0.0',
  });
});

test('knows a version with a v before it', async () => {
  await ensureInstalled();
  await write('node_modules/dep/package.json', { name: 'dep', version: 'v1.0.0' });
  expect((await ensureInstalled()).stderr).toBe('');
});

test('takes the place of an installer that died', async () => {
  await mkdir(join(folder, '.weir'));
  const dead = await run(process.execPath, ['-p', 'process.pid']);
  await write('.weir/install.lock', dead.stdout.trim());
  expect((await ensureInstalled()).stderr).toContain('Dependencies installed');
});

test('says what npm said when it fails', async () => {
  await write('package.json', { name: 'fresh', version: '1.0.0', dependencies: { other: 'file:other.tgz' } });
  const failure = { code: 1, stderr: expect.stringMatching(/other[\s\S]*npm could not install/) };
  await expect(ensureInstalled()).rejects.toMatchObject(failure);
});
