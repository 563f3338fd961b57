import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

// bin/run.mjs in a copied tree whose npm installs from nowhere and notes what it was asked for.

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

/** Stands in for npm: the one package of the lock file, with a tool that prints its arguments. */
const npm = `#!/usr/bin/env node
const { appendFileSync, chmodSync, mkdirSync, writeFileSync } = require('node:fs');
appendFileSync(process.env.NPM_NOTES, process.argv.slice(2).join(' ') + '\\n');
mkdirSync('node_modules/tool', { recursive: true });
mkdirSync('node_modules/.bin', { recursive: true });
writeFileSync('node_modules/tool/package.json', '{"version": "1.0.0"}');
writeFileSync('node_modules/.package-lock.json', '{"packages": {}}');
writeFileSync('node_modules/.bin/tool', '#!/bin/sh\\necho "tool $*"\\nexit 3\\n');
chmodSync('node_modules/.bin/tool', 0o755);
`;
const program = `
process.on('SIGTERM', () => process.exit(5));
console.log(process.argv.slice(2).join(' '));
setInterval(() => undefined, 1_000);
`;

let folder: string;
let child: ChildProcess | undefined;

const write = (path: string, content: unknown): Promise<void> =>
  writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
const notes = (): Promise<string> => readFile(join(folder, 'notes'), 'utf8');

function environment(): NodeJS.ProcessEnv {
  const { npm_execpath: _, ...inherited } = process.env;
  return {
    ...{ ...inherited, NPM_NOTES: join(folder, 'notes') },
    PATH: [join(folder, 'path'), inherited['PATH']].join(delimiter),
  };
}

const runScript = (...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  run(process.execPath, [join('bin', 'run.mjs'), ...args], { cwd: folder, env: environment() });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-run-'));
  await mkdir(join(folder, 'path'));
  await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  await write('path/npm', npm);
  await chmod(join(folder, 'path', 'npm'), 0o755);
  await write('notes', '');
  await write('package.json', { name: 'fresh', version: '1.0.0', devDependencies: { tool: '1.0.0' } });
  await write('package-lock.json', {
    packages: { '': {}, 'node_modules/tool': { version: '1.0.0', dev: true } },
  });
  await write('program.ts', program);
});

afterEach(async () => {
  child?.kill('SIGKILL');
  child = undefined;
  await rm(folder, { recursive: true });
});

test('a tool runs on a fresh clone, after one installation, and its exit code is that of the script', async () => {
  const first = { code: 3, stdout: 'tool --check src\n', stderr: expect.stringContaining('Installing dependencies') };
  await expect(runScript('tool', '--check', 'src')).rejects.toMatchObject(first);
  expect(await notes()).toMatch(/^ci --include=dev [^\n]*\n$/);
  await expect(runScript('tool')).rejects.toMatchObject({ code: 3, stdout: 'tool \n', stderr: '' });
  expect(await notes()).toMatch(/^ci [^\n]*\n$/);
});

test('a tool runs after `npm start`, which leaves it out: it is added, and nothing is removed', async () => {
  await mkdir(join(folder, 'node_modules'));
  await write('node_modules/.package-lock.json', { packages: {} });
  await expect(runScript('tool')).rejects.toMatchObject({ code: 3, stdout: 'tool \n' });
  expect(await notes()).toMatch(/^install --no-save --include=dev [^\n]*\n$/);
});

test.each([
  ['in place of the entry point', {}],
  [
    'beside it, on a Node that cannot replace itself',
    { NODE_OPTIONS: '--import=data:text/javascript,process.execve=0' },
  ],
])('a program gets its arguments and signals %s', async (_, more) => {
  await write('package-lock.json', { packages: {} });
  await mkdir(join(folder, 'node_modules'));
  await write('node_modules/.package-lock.json', { packages: {} });
  const started = spawn(process.execPath, [join('bin', 'run.mjs'), 'program.ts', '--seed', '7'], {
    cwd: folder,
    env: { ...environment(), ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  const ended = once(started, 'exit');
  const [printed] = (await once(started.stdout.setEncoding('utf8'), 'data')) as [string];
  expect(printed).toBe('--seed 7\n');
  started.kill('SIGTERM');
  expect(await ended).toEqual([5, null]);
});

test('a tool that there is not, and none at all, are refused with one line', async () => {
  await expect(runScript('tool')).rejects.toMatchObject({ code: 3 });
  const wrong = { code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]*there is no tool "tol"[^\n]*\n$/) };
  await expect(runScript('tol')).rejects.toMatchObject(wrong);
  const none = { code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]*expected a tool or a file[^\n]*\n$/) };
  await expect(runScript()).rejects.toMatchObject(none);
});
